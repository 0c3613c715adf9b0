#include "base/lazy_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <system_error>

#include "base/try.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

/// From the folder of the binary that has this code to that of the libraries.
constexpr const char* kPlaces[] = {
    ".",                   // the extension, in its package
    "../lib/headrace",     // the program in bin/; programs in a build folder
    "../../lib/headrace",  // tests in a build folder
    "../headrace",         // the program of a repaired wheel, in site-packages/headrace.scripts/
#ifdef HEADRACE_PACKAGE
    HEADRACE_PACKAGE,  // the program of a wheel that was installed where it was built
#endif
};

/// Where the binary that has this code lies: the program, or the extension in Python.
fs::path own_path() {
  Dl_info info{};
  const void* here = reinterpret_cast<const void*>(&own_path);
#ifdef __linux__
  // Of a program, the dynamic loader knows only the name that it was called by.
  link_map* map = nullptr;
  const bool found = dladdr1(here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  if (found && map != nullptr && map->l_name[0] != '\0') return map->l_name;
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
#else
  return dladdr(here, &info) != 0 ? info.dli_fname : "";
#endif
}

Error not_there(const std::string& name, const std::string& words) {
  return {.code = Code::kNotFound,
          .message = "cannot load " + name + ": " + words,
          .origin = {},
          .hint = "It is installed together with headrace: install headrace again."};
}

Result<void*> load(const std::string& name) {
  const fs::path folder = own_path().parent_path();
  for (const char* place : kPlaces) {
    const fs::path path = folder / place / name;
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    return not_there(name, dlerror());
  }
  return not_there(name, "it does not lie where it belongs, seen from " + folder.string());
}

}  // namespace

Result<void*> lazy_address(const std::string& library, const char* function) {
  const std::string name = "libheadrace_" + library + ".so";
  HR_TRY(void* const loaded, load(name));
  if (void* address = dlsym(loaded, function)) return address;
  return not_there(name, dlerror());
}

}  // namespace headrace
