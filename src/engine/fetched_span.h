// Bytes of one remote object on their way into memory, and who waits for them.
//
//   span      |begin                                                    end|   a part of a block
//   segments  | asked: a row of the first step | idle | there | idle        |
//
// A span is asked for in segments. Usually there is one; at the start of a run the rows of the
// first steps come first, and the rest of their blocks after them, so no byte is asked for twice.
//
// Ownership: shared by the tickets whose rows lie in it, and by the reads under way.
// Thread-safety: every method may be called from any thread; bytes may be read once the segment's
// waiters have been told.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/countdown.h"
#include "headrace/store.h"

namespace headrace {

class FetchedSpan : public std::enable_shared_from_this<FetchedSpan> {
 public:
  /// `memory` has place for end - begin bytes.
  FetchedSpan(std::shared_ptr<const ByteSource> source, uint64_t begin, uint64_t end,
              std::shared_ptr<std::byte> memory);

  /// Asks for [begin, end) where nobody has yet. `waiter`, if given, is added to and told when all
  /// of it is there or has failed.
  void want(uint64_t begin, uint64_t end, Deadline deadline,
            const std::shared_ptr<Countdown>& waiter);
  /// Asks for everything that is still idle.
  void want_rest(Deadline deadline) { want(begin_, end_, deadline, nullptr); }

  /// The bytes, or the error of the read that should have brought them. Precondition: told.
  Result<ByteView> bytes(uint64_t offset, uint64_t size) const;

 private:
  enum class State : uint8_t { idle, asked, done };
  struct Segment {
    uint64_t end = 0;
    State state = State::idle;
    std::vector<std::shared_ptr<Countdown>> waiters = {};
    Status status = {};
  };
  using Segments = std::map<uint64_t, Segment>;  // by begin

  Segments::iterator split_at(uint64_t offset);
  void start(uint64_t begin, uint64_t end, Deadline deadline);
  void arrived(uint64_t begin, Status status);

  const std::shared_ptr<const ByteSource> source_;
  const uint64_t begin_;
  const uint64_t end_;
  const std::shared_ptr<std::byte> memory_;
  mutable std::mutex mutex_;
  Segments segments_;
};

}  // namespace headrace
