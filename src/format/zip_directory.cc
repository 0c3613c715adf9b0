#include "format/zip_directory.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/little_endian.h"
#include "base/try.h"

namespace headrace {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50;
constexpr uint32_t kCentralMagic = 0x02014b50;
constexpr uint32_t kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50;
constexpr uint32_t kLocator64Magic = 0x07064b50;
constexpr size_t kLocalBytes = 30;
constexpr size_t kCentralBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kLocator64Bytes = 20;
constexpr uint64_t kLongestComment = 0xffff;
constexpr uint64_t kLargestDirectory = uint64_t{1} << 30;
constexpr uint32_t kIn64 = 0xffffffff;     // the number is in the zip64 field
constexpr uint64_t kMostFromAByte = 1032;  // that deflate can make

Error wrong(std::string what, std::string member, uint64_t offset) {
  return {.code = Code::kCorrupt,
          .message = std::move(what),
          .origin = {.member = std::move(member), .offset = offset},
          .hint = "Copy it again, or pack it again."};
}

Error unsupported(std::string what, std::string member, uint64_t offset) {
  Error error = wrong(std::move(what), std::move(member), offset);
  error.code = Code::kUsage;
  error.hint = "Unpack it with the program that made it, and pack the files with 'headrace pack'.";
  return error;
}

uint16_t u16(ByteView bytes, size_t at) { return load_le<uint16_t>(bytes.data() + at); }
uint32_t u32(ByteView bytes, size_t at) { return load_le<uint32_t>(bytes.data() + at); }
uint64_t u64(ByteView bytes, size_t at) { return load_le<uint64_t>(bytes.data() + at); }

/// Where the directory lies, and how far everything is from where it says.
struct Directory {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
  uint64_t shift = 0;
};

class Reader {
 public:
  Reader(uint64_t size, const ReadAt& read) : size_(size), read_(read) {}

  Result<std::vector<ZipMember>> run() {
    HR_TRY(const Directory directory, find_directory());
    HR_CHECK(read_directory(directory));
    std::ranges::sort(members_, {}, &ZipMember::header_offset);
    for (ZipMember& member : members_) HR_CHECK(find_data(member));
    HR_CHECK(check_overlaps(directory.begin));
    return std::move(members_);
  }

 private:
  Result<Directory> find_directory() {
    const uint64_t tail_bytes = std::min<uint64_t>(size_, kEndBytes + kLongestComment);
    const uint64_t tail_begin = size_ - tail_bytes;
    std::vector<std::byte> tail(tail_bytes);
    HR_CHECK(read_(tail_begin, tail));
    for (uint64_t at = tail_bytes < kEndBytes ? 0 : tail_bytes - kEndBytes + 1; at-- > 0;) {
      const ByteView end = ByteView(tail).subspan(at);
      // A comment may hold the magic, too: its length must lead to the end of the object.
      if (u32(end, 0) == kEndMagic && kEndBytes + u16(end, 20) == end.size())
        return read_end(end, tail_begin + at);
    }
    return wrong("there is no end of a zip directory: the archive was cut off, or is none", "",
                 size_);
  }

  Result<Directory> read_end(ByteView end, uint64_t at) {
    HR_TRY(const bool is_64, has_end_64(at));
    if (is_64) return read_end_64(at);
    if (u16(end, 4) != 0 || u16(end, 6) != 0 || u16(end, 8) != u16(end, 10)) return split(at);
    return place(u32(end, 16), u32(end, 12), u16(end, 10), at);
  }

  Result<bool> has_end_64(uint64_t end) {
    if (end < kLocator64Bytes + kEnd64Bytes) return false;
    std::array<std::byte, kLocator64Bytes> locator{};
    HR_CHECK(read_(end - kLocator64Bytes, locator));
    return u32(locator, 0) == kLocator64Magic;
  }

  Result<Directory> read_end_64(uint64_t end) {
    // Right in front of its locator, wherever that says it is.
    const uint64_t at = end - kLocator64Bytes - kEnd64Bytes;
    std::array<std::byte, kEnd64Bytes> bytes{};
    HR_CHECK(read_(at, bytes));
    if (u32(bytes, 0) != kEnd64Magic)
      return wrong("the zip64 end of the directory is not where it should be", "", at);
    if (u32(bytes, 16) != 0 || u32(bytes, 20) != 0 || u64(bytes, 24) != u64(bytes, 32))
      return split(at);
    return place(u64(bytes, 48), u64(bytes, 40), u64(bytes, 32), at);
  }

  static Error split(uint64_t at) {
    return unsupported("the zip archive is split over several files", "", at);
  }

  /// The directory ends where its end record begins; from there its true place follows.
  static Result<Directory> place(uint64_t claimed, uint64_t bytes, uint64_t entries, uint64_t end) {
    if (bytes > end || bytes > kLargestDirectory || entries > bytes / kCentralBytes ||
        claimed > end - bytes)
      return wrong("the zip directory does not fit into the object", "", end);
    return Directory{end - bytes, bytes, entries, end - bytes - claimed};
  }

  Status read_directory(const Directory& directory) {
    std::vector<std::byte> bytes(directory.bytes);
    HR_CHECK(read_(directory.begin, bytes));
    members_.reserve(directory.entries);
    ByteView left = bytes;
    for (uint64_t i = 0; i < directory.entries; ++i) {
      const uint64_t at = directory.begin + (bytes.size() - left.size());
      if (left.size() < kCentralBytes || u32(left, 0) != kCentralMagic)
        return wrong("the zip directory is damaged", "", at);
      const size_t name = u16(left, 28), extra = u16(left, 30), comment = u16(left, 32);
      const size_t whole = kCentralBytes + name + extra + comment;
      if (whole > left.size()) return wrong("the zip directory is damaged", "", at);
      HR_CHECK(add_entry(left.first(whole), name, extra, at, directory));
      left = left.subspan(whole);
    }
    return {};
  }

