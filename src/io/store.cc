#include "headrace/store.h"

#include "base/try.h"
#include "io/ais/ais_store.h"
#include "io/az/az_store.h"
#include "io/gs/gs_store.h"
#include "io/hf/hf_store.h"
#include "io/http/http_store.h"
#include "io/local_store.h"
#include "io/memory_store.h"
#include "io/s3/s3_store.h"
#include "io/urls.h"

namespace headrace {

Status ByteSource::read_parts(uint64_t offset, std::span<const MutableBytes> parts) const {
  for (const MutableBytes part : parts) {
    HR_CHECK(read_at(offset, part));
    offset += part.size();
  }
  return {};
}

void ByteSource::start_read(uint64_t offset, MutableBytes into, Deadline, const Done& done) const {
  done(read_at(offset, into));
}

Result<std::unique_ptr<ByteSource>> Store::open_known(const std::string& path,
                                                      uint64_t bytes) const {
  HR_TRY(auto source, open(path));
  if (source->size() != bytes)
    return Error{.code = Code::kCorrupt,
                 .message = "there should be " + std::to_string(bytes) + " bytes, but there are " +
                            std::to_string(source->size()),
                 .origin = {.shard = source->name()},
                 .hint = "Run 'headrace verify' to see what else differs."};
  return source;
}

namespace {

Result<std::string> all_of(const ByteSource& source) {
  std::string bytes(source.size(), '\0');
  HR_CHECK(source.read_at(0, as_writable_bytes(bytes)));
  return bytes;
}

}  // namespace

Result<std::string> Store::read(const std::string& path) const {
  HR_TRY(const auto source, open(path));
  return all_of(*source);
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
  if (scheme == "ais") return AisStore::open_location(location);
  if (scheme == "hf") return HfStore::open_location(location);
  if (scheme == "http" || scheme == "https") return HttpStore::open_location(location);
  if (scheme == "s3") return open_s3_store(location);
  if (scheme == "gs") return open_gs_store(location);
  if (scheme == "az") return open_az_store(location);
  if (scheme.empty() || scheme == "file")
    return std::shared_ptr<Store>(std::make_shared<LocalStore>(local_path(location), durability));
  return Error{
      .code = Code::kUsage,
      .message = "'" + scheme + ":' locations are not supported",
      .origin = {location, "", Origin::kNoOffset},
      .hint = "Give a path, or a URL of file:, http:, https:, s3:, gs:, az:, ais: or hf:."};
}

Result<std::unique_ptr<ByteSource>> open_url(const std::string& location) {
  const std::string scheme = url_scheme(location);
  if (scheme == "http" || scheme == "https") return HttpStore::open_address(location);
  const ObjectPlace place = split_location(scheme == "file" ? local_path(location) : location);
  HR_TRY(const auto store, open_store(place.folder));
  return store->open(place.name);
}

Result<std::string> read_url(const std::string& location) {
  HR_TRY(const auto source, open_url(location));
  return all_of(*source);
}

}  // namespace headrace
