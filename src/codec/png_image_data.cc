#include "codec/png_image_data.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/big_endian.h"

namespace headrace {
namespace {

using namespace std::string_view_literals;

constexpr size_t kNumber = 4;  // bytes of a chunk's length, name and checksum, each
constexpr std::string_view kZlibHeader = "\x78\x01"sv;
constexpr size_t kAdler = 4;
constexpr size_t kStoredBlock = 65'535;  // bytes at most, behind a header of five (RFC 1951)
constexpr size_t kBlockHeader = 5;
constexpr size_t kBetween = 3 * kNumber;  // a checksum, the next chunk's length and name
constexpr std::string_view kEnd = "----\0\0\0\0IEND\xAE\x42\x60\x82"sv;

bool has_right_checksum(ByteView name_and_content, uint32_t checksum) {
  return libdeflate_crc32(0, name_and_content.data(), name_and_content.size()) == checksum;
}

/// The others must be understood by whoever reads the file; their names have a large first letter.
bool may_be_skipped(std::string_view name) { return name[0] >= 'a' && name[0] <= 'z'; }

std::byte* put(std::byte* at, ByteView bytes) {
  std::memmove(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

std::byte* put_block(std::byte* at, ByteView content, bool is_last) {
  const auto size = static_cast<uint16_t>(content.size());
  const auto inverse = static_cast<uint16_t>(~size);
  at[0] = static_cast<std::byte>(is_last);
  std::memcpy(at + 1, &size, sizeof size);  // the lower byte first
  std::memcpy(at + 3, &inverse, sizeof inverse);
  return put(at + kBlockHeader, content);
}

}  // namespace

ByteView PngImageData::stored(ByteView file, size_t at, size_t raw_bytes) {
  const ByteView chunks = file.subspan(at - 2 * kNumber);  // with the first one's length and name
  if (raw_bytes == 0 || raw_bytes > kLargest || !collect(chunks)) return {};
  const size_t first = load_be32(chunks.data());
  const size_t blocks = (raw_bytes + kStoredBlock - 1) / kStoredBlock;
  const size_t stream = kZlibHeader.size() + blocks * kBlockHeader + raw_bytes + kAdler;
  if (stream < first) return {};
  const MutableBytes room = stored_.take(stream + kBetween + kEnd.size());
  // Inflated at the end, and moved to the front a block at a time: never over what is still there.
  const MutableBytes raw = room.last(raw_bytes);
  if (!inflate(raw)) return {};
  std::byte* to = put(room.data(), as_bytes(kZlibHeader));
  for (size_t done = 0; done < raw_bytes; done += kStoredBlock) {
    const size_t size = std::min(kStoredBlock, raw_bytes - done);
    to = put_block(to, raw.subspan(done, size), done + size == raw_bytes);
  }
  put(to, deflated_.last(kAdler));
  std::byte* second = room.data() + first;
  put(second + kBetween, room.subspan(first, stream - first));
  store_be32(second + kNumber, static_cast<uint32_t>(stream - first));
  put(second + 2 * kNumber, as_bytes("IDAT"));
  put(room.data() + kBetween + stream, as_bytes(kEnd));
  return room;
}

/// Looks at all chunks, and puts the contents of those with image data together. False: something
/// is irregular.
bool PngImageData::collect(ByteView chunks) {
  std::byte* const begin = deflated_memory_.take(chunks.size()).data();
  std::byte* end = begin;
  bool data_ended = false;
  while (chunks.size() >= 3 * kNumber) {
    const size_t size = load_be32(chunks.data());
    if (size > chunks.size() - 3 * kNumber) return false;
    const ByteView checked = chunks.subspan(kNumber, kNumber + size);
    if (!has_right_checksum(checked, load_be32(checked.data() + checked.size()))) return false;
    const std::string_view name = as_text(checked.first(kNumber));
    if (name == "IEND") {
      deflated_ = ByteView(begin, end);
      return size == 0;
    }
    if (name != "IDAT" && !may_be_skipped(name)) return false;
    if (name == "IDAT" && data_ended) return false;
    if (name == "IDAT") end = put(end, checked.subspan(kNumber));
    data_ended |= name != "IDAT";
    chunks = chunks.subspan(3 * kNumber + size);
  }
  return false;
}

bool PngImageData::inflate(MutableBytes raw) const {
  struct Free {
    void operator()(libdeflate_decompressor* it) const { libdeflate_free_decompressor(it); }
  };
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> inflater(
      libdeflate_alloc_decompressor());
  size_t read = 0;
  // Without a place for their number, exactly so many bytes are a success.
  const auto result = libdeflate_zlib_decompress_ex(
      inflater.get(), deflated_.data(), deflated_.size(), raw.data(), raw.size(), &read, nullptr);
  return result == LIBDEFLATE_SUCCESS && read == deflated_.size();
}

}  // namespace headrace