  Status add_entry(ByteView entry, size_t name_bytes, size_t extra_bytes, uint64_t at,
                   const Directory& directory) {
    ZipMember member;
    member.name = as_text(entry.subspan(kCentralBytes, name_bytes));
    if (name_bytes == 0 || member.name.find('\0') != std::string::npos)
      return wrong("a member of the zip archive has no proper name", "", at);
    uint64_t size = u32(entry, 24), packed = u32(entry, 20), header = u32(entry, 42);
    const ByteView extra = entry.subspan(kCentralBytes + name_bytes, extra_bytes);
    if (!take_64(extra, {&size, &packed, &header}))
      return wrong("the zip64 sizes of a member are missing", member.name, at);
    if (u16(entry, 34) != 0 && u16(entry, 34) != 0xffff) return split(at);
    member.is_file = !member.name.ends_with('/') && !is_link(entry);
    if (header > directory.begin - directory.shift)
      return wrong("a member lies outside of the archive", member.name, at);
    member.header_offset = header + directory.shift;
    if (member.is_file) HR_CHECK(set_frame(entry, size, packed, member));
    members_.push_back(std::move(member));
    return {};
  }

  /// Numbers that did not fit into 32 bits stand in an extra field, in this order.
  static bool take_64(ByteView extra, std::array<uint64_t*, 3> numbers) {
    const auto wanted = std::ranges::count_if(numbers, [](auto* n) { return *n == kIn64; });
    if (wanted == 0) return true;
    while (extra.size() >= 4) {
      const size_t bytes = u16(extra, 2);
      if (bytes > extra.size() - 4) return false;
      ByteView field = extra.subspan(4, bytes);
      if (u16(extra, 0) == 1) {
        for (uint64_t* number : numbers) {
          if (*number != kIn64) continue;
          if (field.size() < 8) return false;
          *number = u64(field, 0);
          field = field.subspan(8);
        }
        return true;
      }
      extra = extra.subspan(4 + bytes);
    }
    return false;
  }

  static bool is_link(ByteView entry) {
    constexpr unsigned kUnix = 3;
    return u16(entry, 4) >> 8 == kUnix && (u32(entry, 38) >> 16 & 0170000U) == 0120000U;
  }

  static Status set_frame(ByteView entry, uint64_t size, uint64_t packed, ZipMember& member) {
    constexpr unsigned kStored = 0, kDeflated = 8, kAes = 99;
    const unsigned flags = u16(entry, 8), method = u16(entry, 10);
    const uint64_t at = member.header_offset;
    if ((flags & 0x2041U) != 0 || method == kAes)
      return unsupported("the member is encrypted", member.name, at);
    if (method != kStored && method != kDeflated)
      return unsupported("the member is packed by method " + std::to_string(method) +
                             ", but only stored (0) and deflate (8) are read",
                         member.name, at);
    if (method == kStored && size != packed)
      return wrong("a stored member has two sizes", member.name, at);
    if (method == kDeflated && size / kMostFromAByte > packed)
      return wrong("the member claims more bytes than deflate can make", member.name, at);
    if (method == kDeflated && size > kLargestFrame)
      return unsupported("the member is compressed and larger than 128 MiB", member.name, at);
    member.frame = {.encoded_size = packed,
                    .decoded_size = size,
                    .crc32 = u32(entry, 16),
                    .encoding = method == kStored ? Encoding::kStored : Encoding::kDeflate};
    return {};
  }

  /// The local header says where the data begins.
  Status find_data(ZipMember& member) {
    const uint64_t at = member.header_offset;
    const uint64_t bytes = kLocalBytes + member.name.size();
    if (bytes > size_ - at) return wrong("a member lies outside of the archive", member.name, at);
    HR_TRY(const ByteView header, window(at, bytes));
    if (u32(header, 0) != kLocalMagic || u16(header, 26) != member.name.size() ||
        as_text(header.subspan(kLocalBytes)) != member.name)
      return wrong("the member's own header is not where the zip directory says", member.name, at);
    const uint64_t data = at + bytes + u16(header, 28);
    if (data > size_ || member.frame.encoded_size > size_ - data)
      return wrong("a member lies outside of the archive", member.name, at);
    member.frame.encoded_offset = data;
    return {};
  }

  /// Bytes of the object, read ahead: small members follow each other closely.
  Result<ByteView> window(uint64_t at, uint64_t bytes) {
    constexpr uint64_t kWindow = uint64_t{64} << 10;
    if (at < window_begin_ || at + bytes > window_begin_ + window_.size()) {
      window_begin_ = at;
      window_.resize(std::min(std::max(bytes, kWindow), size_ - at));
      HR_CHECK(read_(at, window_));
    }
    return ByteView(window_).subspan(at - window_begin_, bytes);
  }

  Status check_overlaps(uint64_t directory_begin) const {
    for (size_t i = 0; i < members_.size(); ++i) {
      const ZipMember& member = members_[i];
      const bool last = i + 1 == members_.size();
      const uint64_t limit = last ? directory_begin : members_[i + 1].header_offset;
      const uint64_t end = member.is_file ? member.frame.encoded_end() : member.header_offset;
      if (end > limit)
        return wrong("a member overlaps what lies behind it", member.name, member.header_offset);
    }
    return {};
  }

  const uint64_t size_;
  const ReadAt& read_;
  std::vector<ZipMember> members_;
  std::vector<std::byte> window_;
  uint64_t window_begin_ = 0;
};

}  // namespace

Result<std::vector<ZipMember>> read_zip_directory(uint64_t object_size, const ReadAt& read) {
  return Reader(object_size, read).run();
}

}  // namespace headrace
