#include "format/parquet/schema.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/try.h"

namespace headrace::parquet {
namespace {

constexpr int kDeepest = 32;  // levels of nesting

/// An element as it is written.
struct Element {
  std::optional<int64_t> physical;
  int64_t width = 0;
  int64_t repetition = 0;
  std::string_view name;
  int64_t children = 0;
  int64_t converted = -1;
  int64_t scale = 0;
  int logical = 0;  // the union's field; 0: none
  bool is_signed = true;
  bool utc = false;
  int digits = 0;
};

enum Repetition { kRequired = 0, kOptional = 1, kRepeated = 2 };
enum Converted {
  kUtf8 = 0,
  kMapOld = 1,
  kMapKeyValue = 2,
  kListOld = 3,
  kEnum = 4,
  kDecimalOld = 5,
  kDateOld = 6,
  kTimeMillis = 7,
  kTimeMicros = 8,
  kTimestampMillis = 9,
  kTimestampMicros = 10,
  kUint8 = 11,
  kUint64 = 14,
  kJsonOld = 19,
};
enum Logical {
  kString = 1,
  kMapNew = 2,
  kListNew = 3,
  kEnumNew = 4,
  kDecimalNew = 5,
  kDateNew = 6,
  kTimeNew = 7,
  kTimestampNew = 8,
  kInteger = 10,
  kJson = 12,
  kUuidNew = 14,
  kFloat16 = 15,
};

Error wrong(std::string what) {
  return {.code = Code::kCorrupt, .message = "the schema is damaged: " + std::move(what)};
}

void read_unit(ThriftReader& reader, Thrift type, Element& element) {
  if (type != Thrift::kStruct) return reader.skip(type);
  reader.fields([&](int16_t id, Thrift) {
    element.digits = 3 * id;  // 1 milli, 2 micro, 3 nano
    return false;
  });
}

void read_logical(ThriftReader& reader, Element& element) {
  reader.fields([&](int16_t id, Thrift type) {
    element.logical = id;
    if (type != Thrift::kStruct) return false;
    reader.fields([&](int16_t part, Thrift of) {
      if (id == kDecimalNew && part == 1) {
        element.scale = reader.integer(of);
      } else if ((id == kTimeNew || id == kTimestampNew) && part == 1) {
        element.utc = reader.boolean(of);
      } else if ((id == kTimeNew || id == kTimestampNew) && part == 2) {
        read_unit(reader, of, element);
      } else if (id == kInteger && part == 2) {
        element.is_signed = reader.boolean(of);
      } else {
        return false;
      }
      return true;
    });
    return true;
  });
}

Element read_element(ThriftReader& reader) {
  Element element;
  reader.fields([&](int16_t id, Thrift type) {
    switch (id) {
      case 1:
        element.physical = reader.integer(type);
        return true;
      case 2:
        element.width = reader.integer(type);
        return true;
      case 3:
        element.repetition = reader.integer(type);
        return true;
      case 4:
        element.name = reader.text(type);
        return true;
      case 5:
        element.children = reader.integer(type);
        return true;
      case 6:
        element.converted = reader.integer(type);
        return true;
      case 7:
        element.scale = reader.integer(type);
        return true;
      case 10:
        if (type != Thrift::kStruct) return false;
        read_logical(reader, element);
        return true;
      default:
        return false;
    }
  });
  return element;
}

/// What older writers say instead of a logical type.
void take_converted(Element& element) {
  switch (element.converted) {
    case kUtf8:
      element.logical = kString;
      break;
    case kEnum:
      element.logical = kEnumNew;
      break;
    case kJsonOld:
      element.logical = kJson;
      break;
    case kDecimalOld:
      element.logical = kDecimalNew;
      break;
    case kDateOld:
      element.logical = kDateNew;
      break;
    case kTimeMillis:
    case kTimeMicros:
      element.logical = kTimeNew;
      element.digits = element.converted == kTimeMillis ? 3 : 6;
      break;
    case kTimestampMillis:
    case kTimestampMicros:
      element.logical = kTimestampNew;
      element.utc = true;
      element.digits = element.converted == kTimestampMillis ? 3 : 6;
      break;
    case kMapOld:
    case kMapKeyValue:
      element.logical = kMapNew;
      break;
    case kListOld:
      element.logical = kListNew;
      break;
    default:
      if (element.converted >= kUint8 && element.converted <= kUint64) {
        element.logical = kInteger;
        element.is_signed = false;
      }
  }
}

Meaning meaning_of(const Element& element, Physical physical, uint32_t width) {
  const int logical = element.logical;
  switch (physical) {
    case Physical::kBoolean:
      return Meaning::kBoolean;
    case Physical::kFloat:
    case Physical::kDouble:
      return Meaning::kFloat;
    case Physical::kInt96:
      return Meaning::kTimestamp;
    case Physical::kByteArray:
      if (logical == kString || logical == kEnumNew || logical == kJson) return Meaning::kText;
      return logical == kDecimalNew ? Meaning::kDecimal : Meaning::kBytes;
    case Physical::kFixed:
      if (logical == kUuidNew && width == 16) return Meaning::kUuid;
      if (logical == kFloat16 && width == 2) return Meaning::kHalf;
      return logical == kDecimalNew ? Meaning::kDecimal : Meaning::kBytes;
    case Physical::kInt32:
    case Physical::kInt64:
      break;
  }
  if (logical == kDecimalNew) return Meaning::kDecimal;
  if (logical == kDateNew && physical == Physical::kInt32) return Meaning::kDate;
  if (logical == kTimeNew) return Meaning::kTime;
  if (logical == kTimestampNew) return Meaning::kTimestamp;
  return logical == kInteger && !element.is_signed ? Meaning::kUnsigned : Meaning::kSigned;
}

/// Of fixed ones the element says it.
uint32_t width_of(Physical physical) {
  switch (physical) {
    case Physical::kInt32:
    case Physical::kFloat:
      return 4;
    case Physical::kInt64:
    case Physical::kDouble:
      return 8;
    case Physical::kInt96:
      return 12;
    default:
      return 0;
  }
}

Result<ValueType> value_type(const Element& element) {
  constexpr int64_t kWidest = 1 << 20;
  constexpr int64_t kMostDigits = 100;
  if (*element.physical < 0 || *element.physical > static_cast<int64_t>(Physical::kFixed))
    return wrong("a column has an unknown type");
  const auto physical = static_cast<Physical>(*element.physical);
  uint32_t width = width_of(physical);
  if (physical == Physical::kFixed) {
    if (element.width < 1 || element.width > kWidest) return wrong("a column has no width");
    width = static_cast<uint32_t>(element.width);
  }
  ValueType type{.physical = physical,
                 .meaning = meaning_of(element, physical, width),
                 .width = width,
                 .digits = element.digits,
                 .utc = element.utc};
  if (physical == Physical::kInt96) type.digits = 9;
  if (type.meaning == Meaning::kDecimal) {
    if (element.scale < 0 || element.scale > kMostDigits) return wrong("a decimal has no scale");
    type.digits = static_cast<int>(element.scale);
  }
  const bool timed = type.meaning == Meaning::kTime || type.meaning == Meaning::kTimestamp;
  if (timed && (type.digits < 3 || type.digits > 9)) return wrong("a time has no unit");
  return type;
}

/// Makes the tree of elements that are listed depth first.
class Tree {
 public:
  explicit Tree(std::vector<Element> elements) : elements_(std::move(elements)) {}

