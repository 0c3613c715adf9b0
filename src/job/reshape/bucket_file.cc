#include "job/reshape/bucket_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/little_endian.h"
#include "base/try.h"
#include "format/tar_writer.h"
#include "io/system_error.h"
#include "job/reshape/layout.h"

namespace headrace {
namespace {

constexpr size_t kHeader = 8 + 8 + 4 + 4;
constexpr size_t kMember = 4 + 4 + 8 + 8 + 1;
/// Records of this size are written as they come: what a copy takes is more than a system call.
constexpr size_t kLarge = size_t{32} << 10;

}  // namespace

Error damaged_between_passes(const std::string& how, Origin origin) {
  return {.code = Code::kCorrupt,
          .message = "what lies between the two passes " + how,
          .origin = std::move(origin),
          .hint = "Give the job up with 'headrace abandon', and begin it again."};
}

void append_record_head(std::string& out, uint64_t position, std::string_view key,
                        std::span<const PlacedMember> members, uint64_t tar_bytes) {
  append_le(out, position);
  append_le(out, tar_bytes);
  append_le(out, static_cast<uint32_t>(key.size()));
  append_le(out, static_cast<uint32_t>(members.size()));
  out += key;
  for (const PlacedMember& member : members) {
    append_le(out, member.field);
    append_le(out, member.checksum);
    append_le(out, member.size);
    append_le(out, member.measure.value);
    append_le(out, static_cast<uint8_t>(member.measure.unit));
  }
}

Result<std::unique_ptr<BucketFile>> BucketFile::create(const std::string& folder,
                                                       size_t buffer_bytes) {
  HR_TRY(File file, open_nameless(folder));
  return std::unique_ptr<BucketFile>(new BucketFile(std::move(file), folder, buffer_bytes));
}

Status BucketFile::add(std::string_view head, ByteView tar) {
  const std::lock_guard lock(mutex_);
  if (tar.size() >= kLarge) {
    HR_CHECK(write(as_bytes(head)));
    return write(tar);
  }
  const size_t size = head.size() + tar.size();
  if (!buffer_.empty() && buffer_.size() + size > buffer_bytes_) HR_CHECK(flush());
  buffer_ += head;
  buffer_ += as_text(tar);
  return {};
}

Status BucketFile::write(ByteView bytes) { return file_->append(bytes); }

Status BucketFile::flush() {
  HR_CHECK(write(as_bytes(buffer_)));
  buffer_.clear();
  return {};
}

Status BucketFile::seal() {
  HR_CHECK(flush());
  buffer_ = {};
  file_->trim();
  return {};
}

Result<std::vector<BucketFile::Entry>> BucketFile::load(SegmentBuffer& into) {
  HR_CHECK(seal());
  into.reserve(file_->size());
  const MutableBytes bytes(into.bytes.get(), file_->size());
  const ssize_t got = read_fully(file_->file().get(), bytes, 0);
  if (got < 0) return system_error("read scratch in", folder_, errno);
  if (static_cast<size_t>(got) != bytes.size())
    return Error{.code = Code::kCorrupt, .message = "a scratch file in '" + folder_ + "' was cut"};
  file_.reset();
  std::vector<Entry> entries;
  for (ByteView rest = bytes; !rest.empty();) {
    const auto size = parse_bucket_record(rest, entries.emplace_back());
    if (!size || *size == 0 || *size > rest.size())
      return Error{.code = Code::kCorrupt,
                   .message = "a scratch file in '" + folder_ + "' is damaged"};
    rest = rest.subspan(*size);
  }
  std::ranges::sort(entries, {}, &Entry::position);
  return entries;
}

std::optional<uint64_t> parse_bucket_record(ByteView bytes, BucketFile::Entry& entry) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  if (bytes.size() < kHeader) return 0;
  const auto tar = load_le<uint64_t>(bytes.data() + 8);
  const auto key = load_le<uint32_t>(bytes.data() + 16);
  const uint64_t members = kMember * load_le<uint32_t>(bytes.data() + 20);
  if (tar > kMost) return std::nullopt;
  const uint64_t size = kHeader + key + members + tar;
  if (size > bytes.size()) return size;
  entry = {.position = load_le<uint64_t>(bytes.data()),
           .key = as_text(bytes.subspan(kHeader, key)),
           .members = bytes.subspan(kHeader + key, members),
           .tar = bytes.subspan(kHeader + key + members, tar),
           .record = bytes.first(size)};
  return size;
}

bool read_members(const BucketFile::Entry& entry, std::string_view key, size_t at,
                  const std::vector<std::string>& fields, std::vector<PlacedMember>& into) {
  const size_t end = at + entry.tar.size();
  const size_t count = entry.members.size() / kMember;
  for (size_t i = 0; i < count; ++i) {
    const std::byte* from = entry.members.data() + i * kMember;
    PlacedMember member{.key = key,
                        .field = load_le<uint32_t>(from),
                        .first = i == 0,
                        .last = i + 1 == count,
                        .header = at};
    member.checksum = load_le<uint32_t>(from + 4);
    member.size = load_le<uint64_t>(from + 8);
    const auto unit = unit_of(load_le<uint8_t>(from + 24));
    if (!unit || member.field >= fields.size() || member.size > end - at) return false;
    member.measure = {*unit, load_le<uint64_t>(from + 16)};
    member.data = at + header_bytes(key, fields[member.field], member.size);
    at = member.data + member.size + tar_padding(member.size);
    if (at > end) return false;
    into.push_back(member);
  }
  return at == end;
}

}  // namespace headrace
