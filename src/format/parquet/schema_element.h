// One element of a Parquet schema as it is written, and what its values are.
//
// Writers say what a column means by a logical type, older ones by a converted type; both are read.
// Format: parquet.thrift and LogicalTypes.md of apache/parquet-format 2.11.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/parquet/schema.h"
#include "format/parquet/thrift_reader.h"
#include "headrace/result.h"

namespace headrace::parquet {

struct Element {
  enum class Group : uint8_t { kStruct, kList, kMap };

  std::optional<int64_t> physical;  ///< nothing: it has children
  int64_t width = 0;
  int64_t repetition = 0;  ///< kRequired, kOptional or kRepeated, unless it is damaged
  std::string_view name;
  int64_t children = 0;
  int64_t converted = -1;
  int64_t scale = 0;
  int logical = 0;  ///< the union's field; 0: none
  bool is_signed = true;
  bool utc = false;
  int digits = 0;

  Group group() const;
};

inline constexpr int64_t kRequired = 0;
inline constexpr int64_t kOptional = 1;
inline constexpr int64_t kRepeated = 2;

/// The next element of the list that the reader is in; its name is a view of the reader's bytes.
Element read_element(ThriftReader& reader);

/// What the values of a leaf are. Precondition: it has a physical type.
Result<ValueType> value_type(const Element& element);

/// Code::kCorrupt.
Error damaged_schema(const std::string& what);

}  // namespace headrace::parquet
