#include "format/parquet/schema_element.h"

#include "base/try.h"

namespace headrace::parquet {
namespace {

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

}  // namespace

Error damaged_schema(const std::string& what) {
  return {.code = Code::kCorrupt, .message = "the schema is damaged: " + what};
}

Element::Group Element::group() const {
  if (logical == kListNew) return Group::kList;
  return logical == kMapNew ? Group::kMap : Group::kStruct;
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
  if (element.logical == 0) take_converted(element);
  return element;
}

Result<ValueType> value_type(const Element& element) {
  constexpr int64_t kWidest = 1 << 20;
  constexpr int64_t kMostDigits = 100;
  if (*element.physical < 0 || *element.physical > static_cast<int64_t>(Physical::kFixed))
    return damaged_schema("a column has an unknown type");
  const auto physical = static_cast<Physical>(*element.physical);
  uint32_t width = width_of(physical);
  if (physical == Physical::kFixed) {
    if (element.width < 1 || element.width > kWidest)
      return damaged_schema("a column has no width");
    width = static_cast<uint32_t>(element.width);
  }
  ValueType type{.physical = physical,
                 .meaning = meaning_of(element, physical, width),
                 .width = width,
                 .digits = element.digits,
                 .utc = element.utc};
  if (physical == Physical::kInt96) type.digits = 9;
  if (type.meaning == Meaning::kDecimal) {
    if (element.scale < 0 || element.scale > kMostDigits)
      return damaged_schema("a decimal has no scale");
    type.digits = static_cast<int>(element.scale);
  }
  const bool timed = type.meaning == Meaning::kTime || type.meaning == Meaning::kTimestamp;
  if (timed && (type.digits < 3 || type.digits > 9)) return damaged_schema("a time has no unit");
  return type;
}

}  // namespace headrace::parquet
