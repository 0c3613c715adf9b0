// Shared libraries of ours that are loaded when they are first needed: what they link (a chain of
// codecs, a client for HTTP) costs a process that does not need it nothing. CMake's
// headrace_lazy_library(NAME …) builds and installs libheadrace_NAME.so.
//
//   engine, program, extension --lazy_function("avif", "make…")--> libheadrace_avif.so --> libavif
//   …
//
// A library has C functions that make objects of an interface of ours. It is looked for beside the
// binary that has this code, and where builds and installations put it from there; nowhere else.
// Loaded libraries stay for the life of the process.
//
// Thread-safe.
#pragma once

#include <string>

#include "headrace/result.h"

namespace headrace {

/// The address of `function` in libheadrace_LIBRARY.so. Code::kNotFound, with the loader's words,
/// if it or something that it links is not there.
Result<void*> lazy_address(const std::string& library, const char* function);

/// The same as a function of type F. Takes microseconds once the library is loaded.
template <typename F>
Result<F*> lazy_function(const std::string& library, const char* function) {
  auto address = lazy_address(library, function);
  if (!address.ok()) return std::move(address).error();
  return reinterpret_cast<F*>(*address);
}

}  // namespace headrace
