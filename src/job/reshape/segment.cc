#include "job/reshape/segment.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "base/try.h"
#include "format/tar_writer.h"
#include "job/reshape/sample_tar.h"

namespace headrace {
namespace {

// A sample up to this many segments' bytes is read whole.
constexpr size_t kWhole = 4;

// Segments under construction: appends what is read, behind what is there.
class Filler {
 public:
  Filler(const SampleLayouts& layouts, GatherSegment& segment)
      : fields_(layouts.fields()), segment_(segment) {}

  void whole(const SampleLayout& layout) {
    if (layout.verbatim)
      verbatim(layout);
    else
      part(layout, {}, {static_cast<uint32_t>(layout.members.size()), 0});
  }

  void part(const SampleLayout& layout, SampleCursor at, const SampleCursor& to) {
    const std::string& key = segment_.keys.emplace_back(layout.key);
    while (at != to) {
      const LaidMember& member = layout.members[at.member];
      const uint64_t end = to.member == at.member ? to.offset : member.size;
      if (at.offset == 0) {
        segment_.placed.push_back(place_member(layout, key, at.member, fields_, segment_.used));
        segment_.used = segment_.placed.back().data;
      }
      read(member.shard, member.offset + at.offset, end - at.offset);
      at.offset = end;
      if (to.member == at.member) return;
      zero(tar_padding(member.size));
      at = {at.member + 1, 0};
    }
  }

 private:
  void verbatim(const SampleLayout& layout) {
    const std::string& key = segment_.keys.emplace_back(layout.key);
    place_members(layout, key, fields_, segment_.used, segment_.placed);
    read(layout.members.front().shard, layout.begin, layout.end - layout.begin);
  }

  void read(uint32_t shard, uint64_t offset, uint64_t size) {
    if (size == 0) return;
    if (!segment_.reads.empty()) {
      SegmentRead& last = segment_.reads.back();
      if (last.shard == shard && last.offset + last.size == offset &&
          last.at + last.size == segment_.used) {
        last.size += size;
        return advance(size);
      }
    }
    segment_.reads.push_back({shard, offset, segment_.used, size});
    advance(size);
  }

  void advance(uint64_t size) { segment_.used += size; }

  void zero(uint64_t size) {
    if (size > 0) segment_.zeros.emplace_back(segment_.used, size);
    advance(size);
  }

