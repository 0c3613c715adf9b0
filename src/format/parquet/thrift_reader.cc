#include "format/parquet/thrift_reader.h"

namespace headrace::parquet {
namespace {

constexpr int kDeepest = 32;  // Parquet's own structs nest six deep

}  // namespace

bool ThriftReader::enter() {
  if (++depth_ > kDeepest) fail();
  return ok_;
}

uint8_t ThriftReader::byte() {
  if (!ok_ || at_ == bytes_.size()) {
    fail();
    return 0;
  }
  return std::to_integer<uint8_t>(bytes_[at_++]);
}

uint64_t ThriftReader::varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const uint8_t next = byte();
    value |= uint64_t{next & 0x7FU} << shift;
    if ((next & 0x80U) == 0) return value;
  }
  fail();
  return 0;
}

int64_t ThriftReader::zigzag() {
  const uint64_t value = varint();
  return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
}

Thrift ThriftReader::field(int16_t& id) {
  const uint8_t head = byte();
  const auto type = static_cast<Thrift>(head & 0x0FU);
  if (type == Thrift::kStop || !ok_) return Thrift::kStop;
  if (type > Thrift::kUuid) fail();
  const unsigned step = head >> 4U;
  id = static_cast<int16_t>(step == 0 ? zigzag() : id + static_cast<int>(step));
  return type;
}

ThriftReader::List ThriftReader::begin_list(Thrift type) {
  if (type != Thrift::kList && type != Thrift::kSet) {
    fail();
    return {};
  }
  const uint8_t head = byte();
  const unsigned size = head >> 4U;
  return {.size = size == 15 ? varint() : size, .element = static_cast<Thrift>(head & 0x0FU)};
}

int64_t ThriftReader::integer(Thrift type) {
  if (type == Thrift::kByte) return static_cast<int8_t>(byte());
  if (type == Thrift::kI16 || type == Thrift::kI32 || type == Thrift::kI64) return zigzag();
  fail();
  return 0;
}

bool ThriftReader::boolean(Thrift type) {
  if (type != Thrift::kTrue && type != Thrift::kFalse) fail();
  return type == Thrift::kTrue;
}

std::string_view ThriftReader::text(Thrift type) {
  const uint64_t size = type == Thrift::kBinary ? varint() : ~uint64_t{0};
  if (!ok_ || size > bytes_.size() - at_) {
    fail();
    return {};
  }
  const auto text = as_text(bytes_.subspan(at_, size));
  at_ += size;
  return text;
}

void ThriftReader::skip_bytes(uint64_t count) {
  if (!ok_ || count > bytes_.size() - at_)
    fail();
  else
    at_ += count;
}

// In a list a boolean has a byte of its own.
void ThriftReader::skip_element(Thrift type) {
  if (type == Thrift::kTrue || type == Thrift::kFalse)
    skip_bytes(1);
  else
    skip(type);
}

void ThriftReader::skip(Thrift type) {
  switch (type) {
    case Thrift::kTrue:
    case Thrift::kFalse:
      return;
    case Thrift::kByte:
      return skip_bytes(1);
    case Thrift::kI16:
    case Thrift::kI32:
    case Thrift::kI64:
      static_cast<void>(varint());
      return;
    case Thrift::kDouble:
      return skip_bytes(8);
    case Thrift::kUuid:
      return skip_bytes(16);
    case Thrift::kBinary:
      static_cast<void>(text(type));
      return;
    case Thrift::kStruct:
      return fields([](int16_t, Thrift) { return false; });
    case Thrift::kList:
    case Thrift::kSet: {
      if (!enter()) return;
      const List list = begin_list(type);
      for (uint64_t i = 0; ok_ && i < list.size; ++i) skip_element(list.element);
      --depth_;
      return;
    }
    case Thrift::kMap: {
      if (!enter()) return;
      const uint64_t size = varint();
      const uint8_t types = size > 0 ? byte() : 0;
      for (uint64_t i = 0; ok_ && i < size; ++i) {
        skip_element(static_cast<Thrift>(types >> 4U));
        skip_element(static_cast<Thrift>(types & 0x0FU));
      }
      --depth_;
      return;
    }
    case Thrift::kStop:
      break;
  }
  fail();
}

}  // namespace headrace::parquet
