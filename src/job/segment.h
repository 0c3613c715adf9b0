// Segments: consecutive bytes of a shard under construction, small enough to be read into one
// buffer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/result.h"
#include "job/buffer_pool.h"
#include "job/pack_plan.h"
#include "job/payload_meter.h"
#include "job/picture_pass.h"
#include "job/shard_object.h"

namespace headrace {

/// A place in a shard under construction: byte `offset` of the payload of member `member` of the
/// sample at `position`; offset 0 is before the member's header.
struct PackCursor {
  uint64_t position = 0;
  uint32_t member = 0;
  uint64_t offset = 0;
  bool operator==(const PackCursor&) const = default;
};

/// Samples to leave out, by position.
using LeftOut = std::map<uint64_t, SkippedSample>;

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
  size_t capacity = 0;   ///< bytes that its buffer needs; more when pictures grow
  uint64_t planned = 0;  ///< bytes of the plan that it stands for, for progress

  ByteView bytes() const { return {buffer.bytes.get(), used}; }

  SegmentBuffer buffer;
  size_t used = 0;
  std::string packed;  ///< the bytes as a compressed container has them
  std::vector<PlacedMember> placed;
  std::vector<SkippedSample> skipped;
  PictureReport pictures;
  /// The sample of which this segment is a piece and that has to be left out whole: parts of it may
  /// have been written, so the shard has to be written again.
  std::optional<std::pair<uint64_t, SkippedSample>> spoiled;
};

/// Cuts the shards of a plan into segments, one after the other. One thread at a time.
class SegmentCutter {
 public:
  /// `skip`: a sample that comes in pieces is looked at before the first one, and left out as a
  /// whole if one of its files is not as it was listed; as are those of `left_out`.
  SegmentCutter(const PackPlan& plan, const std::vector<bool>& done, const LeftOut& left_out,
                bool skip);

  /// False when there are no more. Fills in what the plan knows.
  bool next(Segment& segment);

 private:
  void next_shard();
  void cut_samples(Segment& segment, uint64_t end);
  void cut_piece(Segment& segment);
  bool leave_out(Segment& segment, const SampleEntry& sample);

  const PackPlan& plan_;
  const std::vector<bool>& done_;
  const LeftOut& left_out_;
  const bool skip_;
  uint64_t shard_ = 0;
  uint64_t number_ = 0;
  PackCursor at_;
};

/// Reads a segment into its buffer, pictures as the options want them. A bad sample that lies in
/// the segment alone is skipped if the policy says so; one that began before it spoils the segment;
/// otherwise the error names the file. One object a thread.
class SegmentReader {
 public:
  static Result<SegmentReader> make(const PackPlan& plan, bool skip);

  Status fill(Segment& segment);

 private:
  SegmentReader(const PackPlan& plan, bool skip) : plan_(plan), skip_(skip) {}

  Status fill_sample(Segment& segment, PackCursor& at);
  Status fill_member(Segment& segment, PackCursor& at, const SampleEntry& sample);
  Status fill_picture(Segment& segment, const PackCursor& at, const SampleEntry& sample);
  void put_header(Segment& segment, const PackCursor& at, const SampleEntry& sample, uint64_t size);
  Status measure(Segment& segment, const SampleMember& member, ByteView payload);
  SkippedSample note(const PackCursor& at, const Error& error) const;

  const PackPlan& plan_;
  const bool skip_;
  std::optional<PicturePass> pictures_;
  PayloadMeter meter_;
  bool corrupt_ = false;  ///< the last error was a picture's
  SegmentBuffer file_;
  std::string name_;
  std::string header_;
};

}  // namespace headrace