  const std::vector<std::string>& fields_;
  GatherSegment& segment_;
};

}  // namespace

Status IndexTable::load_all(unsigned threads) {
  std::vector<std::shared_ptr<const ShardIndex>> all(inputs_.shards());
  HR_CHECK(for_each(all.size(), threads, [&](uint64_t shard) -> Status {
    HR_TRY(all[shard], inputs_.index(static_cast<uint32_t>(shard)));
    return {};
  }));
  all_ = std::make_shared<const std::vector<std::shared_ptr<const ShardIndex>>>(std::move(all));
  return {};
}

Result<const std::shared_ptr<const ShardIndex>*> IndexTable::get(uint32_t shard) {
  if (all_) return &(*all_)[shard];
  if (shard != last_shard_) {
    HR_TRY(last_, inputs_.index(shard));
    last_shard_ = shard;
  }
  return &last_;
}

Status PickReader::read(uint64_t position) {
  bytes_ = 0;
  picks_.clear();
  kept_.clear();
  for (uint32_t column = 0; column < order_.columns(); ++column) {
    Pick pick{.position = position};
    const uint64_t number = order_.at(position, column);
    if (number != kNoSample) {
      const SampleId id = inputs_.locate(number);
      HR_TRY(const auto* index, indexes_.get(id.shard));
      pick = {position, id.shard, id.sample, index->get()};
      bytes_ += (*index)->sample_end(id.sample) - (*index)->sample_begin(id.sample);
      kept_.push_back(*index);
    }
    picks_.push_back(pick);
  }
  return {};
}

SegmentCut::SegmentCut(const ReshapePlan& plan, const SampleLayouts& layouts, IndexTable indexes,
                       size_t segment_bytes)
    : plan_(plan),
      layouts_(layouts),
      indexes_(std::move(indexes)),
      segment_bytes_(segment_bytes),
      piece_bytes_(std::max(segment_bytes, size_t{1} << 20)),
      picks_(plan.inputs(), plan.order(), indexes_) {}

void SegmentCut::begin(uint64_t task) {
  const OutputShard shard = plan_.shard(task);
  task_ = task;
  number_ = 0;
  is_at_end_ = false;
  at_ = shard.first;
  end_ = shard.first + shard.samples;
}

Status SegmentCut::look() {
  if (looked_) return {};
  looked_ = true;
  return picks_.read(at_);
}

// The sample that was looked at becomes the segment's.
void SegmentCut::take(GatherSegment& segment) {
  segment.picks.insert(segment.picks.end(), picks_.picks().begin(), picks_.picks().end());
  for (const auto& index : picks_.indexes())
    if (segment.indexes.empty() || segment.indexes.back() != index)
      segment.indexes.push_back(index);
}

Status SegmentCut::next(GatherSegment& segment) {
  segment.task = task_;
  segment.number = number_++;
  segment.begin = at_;
  uint64_t bytes = 0;
  while (at_ < end_) {
    HR_CHECK(look());
    if (bytes > 0 && bytes + picks_.bytes() > segment_bytes_) break;
    if (picks_.bytes() > std::max(kWhole * segment_bytes_, piece_bytes_)) {
      HR_CHECK(cut_piece(segment));
      break;
    }
    bytes += picks_.bytes();
    take(segment);
    looked_ = false;
    ++at_;
  }
  segment.end = at_;
  segment.last = is_at_end_ = at_ == end_;
  return {};
}

// Of a large sample: members, or parts of them, up to its end.
Status SegmentCut::cut_piece(GatherSegment& segment) {
  take(segment);
  bool kept = true;
  if (in_sample_ == SampleCursor{}) {
    HR_TRY(kept, layouts_.lay_out(picks_.picks(), large_));
  }
  if (kept) {
    const SampleCursor from = in_sample_;
    uint64_t left = piece_bytes_;
    while (left > 0 && in_sample_.member < large_.members.size()) {
      const uint64_t size = large_.members[in_sample_.member].size;
      const uint64_t part = std::min(size - in_sample_.offset, left);
      left -= part;
      in_sample_.offset += part;
      if (in_sample_.offset == size) in_sample_ = {in_sample_.member + 1, 0};
    }
    segment.piece = {from, in_sample_};
    if (in_sample_.member < large_.members.size()) return {};
  }
  in_sample_ = {};
  looked_ = false;
  ++at_;
  return {};
}

Status lay_out_segment(const SampleLayouts& layouts, uint32_t columns, GatherSegment& segment) {
  Filler filler(layouts, segment);
  SampleLayout layout;
  for (size_t i = 0; i < segment.picks.size(); i += columns) {
    const std::span<const Pick> picks(segment.picks.data() + i, columns);
    HR_TRY(const bool kept, layouts.lay_out(picks, layout));
    if (!kept)
      segment.skipped.push_back({.key = layout.key, .file = "", .reason = "a field is missing"});
    else if (segment.piece)
      filler.part(layout, segment.piece->first, segment.piece->second);
    else
      filler.whole(layout);
  }
  segment.buffer.reserve(segment.used);
  return {};
}

Status finish_segment(const SampleLayouts& layouts, GatherSegment& segment) {
  const MutableBytes bytes(segment.buffer.bytes.get(), segment.used);
  write_headers(bytes, segment.placed, layouts.fields());
  for (const auto& [at, size] : segment.zeros) std::memset(bytes.data() + at, 0, size);
  const PlacedMember* damaged = take_checksums(bytes, segment.placed);
  if (damaged == nullptr) return {};
  const SegmentRead read = read_of(segment, damaged->data);
  return layouts.damaged(read.shard, read.offset);
}

SegmentRead read_of(const GatherSegment& segment, size_t at) {
  const auto behind = std::ranges::upper_bound(segment.reads, at, {}, &SegmentRead::at);
  SegmentRead read = *std::prev(behind);
  read.offset += at - read.at;
  return read;
}

}  // namespace headrace
