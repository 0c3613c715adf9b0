// Segments of a shard that is gathered from the input: consecutive bytes of the output, small
// enough for one buffer, and the reads that fill them.
//
//   input     shard 3 |hdr|jpg……|hdr|cls|     shard 0 |hdr|jpg…|hdr|cls|
//                      └──────┬────────┘               └─────┬────────┘
//   segment            |hdr|jpg……|hdr|cls|hdr|jpg…|hdr|cls|…       one read each; then the headers
//
// A sample whose members lie as they will be written is read in one piece with its headers, which
// are written over; neighbours are read together. A large sample comes in pieces.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/buffer_pool.h"
#include "job/reshape/layout.h"
#include "job/reshape/plan.h"
#include "job/shard_object.h"

namespace headrace {

/// Bytes of a shard of the input that go to one place of the segment.
struct SegmentRead {
  uint32_t shard = 0;
  uint64_t offset = 0;
  size_t at = 0;
  size_t size = 0;
};

/// A place in a sample: byte `offset` of the payload of a member; 0 is before its header.
struct SampleCursor {
  uint32_t member = 0;
  uint64_t offset = 0;
  bool operator==(const SampleCursor&) const = default;
};

struct GatherSegment {
  size_t lane = 0;  ///< whose cut it is of
  uint64_t task = 0;
  uint64_t number = 0;  ///< in the shard
  bool last = false;    ///< of the shard
  uint64_t begin = 0;   ///< positions [begin, end)
  uint64_t end = 0;
  std::vector<Pick> picks;  ///< of these positions, `columns` each
  /// Of a part of one large sample: which.
  std::optional<std::pair<SampleCursor, SampleCursor>> piece;

  std::vector<std::shared_ptr<const ShardIndex>> indexes;  ///< keeps those of `picks`
  std::deque<std::string> keys;                            ///< keeps those of `placed`
  SegmentBuffer buffer;
  size_t used = 0;
  ByteView bytes() const { return {buffer.bytes.get(), used}; }
  std::string packed;  ///< the bytes as a compressed container has them
  std::vector<PlacedMember> placed;
  std::vector<SegmentRead> reads;
  std::vector<std::pair<size_t, size_t>> zeros;  ///< padding: where, how much
  std::vector<SkippedSample> skipped;
};

/// The indexes of the input's shards: all of them in memory, which copies share, or the last used
/// one. Thread-safety: one thread, and others with copies.
class IndexTable {
 public:
  explicit IndexTable(const Inputs& inputs) : inputs_(inputs) {}

  /// Reads all, for orders that jump.
  Status load_all(unsigned threads);
  Result<const std::shared_ptr<const ShardIndex>*> get(uint32_t shard);

 private:
  const Inputs& inputs_;
  std::shared_ptr<const std::vector<std::shared_ptr<const ShardIndex>>> all_;
  uint32_t last_shard_ = ~uint32_t{0};
  std::shared_ptr<const ShardIndex> last_;
};

/// From positions to samples of the input. One thread at a time.
class PickReader {
 public:
  PickReader(const Inputs& inputs, const SampleOrder& order, IndexTable& indexes)
      : inputs_(inputs), order_(order), indexes_(indexes) {}

  Status read(uint64_t position);
  /// Of the position read last: one a column.
  std::span<const Pick> picks() const { return picks_; }
  /// About what they take in the input.
  uint64_t bytes() const { return bytes_; }
  /// Keeps what they point to.
  const std::vector<std::shared_ptr<const ShardIndex>>& indexes() const { return kept_; }

 private:
  const Inputs& inputs_;
  const SampleOrder& order_;
  IndexTable& indexes_;
  uint64_t bytes_ = 0;
  std::vector<Pick> picks_;
  std::vector<std::shared_ptr<const ShardIndex>> kept_;
};

/// Cuts one shard after the other into segments. One thread at a time.
class SegmentCut {
 public:
  SegmentCut(const ReshapePlan& plan, const SampleLayouts& layouts, IndexTable indexes,
             size_t segment_bytes);
  SegmentCut(const SegmentCut&) = delete;

  /// The shard of a task comes next. Precondition: is_at_end().
  void begin(uint64_t task);
  /// Whether the shard is cut, or none was begun.
  bool is_at_end() const { return is_at_end_; }
  /// Precondition: !is_at_end().
  Status next(GatherSegment& segment);

 private:
  Status look();
  void take(GatherSegment& segment);
  Status cut_piece(GatherSegment& segment);

  const ReshapePlan& plan_;
  const SampleLayouts& layouts_;
  IndexTable indexes_;
  const size_t segment_bytes_;
  const size_t piece_bytes_;
  uint64_t task_ = 0;
  uint64_t number_ = 0;
  bool is_at_end_ = true;
  uint64_t at_ = 0;   // position
  uint64_t end_ = 0;  // of the shard
  SampleCursor in_sample_;
  SampleLayout large_;  // of the sample that comes in pieces
  PickReader picks_;
  bool looked_ = false;  // picks_ has the sample at at_
};

/// Lays the segment out in its buffer: what is to be read, and where.
Status lay_out_segment(const SampleLayouts& layouts, uint32_t columns, GatherSegment& segment);
/// Once the reads have come: headers, padding and checksums. Code::kCorrupt for a payload that is
/// not what the index of its shard says.
Status finish_segment(const SampleLayouts& layouts, GatherSegment& segment);
/// The read that the byte at `at` came from, from this byte on. Precondition: it was read.
SegmentRead read_of(const GatherSegment& segment, size_t at);

}  // namespace headrace
