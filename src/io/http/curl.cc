#include "io/http/curl.h"

#include <stdexcept>

#include "base/lazy_library.h"
#include "base/try.h"

namespace headrace {
namespace {

using Functions = const CurlLibrary*();

Result<const CurlLibrary*> load() {
  HR_TRY(Functions * functions, lazy_function<Functions>("curl", "headrace_curl_library"));
  return functions();
}

const Result<const CurlLibrary*>& loaded() {
  static const Result<const CurlLibrary*> library = load();
  return library;
}

}  // namespace

Status load_curl() {
  if (!loaded().ok()) return loaded().error();
  return {};
}

const CurlLibrary& curl() {
  if (!loaded().ok()) throw std::runtime_error(loaded().error().to_string());
  return *loaded().value();
}

}  // namespace headrace
