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

/// Memory for one segment.
struct SegmentBuffer {
  std::unique_ptr<std::byte[]> bytes;
  size_t capacity = 0;

  explicit operator bool() const { return bytes != nullptr; }
  /// Drops the contents when it has to grow.
  void reserve(size_t wanted);
};

struct Segment {
  /// What a segment holds if samples are small: enough to write at once, and still in the
  /// processor's cache when it is hashed and written.
  static constexpr size_t kBytes = size_t{256} << 10;
  /// A sample up to here is one segment; a larger one comes in pieces of kPiece.
  static constexpr size_t kWhole = size_t{4} << 20;
  static constexpr size_t kPiece = size_t{1} << 20;
  /// For the headers of one member: a pax name has at most 4 KiB.
  static constexpr size_t kHeaderRoom = size_t{8} << 10;

  uint64_t shard = 0;
  uint64_t number = 0;  ///< in the shard
  bool last = false;    ///< of the shard
  PackCursor from;
  PackCursor to;
  size_t capacity = 0;  ///< bytes that its buffer needs

  SegmentBuffer buffer;
  size_t used = 0;
  std::vector<PlacedMember> placed;
  std::vector<SkippedSample> skipped;
};

/// Cuts the shards of a plan into segments, one after the other. One thread at a time.
class SegmentCutter {
 public:
  /// `skip`: a sample that comes in pieces is looked at before the first one, and left out as a
  /// whole if one of its files is not as it was listed; pieces could not be taken back.
  SegmentCutter(const PackPlan& plan, const std::vector<bool>& done, bool skip);

  /// False when there are no more. Fills in all but buffer, placed and skipped.
  bool next(Segment& segment);

 private:
  void next_shard();
  void cut_samples(Segment& segment, uint64_t end);
  void cut_piece(Segment& segment);
  bool leave_out(Segment& segment, const SampleEntry& sample);

  const PackPlan& plan_;
  const std::vector<bool>& done_;
  const bool skip_;
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