  Result<Schema> build() {
    if (elements_.empty()) return wrong("it is empty");
    const int64_t columns = elements_[next_++].children;
    for (int64_t i = 0; i < columns; ++i) {
      HR_TRY(Node column, node(0, 0, 1));
      schema_.columns.push_back(std::move(column));
    }
    if (next_ != elements_.size()) return wrong("columns are left over");
    return std::move(schema_);
  }

 private:
  Result<Node> node(uint8_t def, uint8_t rep, int depth) {
    if (next_ == elements_.size()) return wrong("columns are missing");
    if (depth > kDeepest) return wrong("it is nested too deeply");
    Element& element = elements_[next_++];
    if (element.logical == 0) take_converted(element);
    if (element.repetition < kRequired || element.repetition > kRepeated)
      return wrong("a column has an unknown repetition");
    Node made{.name = std::string(element.name),
              .optional = element.repetition == kOptional,
              .repeated = element.repetition == kRepeated,
              .def = def,
              .rep = rep,
              .first_leaf = static_cast<uint32_t>(schema_.leaves.size()),
              .children = {}};
    if (made.optional || made.repeated) ++made.def;
    if (made.repeated) ++made.rep;
    if (element.children > 0)
      HR_CHECK(add_children(element.children, element.logical, depth, made));
    else
      HR_CHECK(add_leaf(element, made));
    made.end_leaf = static_cast<uint32_t>(schema_.leaves.size());
    return made;
  }

