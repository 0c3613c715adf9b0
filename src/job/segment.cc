#include "job/segment.h"

#include <algorithm>
#include <cstring>

#include "base/try.h"
#include "format/tar_writer.h"

namespace headrace {
namespace {

Error undecodable(const SkippedSample& sample) {
  return {.code = Code::kCorrupt,
          .message = "'" + sample.file + "' cannot be decoded: " + sample.reason,
          .origin = {},
          .hint = "Mend or remove it, or leave such samples out with --drop-corrupt."};
}

}  // namespace

SegmentCutter::SegmentCutter(const PackPlan& plan, const std::vector<bool>& done,
                             const LeftOut& left_out, bool skip)
    : plan_(plan), done_(done), left_out_(left_out), skip_(skip) {
  next_shard();
}

void SegmentCutter::next_shard() {
  while (shard_ < plan_.shards().size() && done_[shard_]) ++shard_;
  number_ = 0;
  if (shard_ < plan_.shards().size()) at_ = {plan_.shards()[shard_].first, 0, 0};
}

bool SegmentCutter::next(Segment& segment) {
  if (shard_ == plan_.shards().size()) return false;
  const PlannedShard& shard = plan_.shards()[shard_];
  const uint64_t end = shard.first + shard.samples;
  segment.shard = shard_;
  segment.number = number_++;
  segment.from = at_;
  segment.capacity = 0;
  segment.planned = 0;
  const SampleEntry& first = plan_.sample_at(at_.position);
  const bool begun = at_.member > 0 || at_.offset > 0;
  if (!begun && plan_.sample_bytes(first) <= Segment::kWhole)
    cut_samples(segment, end);
  else if (begun || !leave_out(segment, first))
    cut_piece(segment);
  segment.to = at_;
  segment.last = at_.position == end;
  if (segment.last) {
    ++shard_;
    next_shard();
  }
  return true;
}

// Whole samples: one, and more while they fit.
void SegmentCutter::cut_samples(Segment& segment, uint64_t end) {
  while (at_.position < end) {
    const uint64_t bytes = plan_.sample_bytes(plan_.sample_at(at_.position));
    if (segment.capacity > 0 && segment.capacity + bytes > Segment::kBytes) return;
    segment.capacity += bytes;
    segment.planned += bytes;
    ++at_.position;
  }
}

// Members of one sample, or parts of them, up to the sample's end. Pictures and what is measured
// are never parted.
void SegmentCutter::cut_piece(Segment& segment) {
  const SampleEntry& sample = plan_.sample_at(at_.position);
  while (segment.capacity < Segment::kPiece) {
    const SampleMember& member = plan_.member(sample, at_.member);
    const uint64_t size = plan_.member_bytes(sample, member);
    const uint64_t room = Segment::kPiece - segment.capacity;
    const uint64_t take = plan_.is_whole(member) ? size : std::min(size - at_.offset, room);
    at_.offset += take;
    segment.planned += take;
    segment.capacity += take + Segment::kHeaderRoom;
    if (at_.offset < size) return;
    at_.offset = 0;
    if (++at_.member < sample.members) continue;
    at_ = {at_.position + 1, 0, 0};
    return;
  }
}

// A sample whose files are not as they were listed, or that spoiled the shard before: the segment
// is empty but for the note of it.
bool SegmentCutter::leave_out(Segment& segment, const SampleEntry& sample) {
  const auto leave = [&](SkippedSample skipped) {
    segment.skipped.push_back(std::move(skipped));
    segment.from = at_ = {at_.position + 1, 0, 0};
    return true;
  };
  const auto known = left_out_.find(at_.position);
  if (known != left_out_.end()) return leave(known->second);
  if (!skip_) return false;
  const Sources& sources = plan_.sources();
  for (uint32_t i = 0; i < sample.members; ++i) {
    const SampleMember& member = plan_.member(sample, i);
    if (member.file == SampleMember::kLabel) continue;
    const Status status = sources.check(member.file);
    if (status.ok()) continue;
    return leave({.key = std::string(plan_.set().key(sample)),
                  .file = sources.full_path(member.file),
                  .reason = status.error().to_string()});
  }
  return false;
}

Result<SegmentReader> SegmentReader::make(const PackPlan& plan, bool skip) {
  SegmentReader reader(plan, skip);
  if (plan.pictures().any()) {
    HR_TRY(reader.pictures_, PicturePass::make(plan.pictures()));
  }
  return reader;
}

Status SegmentReader::fill(Segment& segment) {
  segment.buffer.reserve(segment.capacity);
  PackCursor at = segment.from;
  while (at != segment.to) {
    const size_t used = segment.used;
    const size_t placed = segment.placed.size();
    const PictureReport pictures = segment.pictures;
    const bool begins = at.member == 0 && at.offset == 0;
    const uint64_t position = at.position;
    const bool whole = begins && segment.to.position > position;
    corrupt_ = false;
    Status status = fill_sample(segment, at);
    if (status.ok()) continue;
    SkippedSample skipped = note(at, status.error());
    if (!skip_ && !corrupt_) return status;
    if (!skip_ && !plan_.pictures().drop_corrupt) return undecodable(skipped);
    if (!whole) {
      segment.spoiled.emplace(position, std::move(skipped));
      return {};
    }
    segment.used = used;
    segment.placed.resize(placed);
    segment.pictures = pictures;
    segment.skipped.push_back(std::move(skipped));
    at = {position + 1, 0, 0};
  }
  take_checksums(segment.bytes(), segment.placed);
  return {};
}

// `at` is the member that failed.
SkippedSample SegmentReader::note(const PackCursor& at, const Error& error) const {
  const SampleEntry& sample = plan_.sample_at(at.position);
  const SampleMember& member = plan_.member(sample, at.member);
  const bool label = member.file == SampleMember::kLabel;
  return {.key = std::string(plan_.set().key(sample)),
          .file = label ? "" : plan_.sources().full_path(member.file),
          .reason = error.to_string(),
          .corrupt = corrupt_};
}

// Up to the end of the sample or of the segment.
Status SegmentReader::fill_sample(Segment& segment, PackCursor& at) {
  const uint64_t position = at.position;
  const SampleEntry& sample = plan_.sample_at(position);
  while (at != segment.to && at.position == position) {
    HR_CHECK(fill_member(segment, at, sample));
    if (at.offset > 0 || at.member < sample.members) continue;
    at = {position + 1, 0, 0};
  }
  return {};
}

void SegmentReader::put_header(Segment& segment, const PackCursor& at, const SampleEntry& sample,
                               uint64_t size) {
  header_.clear();
  const SampleMember& member = plan_.member(sample, at.member);
  plan_.member_name(sample, member, name_);
  append_tar_header(header_, name_, size);
  const size_t begin = segment.used;
  std::memcpy(segment.buffer.bytes.get() + begin, header_.data(), header_.size());
  segment.used += header_.size();
  segment.placed.push_back({.key = plan_.set().key(sample),
                            .field = member.field,
                            .first = at.member == 0,
                            .last = at.member + 1 == sample.members,
                            .header = begin,
                            .data = segment.used,
                            .size = size});
}

Status SegmentReader::fill_member(Segment& segment, PackCursor& at, const SampleEntry& sample) {
  const SampleMember& member = plan_.member(sample, at.member);
  if (plan_.is_picture(member)) {
    HR_CHECK(fill_picture(segment, at, sample));
    ++at.member;
    return {};
  }
  const uint64_t size = plan_.member_bytes(sample, member);
  const bool ends_here = segment.to.position != at.position || segment.to.member != at.member;
  const uint64_t end = ends_here ? size : segment.to.offset;
  // Room for what is left of the plan; pictures before may have taken more than theirs.
  segment.buffer.reserve(
      segment.used + Segment::kHeaderRoom + (end - at.offset) + tar_padding(size), segment.used);
  if (at.offset == 0) put_header(segment, at, sample, size);
  const MutableBytes into(segment.buffer.bytes.get() + segment.used, end - at.offset);
  if (member.file == SampleMember::kLabel) {
    const std::string label = std::to_string(sample.label);
    std::memcpy(into.data(), label.data(), label.size());
  } else {
    HR_CHECK(plan_.sources().read(member.file, at.offset, into));
  }
  HR_CHECK(measure(segment, member, into));
  segment.used += into.size();
  at.offset = end;
  if (!ends_here) return {};
  std::memset(segment.buffer.bytes.get() + segment.used, 0, tar_padding(size));
  segment.used += tar_padding(size);
  at.offset = 0;
  ++at.member;
  return {};
}

// The member whose header was put last.
Status SegmentReader::measure(Segment& segment, const SampleMember& member, ByteView payload) {
  const Unit unit = plan_.unit(member);
  if (unit == Unit::kNone) return {};
  auto found = meter_.measure(unit, payload);
  const bool label = member.file == SampleMember::kLabel;
  if (!found.ok())
    return Error{
        .code = Code::kCorrupt,
        .message = (label ? "a class number" : "'" + plan_.sources().full_path(member.file) + "'") +
                   " cannot be measured in " + std::string(unit_name(unit)) + ": " +
                   found.error().message,
        .origin = {},
        .hint = "Leave such samples out with --on-error skip."};
  segment.placed.back().measure = *found;
  return {};
}

// A whole picture: read, changed, and put behind its header.
Status SegmentReader::fill_picture(Segment& segment, const PackCursor& at,
                                   const SampleEntry& sample) {
  const SampleMember& member = plan_.member(sample, at.member);
  const uint64_t size = plan_.member_bytes(sample, member);
  file_.reserve(size);
  const MutableBytes file(file_.bytes.get(), size);
  HR_CHECK(plan_.sources().read(member.file, 0, file));
  auto packed = pictures_->run(file, at.position, segment.pictures);
  corrupt_ = !packed.ok();
  if (!packed.ok()) return std::move(packed).error();
  const size_t wanted = packed->size() + tar_padding(packed->size());
  segment.buffer.reserve(segment.used + Segment::kHeaderRoom + wanted, segment.used);
  put_header(segment, at, sample, packed->size());
  std::byte* into = segment.buffer.bytes.get() + segment.used;
  std::memcpy(into, packed->data(), packed->size());
  std::memset(into + packed->size(), 0, tar_padding(packed->size()));
  HR_CHECK(measure(segment, member, *packed));
  segment.used += wanted;
  return {};
}

}  // namespace headrace
