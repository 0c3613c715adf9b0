#include "cli/cache_contents.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/try.h"
#include "base/units.h"
#include "cli/progress.h"
#include "format/shard_index.h"
#include "headrace/dataset.h"
#include "io/cache/cache_file.h"
#include "plan/shard_table.h"

namespace headrace::cli {
namespace {

constexpr unsigned kFetchers = 8;  // they wait for the network
constexpr uint64_t kPiece = uint64_t{16} << 20;

Status read_whole(const ByteSource& source, std::vector<std::byte>& memory, Progress& progress) {
  for (uint64_t at = 0; at < source.size();) {
    if (progress.stopped()) return Progress::interrupted();
    const uint64_t size = std::min<uint64_t>(kPiece, source.size() - at);
    HR_CHECK(source.read_at(at, MutableBytes(memory).first(size)));
    progress.bytes += size;
    at += size;
  }
  return {};
}

Status read_shard(const Dataset& set, uint32_t shard, std::vector<std::byte>& memory,
                  Progress& progress) {
  HR_TRY(const auto index, set.index(shard));
  if (index->is_archive()) {
    HR_TRY(const auto archive, set.source(shard, *index, 0));
    HR_CHECK(read_whole(*archive, memory, progress));
  } else {
    for (uint32_t sample = 0; sample < index->size(); ++sample)
      for (const IndexMember& member : index->members(sample)) {
        HR_TRY(const auto file, set.source(shard, *index, member.object));
        HR_CHECK(read_whole(*file, memory, progress));
      }
  }
  ++progress.items;
  return {};
}

Status read_all(const Dataset& set, unsigned threads, Progress& progress) {
  std::atomic<uint32_t> next{0};
  std::mutex mutex;
  Status failed;
  const auto work = [&] {
    std::vector<std::byte> memory(kPiece);
    for (uint32_t shard = next++; shard < set.shards(); shard = next++) {
      const Status status = read_shard(set, shard, memory, progress);
      if (status.ok()) continue;
      next = set.shards();
      const std::lock_guard lock(mutex);
      if (failed.ok()) failed = status;
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  return failed;
}

struct Checked {
  uint64_t bytes = 0;
  uint64_t damaged = 0;  // granules
};

// Somebody may be writing the granule just now: a damaged one is looked at again with its lock.
bool take_out(CacheFile& file, uint64_t granule) {
  if (!file.try_lock(granule)) return false;
  const bool damaged = file.check(granule) == CacheFile::Found::kDamaged;
  if (damaged) file.forget(granule);
  file.unlock(granule);
  return damaged;
}

Status check_object(const CachedObject& object, Checked& checked, Context& context) {
  auto opened = CacheFile::open_existing(object.path);
  if (!opened.ok()) {
    context.note(error_line(opened.error()));
    ++checked.damaged;
    ::unlink(object.path.c_str());
    return {};
  }
  CacheFile& file = **opened;
  for (uint64_t granule = 0; granule < file.header().granules(); ++granule) {
    if (context.progress.stopped()) return Progress::interrupted();
    const CacheFile::Found found = file.check(granule);
    if (found == CacheFile::Found::kHere) {
      checked.bytes += file.header().granule_size(granule);
      context.progress.bytes += file.header().granule_size(granule);
    } else if (found == CacheFile::Found::kDamaged && take_out(file, granule)) {
      ++checked.damaged;
      context.note("damaged, taken out: " + file.header().name + ", bytes from " +
                   format_count(file.header().granule_begin(granule)));
    }
  }
  ++context.progress.items;
  return {};
}

}  // namespace

Result<int> prefetch(const std::string& location, const std::string& folder, Context& context) {
  HR_TRY(const auto set, Dataset::open({location}, {.cache_folder = folder}));
  context.progress.total_bytes = set->table().total_bytes();
  context.progress.total_items = set->shards();
  auto read = [&]() -> Status {
    const ProgressLine line(context, "fetching", "shards");
    return read_all(*set, context.threads > 0 ? context.threads : kFetchers, context.progress);
  }();
  HR_CHECK(std::move(read));
  const CacheCounters counters = set->cache_counters();
  if (counters.hit_bytes + counters.fetched_bytes + counters.streamed_bytes == 0)
    return Error{.code = Code::kUsage,
                 .message = "'" + set->name() +
                            "' is local, or its server does not say which version "
                            "an object has, so nothing of it is cached"};
  if (!counters.trouble.empty())
    return Error{.code = Code::kNoSpace, .message = counters.trouble, .origin = {}};
  context.note(format_bytes(counters.fetched_bytes) + " fetched, the rest was there");
  return 0;
}

Result<int> verify_cache(const CacheFolder& cache, Context& context) {
  HR_TRY(const auto sets, cache.sets());
  for (const CachedSet& set : sets) context.progress.total_bytes += set.bytes;
  Checked checked;
  auto all = [&]() -> Status {
    const ProgressLine line(context, "verifying", "objects");
    for (const CachedSet& set : sets)
      for (const CachedObject& object : cached_objects(set.folder))
        HR_CHECK(check_object(object, checked, context));
    return {};
  }();
  HR_CHECK(std::move(all));
  if (context.json) {
    std::string text;
    Json json(text);
    json.object().member("schema", "headrace.cache/1").member("bytes", checked.bytes);
    json.member("damaged", checked.damaged).end();
    context.out.text(text + "\n");
  }
  context.note(format_bytes(checked.bytes) + " checked: " +
               (checked.damaged == 0 ? "all is well"
                                     : format_number_of(checked.damaged, "damaged piece") +
                                           ", to be fetched again when needed"));
  return checked.damaged == 0 ? 0 : exit_code(Code::kCorrupt);
}

}  // namespace headrace::cli
