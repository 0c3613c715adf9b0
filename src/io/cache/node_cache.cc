#include "io/cache/node_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/digest.h"
#include "base/try.h"
#include "base/units.h"
#include "io/cache/cached_source.h"
#include "io/urls.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::seconds(10);

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<CacheOptions> cache_options(const std::string& folder) {
  CacheOptions options{.folder = folder.empty() ? from_environment("HEADRACE_CACHE") : folder};
  if (options.folder == "off") options.folder.clear();
  if (options.folder.empty()) return options;
  const auto number = [](const char* name, const std::string& text) -> Result<uint64_t> {
    auto bytes = parse_bytes(text);
    if (bytes.ok()) return bytes;
    Error error = std::move(bytes).error();
    error.message = std::string(name) + ": " + error.message;
    return error;
  };
  if (const std::string size = from_environment("HEADRACE_CACHE_SIZE"); !size.empty()) {
    HR_TRY(options.limits.bytes, number("HEADRACE_CACHE_SIZE", size));
  }
  if (const std::string reserve = from_environment("HEADRACE_CACHE_RESERVE"); !reserve.empty()) {
    HR_TRY(options.limits.reserve, number("HEADRACE_CACHE_RESERVE", reserve));
  }
  return options;
}

std::shared_ptr<NodeCache> NodeCache::open(CacheOptions options) {
  return std::shared_ptr<NodeCache>(new NodeCache(std::move(options)));
}

NodeCache::Here& NodeCache::here() const {
  return here_.get([this] {
    auto here = std::make_unique<Here>();
    if (auto folder = CacheFolder::open(options_.folder, options_.limits); folder.ok())
      here->folder = std::move(folder).value();
    else
      here->trouble = folder.error().message;
    return here;
  });
}

std::shared_ptr<const CacheLease> NodeCache::lease(const std::string& root) {
  Here& mine = here();
  if (!mine.folder) return nullptr;
  auto lease = mine.folder->lease(std::string(without_query(root)));
  if (lease.ok()) return std::move(lease).value();
  report(lease.error());
  return nullptr;
}

std::unique_ptr<ByteSource> NodeCache::wrap(std::unique_ptr<ByteSource> source,
                                            const std::shared_ptr<const CacheLease>& lease,
                                            const std::string& content) {
  if (!lease || !source->is_remote() || source->size() == 0) return source;
  const std::string identity =
      content.empty() ? source->identity() : source->name() + "\n" + content;
  if (identity.empty()) return source;
  EntryHeader header{.object_bytes = source->size(), .granule_bytes = options_.granule_bytes};
  const std::string exact = identity + "\n" + std::to_string(header.object_bytes) + "\n" +
                            std::to_string(header.granule_bytes);
  header.name = source->name().substr(0, EntryHeader::kLargestName);
  const std::string path = lease->folder() + "/" + sha256_hex(as_bytes(exact)) + ".object";
  return std::make_unique<CachedSource>(shared_from_this(), lease, std::move(source), path, header);
}

IoThreads& NodeCache::threads() const { return here().threads; }

bool NodeCache::take(uint64_t bytes) {
  Here& mine = here();
  if (mine.folder && mine.folder->take(bytes)) return true;
  report({.code = Code::kNoSpace,
          .message = "the cache '" + options_.folder +
                     "' is full; what does not fit is read from the store each time",
          .hint = "Raise HEADRACE_CACHE_SIZE, or name a larger disk."});
  return false;
}

void NodeCache::report(const Error& error) {
  Here& mine = here();
  mine.keeps_from = (Clock::now() + kPause).time_since_epoch().count();
  const std::lock_guard lock(mine.mutex);
  if (mine.trouble.empty())
    mine.trouble = error.hint.empty() ? error.message : error.message + ". " + error.hint;
}

bool NodeCache::keeps() const {
  return Clock::now().time_since_epoch().count() >= here().keeps_from.load();
}

CacheCounters NodeCache::counters() const {
  CacheCounters counters{.hit_bytes = hit_bytes_,
                         .fetched_bytes = fetched_bytes_,
                         .streamed_bytes = streamed_bytes_,
                         .damaged = damaged_};
  Here& mine = here();
  const std::lock_guard lock(mine.mutex);
  counters.trouble = mine.trouble;
  return counters;
}

CacheUse::CacheUse(const std::shared_ptr<NodeCache>& cache, const std::string& root)
    : cache_(cache) {
  const std::string scheme = url_scheme(root);
  if (cache_ && !scheme.empty() && scheme != "file" && scheme != "mem")
    lease_ = cache_->lease(root);
}

}  // namespace headrace
