#include "format/lz4_blocks.h"

#include <lz4.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/little_endian.h"
#include "base/try.h"
#include "format/frame_codec.h"

namespace headrace {
namespace {

constexpr uint32_t kStoredBlock = uint32_t{1} << 31;
constexpr size_t kLongestHeader = 19;

struct Header {
  uint64_t bytes = 7;
  uint64_t block_bytes = 0;  // at most
  bool independent = false;
  uint64_t checksum_bytes = 0;  // behind each block
};

Error damaged(uint64_t offset) {
  return {
      .code = Code::kCorrupt, .message = "the lz4 data is damaged", .origin = {.offset = offset}};
}

// The frame has been decoded by the library before, so what it refuses is not looked for.
Header parse(ByteView bytes) {
  const auto flags = std::to_integer<unsigned>(bytes[4]);
  const auto block = std::to_integer<unsigned>(bytes[5]) >> 4 & 7U;
  Header header;
  header.block_bytes = uint64_t{1} << (8 + 2 * block);
  header.independent = (flags & 0x20U) != 0;
  header.checksum_bytes = (flags & 0x10U) != 0 ? 4 : 0;
  if ((flags & 0x08U) != 0) header.bytes += 8;
  if ((flags & 0x01U) != 0) header.bytes += 4;
  return header;
}

}  // namespace

Result<bool> add_lz4_blocks(const Frame& frame, const ReadAt& read, FrameMap& out) {
  std::array<std::byte, kLongestHeader> first{};
  HR_CHECK(read(frame.encoded_offset,
                MutableBytes(first).first(std::min<uint64_t>(first.size(), frame.encoded_size))));
  const Header header = parse(first);
  if (!header.independent) return false;
  std::vector<std::byte> packed;
  std::vector<std::byte> plain(header.block_bytes);
  const uint64_t end = frame.encoded_end();
  for (uint64_t at = frame.encoded_offset + header.bytes;;) {
    std::array<std::byte, 4> word{};
    if (at > end || end - at < word.size()) return damaged(at);
    HR_CHECK(read(at, word));
    const auto size_word = load_le<uint32_t>(word.data());
    if (size_word == 0) return true;
    at += word.size();
    const uint64_t size = size_word & ~kStoredBlock;
    if (size > header.block_bytes || size > end - at) return damaged(at);
    Frame block{.encoded_offset = at, .encoded_size = size, .decoded_size = size};
    if ((size_word & kStoredBlock) == 0) {
      packed.resize(size);
      HR_CHECK(read(at, packed));
      const int made = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()),
                                           reinterpret_cast<char*>(plain.data()),
                                           static_cast<int>(size), static_cast<int>(plain.size()));
      if (made < 0) return damaged(at);
      block.decoded_size = static_cast<uint64_t>(made);
      block.encoding = Encoding::kLz4Block;
      block.crc32 = crc32_of(ByteView(plain).first(block.decoded_size));
    }
    if (block.decoded_size > 0) out.add(block);
    at += size + header.checksum_bytes;
  }
}

}  // namespace headrace
