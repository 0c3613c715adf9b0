// The array file of numpy (NEP 1, versions 1.0, 2.0 and 3.0): header and data.
//
//   | \x93NUMPY | major minor | header length (2 or 4 bytes) | Python dict, ends in \n | data |
//
// Read strictly: exactly the three keys, plain numbers only; arrays of objects are pickles and are
// refused, as are records, strings and dates. Nothing is allocated from a number in the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/field.h"
#include "headrace/result.h"

namespace headrace {

struct NpyArray {
  DType dtype = DType::u8;
  bool big_endian = false;
  bool fortran_order = false;
  ByteView data;  ///< as stored, exactly the elements; points into the file's bytes
};

/// Reads the header and finds the data; the array's shape goes to `shape`.
Result<NpyArray> parse_npy(ByteView file, std::vector<int64_t>& shape);

/// True if the data already is what we hand out: C order, little-endian.
bool is_plain(const NpyArray& array, const std::vector<int64_t>& shape);

/// Writes the elements in C order, little-endian; `into` is as long as array.data.
void copy_plain(const NpyArray& array, const std::vector<int64_t>& shape, MutableBytes into);

/// The header of a version 1.0 file of uint8 in C order, of a multiple of 64 bytes as numpy's own;
/// the elements follow it.
std::string npy_header_u8(std::span<const int64_t> shape);

}  // namespace headrace
