#include "job/read_back.h"

#include <fcntl.h>

#include <numeric>

#include "base/parallel.h"
#include "base/try.h"
#include "io/file.h"
#include "io/urls.h"
#include "job/hashed_reads.h"

namespace headrace {
namespace {

// What the system keeps in memory of a local file is forgotten, where it is on the disk.
void forget_pages(const Store& store, const std::string& path) {
  if (!url_scheme(store.name()).empty()) return;
  const File file = open_file(AT_FDCWD, (store.name() + "/" + path).c_str(), O_RDONLY);
  if (file.is_open()) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

Status read_one_back(const Store& store, const Publication& publication, uint64_t task,
                     Progress& progress) {
  HR_TRY(const ShardRecord record, publication.record(task));
  forget_pages(store, record.name);
  HR_TRY(const auto source, store.open_known(record.name, record.bytes));
  HashedReads reads(*source, progress);
  HR_TRY(const uint64_t digest, reads.finish());
  if (digest == record.xxh3) return {};
  return Error{.code = Code::kCorrupt,
               .message = "the shard reads back otherwise than it was written",
               .origin = {.shard = source->name()},
               .hint = "The same command writes it again; look after the disk or the network."};
}

}  // namespace

Status read_back(const Store& store, Publication& publication, const std::vector<uint64_t>& tasks,
                 unsigned threads, Progress& progress) {
  return for_each(tasks.size(), thread_count(threads), [&](uint64_t i) -> Status {
    Status status = read_one_back(store, publication, tasks[i], progress);
    if (!status.ok() && status.error().code == Code::kCorrupt)
      HR_CHECK(publication.forget(tasks[i]));
    return status;
  });
}

Status read_all_back(const Store& store, Publication& publication, uint64_t tasks, unsigned threads,
                     Progress& progress) {
  std::vector<uint64_t> all(tasks);
  std::iota(all.begin(), all.end(), uint64_t{0});
  return read_back(store, publication, all, threads, progress);
}

}  // namespace headrace
