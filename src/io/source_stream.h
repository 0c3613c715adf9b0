// SourceStream reads an object front to back, ahead of its reader: a few parts are on their way
// while one is read.
//
//   object   |......| part 3 | part 4 | part 5 |........|
//                     ^ read   asked    asked
//
// Two parts at first, and one more for each that was read, up to kMostParts: who wants only the
// beginning of an object does not fetch much of it, and memory is at most kMostParts * kPartBytes.
//
// Ownership: parts that are on their way keep their memory and the source alive, so a stream may be
// destroyed at any time. Thread-safety: one thread at a time. After fork() it is of no use in the
// child, where nothing arrives; destroying it there is safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "headrace/store.h"

namespace headrace {

class SourceStream {
 public:
  static constexpr uint64_t kPartBytes = uint64_t{2} << 20;
  static constexpr size_t kMostParts = 8;

  explicit SourceStream(std::shared_ptr<const ByteSource> source) : source_(std::move(source)) {}

  const ByteSource& source() const { return *source_; }
  uint64_t position() const { return position_; }
  /// Cheap within what has been fetched. Beyond the end: read() gives nothing.
  void seek(uint64_t position);
  /// Waits until read() need not, at most for `patience`; whether that is so.
  bool wait(std::chrono::milliseconds patience);
  /// Fills the beginning of `into` with what has arrived and says how much; waits if nothing has.
  /// 0: the end. An error belongs to the bytes at position(), and comes again.
  Result<size_t> read(MutableBytes into);

 private:
  /// What the reader and a read under way share.
  struct Part {
    uint64_t begin = 0;
    uint64_t size = 0;
    std::vector<std::byte> memory = {};
    std::mutex mutex = {};
    std::condition_variable arrived = {};
    bool is_there = false;
    Status status = {};
  };

  bool at_end() const { return position_ >= source_->size(); }
  void ask_ahead();
  void ask(std::vector<std::byte> memory);
  std::vector<std::byte> leave_front();

  const std::shared_ptr<const ByteSource> source_;
  uint64_t position_ = 0;
  uint64_t asked_ = 0;  ///< the end of the last part
  size_t ahead_ = 2;
  std::deque<std::shared_ptr<Part>> parts_;  ///< the front one holds position_, once asked
};

}  // namespace headrace
