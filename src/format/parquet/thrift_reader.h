// Reads Apache Thrift's compact protocol, which Parquet's footers and page headers are written in.
//
// A reader that met something wrong stays wrong: every further value is 0 or empty, every loop
// ends, and ok() is false. So callers look once, at the end. Counts in the bytes are believed for
// nothing but the number of turns of a loop that ends with the bytes.
// Format: THRIFT-110, "Thrift compact protocol". Thread-compatible; views live as long as `bytes`.
#pragma once

#include <cstdint>
#include <string_view>

#include "headrace/bytes.h"

namespace headrace::parquet {

enum class Thrift : uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
  kUuid = 13,
};

class ThriftReader {
 public:
  explicit ThriftReader(ByteView bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t used() const { return at_; }

  /// Calls `take(id, type)` for each field of a struct; one that it does not take (it answers
  /// false, having read nothing) is passed over.
  template <typename Take>
  void fields(const Take& take) {
    if (!enter()) return;
    int16_t id = 0;
    for (Thrift type = field(id); ok_ && type != Thrift::kStop; type = field(id))
      if (!take(id, type)) skip(type);
    --depth_;
  }

  /// Calls `take()` for each element of a list of `element`s that a field of type `type` holds.
  template <typename Take>
  void elements(Thrift type, Thrift element, const Take& take) {
    if (!enter()) return;
    const List list = begin_list(type);
    if (list.size > 0 && list.element != element) fail();
    for (uint64_t i = 0; ok_ && i < list.size; ++i) take();
    --depth_;
  }

  /// A whole number of whatever width.
  int64_t integer(Thrift type);
  bool boolean(Thrift type);
  std::string_view text(Thrift type);
  void skip(Thrift type);

 private:
  struct List {
    uint64_t size = 0;
    Thrift element = Thrift::kStop;
  };

  bool enter();
  void fail() { ok_ = false; }
  uint8_t byte();
  uint64_t varint();
  int64_t zigzag();
  Thrift field(int16_t& id);
  List begin_list(Thrift type);
  void skip_bytes(uint64_t count);
  void skip_element(Thrift type);

  const ByteView bytes_;
  size_t at_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace headrace::parquet
