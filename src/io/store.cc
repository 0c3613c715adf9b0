#include "headrace/store.h"

#include "base/try.h"
#include "io/local_store.h"
#include "io/memory_store.h"
#include "io/urls.h"

namespace headrace {

Result<std::string> read_all(const Store& store, const std::string& path) {
  HR_TRY(const auto source, store.open(path));
  std::string bytes(source->size(), '\0');
  HR_CHECK(source->read_at(0, as_writable_bytes(bytes)));
  return bytes;
}

Status put(Store& store, const std::string& path, ByteView bytes) {
  HR_TRY(const auto sink, store.create(path));
  HR_CHECK(sink->append(bytes));
  return sink->commit();
}

Result<bool> put_if_absent(Store& store, const std::string& path, ByteView bytes) {
  HR_TRY(const auto sink, store.create(path));
  HR_CHECK(sink->append(bytes));
  return sink->commit_if_absent();
}

Result<std::shared_ptr<Store>> open_store(const std::string& location, Durability durability) {
  if (location.empty())
    return Error{.code = Code::kUsage, .message = "the name of the folder is empty", .origin = {}};
  const std::string scheme = url_scheme(location);
  if (scheme == "mem") return open_memory_store(location);
  if (scheme.empty() || scheme == "file")
    return std::shared_ptr<Store>(std::make_shared<LocalStore>(local_path(location), durability));
  return Error{.code = Code::kUsage,
               .message = "'" + scheme + ":' locations are not supported",
               .origin = {location, "", Origin::kNoOffset},
               .hint = "Give a path or a file: URL."};
}

}  // namespace headrace
