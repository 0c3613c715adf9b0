#include "format/parquet/schema.h"

#include <algorithm>

#include "base/try.h"
#include "format/parquet/schema_element.h"

namespace headrace::parquet {
namespace {

constexpr int kDeepest = 32;  // levels of nesting

/// Makes the tree of elements that are listed depth first.
class Tree {
 public:
  explicit Tree(std::vector<Element> elements) : elements_(std::move(elements)) {}

  Result<Schema> build() {
    if (elements_.empty()) return damaged_schema("it is empty");
    const int64_t columns = elements_[next_++].children;
    for (int64_t i = 0; i < columns; ++i) {
      HR_TRY(Node column, node(0, 0, 1));
      schema_.columns.push_back(std::move(column));
    }
    if (next_ != elements_.size()) return damaged_schema("columns are left over");
    return std::move(schema_);
  }

 private:
  Result<Node> node(uint8_t def, uint8_t rep, int depth) {
    if (next_ == elements_.size()) return damaged_schema("columns are missing");
    if (depth > kDeepest) return damaged_schema("it is nested too deeply");
    const Element& element = elements_[next_++];
    if (element.repetition < kRequired || element.repetition > kRepeated)
      return damaged_schema("a column has an unknown repetition");
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
      HR_CHECK(add_children(element, depth, made));
    else
      HR_CHECK(add_leaf(element, made));
    made.end_leaf = static_cast<uint32_t>(schema_.leaves.size());
    return made;
  }

  Status add_leaf(const Element& element, const Node& node) {
    if (!element.physical) return damaged_schema("a column has neither a type nor parts");
    HR_TRY(const ValueType type, value_type(element));
    schema_.leaves.push_back({.type = type, .def = node.def, .rep = node.rep});
    return {};
  }

  Status add_children(const Element& element, int depth, Node& into) {
    into.shape = Node::Shape::kStruct;
    for (int64_t i = 0; i < element.children; ++i) {
      HR_TRY(Node child, node(into.def, into.rep, depth + 1));
      into.children.push_back(std::move(child));
    }
    const bool one = into.children.size() == 1 && into.children.front().repeated;
    if (!one) return {};
    const Node& inner = into.children.front();
    if (element.group() == Element::Group::kList) into.shape = Node::Shape::kList;
    if (element.group() == Element::Group::kMap && inner.children.size() == 2 &&
        !inner.children[0].repeated && !inner.children[1].repeated)
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
  if (!reader.ok()) return damaged_schema("it cannot be read");
  HR_TRY(Schema schema, Tree(std::move(elements)).build());
  HR_CHECK(check_names(schema));
  return schema;
}

}  // namespace headrace::parquet
