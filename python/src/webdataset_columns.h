// Columns of batches for headrace.webdataset. All need the GIL.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bindings.h"

namespace headrace::python {

using Values = std::vector<nb::object>;

/// A column of finished values: Python's ints and floats, and equal arrays of plain numbers, become
/// an array, bytes and texts a list; numpy's and torch's business goes to `others`.
struct Combine {
  bool tensors;
  bool scalars;
  nb::object others;  ///< combine_values of the package

  nb::object column(const Values& values) const;
};

/// int64.
nb::object column_of_integers(const std::vector<int64_t>& numbers);
/// The arrays of .npy files stacked. An invalid object: they are not plain, or not alike.
nb::object column_of_npy(const std::vector<ByteView>& files);

/// As int(bytes), where that is short digits with or without a sign.
std::optional<int64_t> integer_of(ByteView field);
/// A str. An invalid object: it is not UTF-8.
nb::object text_of(ByteView field);

}  // namespace headrace::python
