// One object of a server that serves no ranges: streamed once, whole, into a temporary file (a
// Spool, so nothing is left of it after kill -9), and read from there.
//
//   answer   ──▶ |=============arrived=======▶            |
//   reads         answered at once            wait for their last byte
//
// The first read begins it. What breaks is repeated from the start by the fetcher, and what is
// there already is compared with what comes again; with the version and size of the first answer
// too, so two versions never mix (Code::kChanged). A disk that is full is Code::kNoSpace. After an
// error the next read begins anew.
//
// Pieces are written on the fetcher's thread: 128 KiB at most into the page cache, which takes as
// long as copying them once more, and reads are answered from there as they would be from memory.
//
// Ownership: whoever reads holds it and the fetcher; given up by all, the transfer ends.
// Thread-safe. Belongs to the process that began it until it is complete; then any child may read.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "headrace/store.h"
#include "io/http/fetcher.h"
#include "io/remote_source.h"
#include "io/spool.h"

namespace headrace {

class Download : public std::enable_shared_from_this<Download> {
 public:
  Download(std::shared_ptr<const RemoteObject> object, std::shared_ptr<ObjectPin> pin)
      : object_(std::move(object)), pin_(std::move(pin)) {}

  /// As ByteSource::start_read. `done` may run on the fetcher's thread.
  void read(Fetcher& fetcher, uint64_t offset, MutableBytes into, Deadline deadline,
            const ByteSource::Done& done);
  /// Waits for all of it, and answers how many bytes it has. Not on the fetcher's thread.
  Result<uint64_t> whole(Fetcher& fetcher);
  bool is_complete() const { return complete_.load(std::memory_order_acquire); }

 private:
  struct Reader {
    uint64_t offset = 0;
    MutableBytes into;
    ByteSource::Done done;
  };
  using Readers = std::multimap<uint64_t, Reader>;  // by their ends

  void wait(Fetcher& fetcher, uint64_t end, Reader reader, Deadline deadline);
  void begin(Fetcher& fetcher, Deadline deadline, bool again);
  Status take(uint64_t offset, ByteView bytes);
  Status keep(ByteView bytes);
  Status compare(uint64_t offset, ByteView bytes) const;
  Status check_end(const HttpResponse& answer) const;
  void end(const Status& status);

  const std::shared_ptr<const RemoteObject> object_;
  const std::shared_ptr<ObjectPin> pin_;
  std::atomic<bool> complete_{false};
  std::mutex mutex_;
  Spool spool_;  // appended to on the fetcher's thread, under the mutex
  Status kept_;  // an error: something could not be written, and nothing is any more
  bool running_ = false;
  Readers readers_;
};

}  // namespace headrace
