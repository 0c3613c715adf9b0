#include "job/segment.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/try.h"
#include "format/tar_writer.h"
#include "io/file.h"
#include "io/system_error.h"

namespace headrace {
namespace {

Error changed(const Sources& sources, uint64_t file, const std::string& how) {
  return {.code = Code::kChanged,
          .message = "'" + sources.full_path(file) + "' " + how + " since it was listed",
          .origin = {},
          .hint =
              "Run it again when the files are at rest (with --replace, for it is another "
              "input then), or leave such samples out with --on-error skip."};
}

Result<File> open_source(const Sources& sources, uint64_t file) {
  const FileList::Entry& entry = sources.files[file];
  const SourceRoot& root = sources.roots[entry.root];
  File opened = open_file(root.folder.get(), sources.files.path(file).data(), O_RDONLY);
  if (opened.is_open()) return opened;
  if (errno == ENOENT || errno == ENOTDIR) return changed(sources, file, "vanished");
  return system_error("read", sources.full_path(file), errno);
}

// Size and time are those of the listing.
Status check_source(const Sources& sources, uint64_t file, const File& opened) {
  const FileList::Entry& entry = sources.files[file];
  struct stat info;
  if (::fstat(opened.get(), &info) != 0)
    return system_error("look at", sources.full_path(file), errno);
  const int64_t mtime = info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec;
  if (static_cast<uint64_t>(info.st_size) == entry.bytes && mtime == entry.mtime_ns) return {};
  return changed(sources, file, "changed");
}

}  // namespace

SegmentCutter::SegmentCutter(const PackPlan& plan, const std::vector<bool>& done, bool skip)
    : plan_(plan), done_(done), skip_(skip) {
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
  const SampleEntry& first = plan_.sample_at(at_.position);
  const bool begun = at_.member > 0 || at_.offset > 0;
  if (!begun && plan_.sample_bytes(first) <= Segment::kWhole)
    cut_samples(segment, end);
  else if (begun || !skip_ || !leave_out(segment, first))
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
    ++at_.position;
  }
}

// Members of one sample, or parts of them, up to the sample's end.
void SegmentCutter::cut_piece(Segment& segment) {
  const SampleEntry& sample = plan_.sample_at(at_.position);
  while (segment.capacity < Segment::kPiece) {
    const uint64_t size = plan_.member_bytes(sample, plan_.member(sample, at_.member));
    const uint64_t take = std::min<uint64_t>(size - at_.offset, Segment::kPiece - segment.capacity);
    at_.offset += take;
    segment.capacity += take + Segment::kHeaderRoom;
    if (at_.offset < size) return;
    at_.offset = 0;
    if (++at_.member < sample.members) continue;
    at_ = {at_.position + 1, 0, 0};
    return;
  }
}

// A sample whose files are not as they were listed: the segment is empty but for the note of it.
bool SegmentCutter::leave_out(Segment& segment, const SampleEntry& sample) {
  const auto check = [&](uint64_t file) -> Status {
    HR_TRY(const File opened, open_source(plan_.sources(), file));
    return check_source(plan_.sources(), file, opened);
  };
  for (uint32_t i = 0; i < sample.members; ++i) {
    const SampleMember& member = plan_.member(sample, i);
    if (member.file == SampleMember::kLabel) continue;
    const Status status = check(member.file);
    if (status.ok()) continue;
    segment.skipped.push_back({std::string(plan_.set().key(sample)), status.error().to_string()});
    segment.from = at_ = {at_.position + 1, 0, 0};
    return true;
  }
  return false;
}

void SegmentBuffer::reserve(size_t wanted) {
  if (wanted <= capacity) return;
  bytes = std::make_unique_for_overwrite<std::byte[]>(wanted);
  capacity = wanted;
}

Status SegmentReader::fill(Segment& segment) {
  segment.buffer.reserve(segment.capacity);
  PackCursor at = segment.from;
  while (at != segment.to) {
    const size_t used = segment.used;
    const size_t placed = segment.placed.size();
    const bool begins = at.member == 0 && at.offset == 0;
    const uint64_t position = at.position;
    const bool whole = begins && segment.to.position > position;
    Status status = fill_sample(segment, at);
    if (status.ok()) continue;
    if (!skip_ || !whole) return status;
    segment.used = used;
    segment.placed.resize(placed);
    const SampleEntry& sample = plan_.sample_at(position);
    segment.skipped.push_back(
        {std::string(plan_.set().key(sample)), std::move(status).error().to_string()});
    at = {position + 1, 0, 0};
  }
  return {};
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

Status SegmentReader::fill_member(Segment& segment, PackCursor& at, const SampleEntry& sample) {
  const SampleMember& member = plan_.member(sample, at.member);
  const uint64_t size = plan_.member_bytes(sample, member);
  if (at.offset == 0) {
    header_.clear();
    plan_.member_name(sample, member, name_);
    append_tar_header(header_, name_, size);
    const size_t begin = segment.used;
    std::memcpy(segment.buffer.bytes.get() + begin, header_.data(), header_.size());
    segment.used += header_.size();
    segment.placed.push_back({at.position, at.member, begin, segment.used});
  }
  const bool ends_here = segment.to.position != at.position || segment.to.member != at.member;
  const uint64_t end = ends_here ? size : segment.to.offset;
  const MutableBytes into(segment.buffer.bytes.get() + segment.used, end - at.offset);
  if (member.file == SampleMember::kLabel) {
    const std::string label = std::to_string(sample.label);
    std::memcpy(into.data(), label.data(), label.size());
  } else {
    HR_CHECK(read_file(member.file, at.offset, into));
  }
  segment.used += into.size();
  at.offset = end;
  if (!ends_here) return {};
  std::memset(segment.buffer.bytes.get() + segment.used, 0, tar_padding(size));
  segment.used += tar_padding(size);
  at.offset = 0;
  ++at.member;
  return {};
}

// One open, one read, and one look at size and time afterwards: a file that changed before or while
// it was read is noticed.
Status SegmentReader::read_file(uint64_t file, uint64_t offset, MutableBytes into) {
  const Sources& sources = plan_.sources();
  HR_TRY(const File opened, open_source(sources, file));
  const ssize_t got = read_fully(opened.get(), into, offset);
  if (got < 0) return system_error("read", sources.full_path(file), errno);
  HR_CHECK(check_source(sources, file, opened));
  if (static_cast<size_t>(got) != into.size()) return changed(sources, file, "changed");
  return {};
}

}  // namespace headrace
