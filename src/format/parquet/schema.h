// What the columns of a Parquet file are: a tree whose leaves hold values.
//
//   image: struct {bytes: binary, path: text}     2 leaves
//   label: int64                                  1 leaf
//   boxes: list of list of float                  1 leaf, which repeats
//
// Each entry of a leaf comes with two levels (Dremel's): `def`, how many of the optional and
// repeated nodes above it are there, and `rep`, at which repeated node it goes on (0: a new row).
// Format: parquet.thrift and LogicalTypes.md of apache/parquet-format 2.11.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/parquet/thrift_reader.h"
#include "headrace/result.h"

namespace headrace::parquet {

/// How a value is stored; the numbers are Parquet's.
enum class Physical : uint8_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kInt96 = 3,
  kFloat = 4,
  kDouble = 5,
  kByteArray = 6,
  kFixed = 7,
};

/// What it stands for.
enum class Meaning : uint8_t {
  kBytes,
  kText,
  kBoolean,
  kSigned,
  kUnsigned,
  kFloat,
  kHalf,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kUuid,
};

struct ValueType {
  Physical physical = Physical::kByteArray;
  Meaning meaning = Meaning::kBytes;
  uint32_t width = 0;  ///< bytes of each value; 0: they differ, or it is a bit
  int digits = 0;      ///< behind the point: of a decimal, or of the seconds of a time
  bool utc = false;    ///< of a timestamp
};

/// A leaf, and the levels that say that its value is there.
struct Leaf {
  ValueType type;
  uint8_t def = 0;
  uint8_t rep = 0;
};

struct Node {
  enum class Shape : uint8_t { kLeaf, kStruct, kList, kMap };

  std::string name;
  Shape shape = Shape::kLeaf;
  bool optional = false;
  bool repeated = false;
  uint8_t def = 0;          ///< the level from which on it is there
  uint8_t rep = 0;          ///< the level at which it, or what is above it, repeats
  uint32_t first_leaf = 0;  ///< numbers of the leaves below it
  uint32_t end_leaf = 0;
  std::vector<Node> children;  ///< a list: its repeated node; a map: its repeated pairs
};

struct Schema {
  std::vector<Node> columns;
  std::vector<Leaf> leaves;
};

/// The struct that `datasets` stores pictures, sound and videos as: {bytes, path}. The numbers of
/// its leaves, or false.
bool is_media(const Node& column, const Schema& schema, uint32_t* bytes, uint32_t* path);

/// The name of the field that a column becomes: in lower case, as all fields are, and without what
/// would make a path of it.
std::string field_name(std::string_view column);

/// Reads the list of schema elements that a field of type `type` holds. Errors: Code::kCorrupt
/// where it contradicts itself, Code::kUsage where two columns would become one field.
Result<Schema> read_schema(ThriftReader& reader, Thrift type);

}  // namespace headrace::parquet
