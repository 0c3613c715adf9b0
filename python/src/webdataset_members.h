// The regular files of a tar archive that Python wants, for headrace.webdataset. Needs the GIL,
// which is released while a descriptor or a store is read.
#pragma once

#include <string>

#include "bindings.h"
#include "stream/tar_stream.h"

namespace headrace::python {

/// Raises `type`(text).
[[noreturn]] void raise_as(nb::handle type, const std::string& text);

class Members {
 public:
  /// `source`: a descriptor, an object of a store, or an object with read(n). `select`, `rename`:
  /// functions of a name, or None. `lenient`: an archive that ends early just ends.
  Members(const nb::object& source, nb::object select, nb::object rename, bool lenient,
          bool skip_meta);

  /// The next one, under its own name; nullptr at the end.
  const TarStream::Member* next();
  /// Its new name.
  const std::string& name() const { return name_; }

 private:
  bool is_wanted();

  const bool skip_meta_;
  TarStream stream_;
  const nb::object select_;
  const nb::object rename_;
  std::string name_;
};

}  // namespace headrace::python
