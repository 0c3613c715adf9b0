// Segments: consecutive bytes of a shard under construction, small enough to be read into one
// buffer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/result.h"
#include "job/pack_plan.h"

namespace headrace {

/// A place in a shard under construction: byte `offset` of the payload of member `member` of the
/// sample at `position`; offset 0 is before the member's header.
struct PackCursor {
  uint64_t position = 0;
  uint32_t member = 0;
  uint64_t offset = 0;
  bool operator==(const PackCursor&) const = default;
};

/// A member whose header lies in a segment; offsets from the segment's beginning.
struct PlacedMember {
  uint64_t position = 0;
  uint32_t member = 0;
  uint64_t header = 0;
  uint64_t data = 0;
};

struct Segment {
  static constexpr size_t kBytes = size_t{2} << 20;
  /// A segment may be larger by one member's headers: a pax name has at most 4 KiB.
  static constexpr size_t kCapacity = kBytes + (size_t{64} << 10);

  uint64_t shard = 0;
  uint64_t number = 0;  ///< in the shard
  bool last = false;    ///< of the shard
  PackCursor from;
  PackCursor to;

  std::unique_ptr<std::byte[]> buffer;
  size_t used = 0;
  std::vector<PlacedMember> placed;
  std::vector<SkippedSample> skipped;
};

/// Cuts the shards of a plan into segments, one after the other. One thread at a time.
class SegmentCutter {
 public:
  SegmentCutter(const PackPlan& plan, const std::vector<bool>& done);

  /// False when there are no more. Fills in all but buffer, placed and skipped.
  bool next(Segment& segment);

 private:
  void next_shard();
  void advance_member(uint64_t& room);

  const PackPlan& plan_;
  const std::vector<bool>& done_;
  uint64_t shard_ = 0;
  uint64_t number_ = 0;
  PackCursor at_;
};

/// Reads a segment into its buffer. A bad sample that lies in the segment alone is skipped when
/// `skip`; otherwise the error names the file. One object a thread.
class SegmentReader {
 public:
  SegmentReader(const PackPlan& plan, bool skip) : plan_(plan), skip_(skip) {}

  Status fill(Segment& segment);

 private:
  Status fill_sample(Segment& segment, PackCursor& at);
  Status fill_member(Segment& segment, PackCursor& at, const SampleEntry& sample);
  Status read_file(uint64_t file, uint64_t offset, MutableBytes into);

  const PackPlan& plan_;
  const bool skip_;
  std::string name_;
  std::string header_;
};

}  // namespace headrace