  Status add_leaf(const Element& element, const Node& node) {
    if (!element.physical) return wrong("a column has neither a type nor parts");
    HR_TRY(const ValueType type, value_type(element));
    schema_.leaves.push_back({.type = type, .def = node.def, .rep = node.rep});
    return {};
  }

  Status add_children(int64_t count, int logical, int depth, Node& into) {
    into.shape = Node::Shape::kStruct;
    for (int64_t i = 0; i < count; ++i) {
      HR_TRY(Node child, node(into.def, into.rep, depth + 1));
      into.children.push_back(std::move(child));
    }
    const bool one = into.children.size() == 1 && into.children.front().repeated;
    if (!one) return {};
    const Node& inner = into.children.front();
    if (logical == kListNew) into.shape = Node::Shape::kList;
    if (logical == kMapNew && inner.children.size() == 2 && !inner.children[0].repeated &&
        !inner.children[1].repeated)
      into.shape = Node::Shape::kMap;
    return {};
  }

  std::vector<Element> elements_;
  size_t next_ = 0;
  Schema schema_;
};

Error same_field(const std::string& first, const std::string& second) {
  return {.code = Code::kUsage,
          .message = "the columns '" + first + "' and '" + second + "' would become one field",
          .origin = {},
          .hint = "Rename one of them: fields are written in lower case."};
}

/// Columns become fields, and one that holds pictures has its name with an extension.
Status check_names(const Schema& schema) {
  std::vector<std::pair<std::string, const Node*>> names;
  for (const Node& column : schema.columns) names.emplace_back(field_name(column.name), &column);
  std::ranges::sort(names, {}, &std::pair<std::string, const Node*>::first);
  for (size_t i = 0; i + 1 < names.size(); ++i)
    if (names[i].first == names[i + 1].first)
      return same_field(names[i].second->name, names[i + 1].second->name);
  for (const auto& [name, column] : names) {
    uint32_t leaf = 0;
    if (!is_media(*column, schema, &leaf, &leaf)) continue;
    const auto next = std::ranges::lower_bound(names, name + ".", {},
                                               &std::pair<std::string, const Node*>::first);
    if (next != names.end() && next->first.starts_with(name + "."))
      return same_field(column->name, next->second->name);
  }
  return {};
}

}  // namespace

bool is_media(const Node& column, const Schema& schema, uint32_t* bytes, uint32_t* path) {
  if (column.shape != Node::Shape::kStruct || column.repeated || column.children.size() != 2)
    return false;
  const bool swapped = column.children[0].name == "path";
  const Node& first = column.children[swapped ? 1 : 0];
  const Node& second = column.children[swapped ? 0 : 1];
  const auto holds_bytes = [&schema](const Node& node) {
    return node.children.empty() && !node.repeated &&
           schema.leaves[node.first_leaf].type.physical == Physical::kByteArray;
  };
  if (first.name != "bytes" || second.name != "path" || !holds_bytes(first) || !holds_bytes(second))
    return false;
  *bytes = first.first_leaf;
  *path = second.first_leaf;
  return true;
}

std::string field_name(std::string_view column) {
  std::string name(column);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '/' || c == '\0') c = '_';
  }
  return name;
}

Result<Schema> read_schema(ThriftReader& reader, Thrift type) {
  std::vector<Element> elements;
  reader.elements(type, Thrift::kStruct, [&] { elements.push_back(read_element(reader)); });
  if (!reader.ok()) return wrong("it cannot be read");
  HR_TRY(Schema schema, Tree(std::move(elements)).build());
  HR_CHECK(check_names(schema));
  return schema;
}

}  // namespace headrace::parquet
