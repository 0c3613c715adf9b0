// What the binding files share: errors become Python exceptions, and who binds what.
//
// The extension is thin: it holds no policy. The package in python/headrace/ gives it its shape.
// The GIL is released around everything that may read, wait or decode.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/dataset.h"
#include "headrace/field.h"
#include "headrace/result.h"

namespace headrace::python {

namespace nb = nanobind;

/// The exception of headrace.errors for `error`, as a Python object. Needs the GIL.
nb::object exception_of(const Error& error);

/// Raises that exception. Needs the GIL.
[[noreturn]] void raise(const Error& error);

/// Raises a UsageError.
[[noreturn]] void raise_usage(std::string message, std::string hint = {});

template <typename T>
T unwrap(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(result).value();
}
inline void unwrap(const Status& status) {
  if (!status.ok()) raise(status.error());
}

/// Only one thread at a time, as with a generator: another gets a ValueError.
class Turn {
 public:
  explicit Turn(std::mutex& mutex) : lock_(mutex, std::try_to_lock) {
    if (!lock_) throw nb::value_error("it is in use by another thread");
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

/// A str. Bytes that are not UTF-8 survive as surrogate escapes, as in os.fsdecode.
nb::str to_str(std::string_view text);
/// The bytes of a str that to_str() may have made.
std::string from_str(nb::handle text);
/// A copy.
nb::bytes to_bytes(ByteView bytes);
/// headrace.Origin(shard, member, offset).
nb::object to_origin(const Origin& origin);

/// The recipe of one column, from the dict that headrace/recipes.py makes.
FieldSpec field_spec(const std::string& name, const nb::dict& recipe);

void bind_result(nb::module_& module);
void bind_field(nb::module_& module);
void bind_dataset(nb::module_& module);
void bind_samples(nb::module_& module);
void bind_batch(nb::module_& module);
void bind_loader(nb::module_& module);
void bind_audit(nb::module_& module);
void bind_network(nb::module_& module);
void bind_job(nb::module_& module);
void bind_object_stream(nb::module_& module);
void bind_webdataset_arrays(nb::module_& module);
void bind_webdataset_collation(nb::module_& module);
void bind_webdataset_jpeg(nb::module_& module);
void bind_webdataset_writer(nb::module_& module);
void bind_webdataset_ahead(nb::module_& module);
void bind_webdataset_members(nb::module_& module);
void bind_webdataset_pictures(nb::module_& module);
void bind_webdataset_records(nb::module_& module);
void bind_webdataset_reader(nb::module_& module);
void bind_webdataset_shuffle(nb::module_& module);
void bind_webdataset_batches(nb::module_& module);

}  // namespace headrace::python
