#include "format/parquet/pages.h"

#include <brotli/decode.h>
#include <snappy-c.h>

#include <limits>

#include "base/little_endian.h"
#include "base/try.h"
#include "format/frame_codec.h"

namespace headrace::parquet {
namespace {

enum PageType { kData = 0, kIndex = 1, kDictionary = 2, kData2 = 3 };

Error unsupported(std::string what, uint64_t offset) {
  return {.code = Code::kUsage,
          .message = std::move(what),
          .origin = {.offset = offset},
          .hint = "Write the file again with another program, for example with pyarrow."};
}

bool unpack_snappy(ByteView packed, MutableBytes out) {
  size_t size = 0;
  const auto* const from = reinterpret_cast<const char*>(packed.data());
  if (snappy_uncompressed_length(from, packed.size(), &size) != SNAPPY_OK || size != out.size())
    return false;
  return snappy_uncompress(from, packed.size(), reinterpret_cast<char*>(out.data()), &size) ==
         SNAPPY_OK;
}

bool unpack_brotli(ByteView packed, MutableBytes out) {
  size_t size = out.size();
  const auto done =
      BrotliDecoderDecompress(packed.size(), reinterpret_cast<const uint8_t*>(packed.data()), &size,
                              reinterpret_cast<uint8_t*>(out.data()));
  return done == BROTLI_DECODER_RESULT_SUCCESS && size == out.size();
}

/// The others are those of frames, too.
bool unpack_frame(headrace::Encoding encoding, ByteView packed, MutableBytes out) {
  const Frame frame{
      .encoded_size = packed.size(), .decoded_size = out.size(), .encoding = encoding};
  return decode_frame(frame, packed, out).ok();
}

bool unpack_bytes(Codec codec, ByteView packed, MutableBytes out) {
  switch (codec) {
    case Codec::kNone:
      return unpack_frame(headrace::Encoding::kStored, packed, out);
    case Codec::kSnappy:
      return unpack_snappy(packed, out);
    case Codec::kGzip:
      return unpack_frame(headrace::Encoding::kGzip, packed, out);
    case Codec::kBrotli:
      return unpack_brotli(packed, out);
    case Codec::kZstd:
      return unpack_frame(headrace::Encoding::kZstd, packed, out);
    case Codec::kLz4Raw:
      return unpack_frame(headrace::Encoding::kLz4Block, packed, out);
  }
  return false;
}

/// Levels of a version 1 page: their length, and their runs.
std::optional<ByteView> take_levels(ByteView& bytes) {
  if (bytes.size() < 4) return std::nullopt;
  const uint32_t size = load_le<uint32_t>(bytes.data());
  if (size > bytes.size() - 4) return std::nullopt;
  const ByteView levels = bytes.subspan(4, size);
  bytes = bytes.subspan(4 + size_t{size});
  return levels;
}

}  // namespace

Error damaged_page(const char* what, uint64_t offset) {
  return {.code = Code::kCorrupt,
          .message = std::string("a page is damaged: ") + what,
          .origin = {.offset = offset},
          .hint = "Copy the file again from where it came from."};
}

struct PageReader::Header {
  int64_t type = -1;
  int64_t unpacked = -1;
  int64_t packed = -1;
  std::optional<uint32_t> crc32;
  int64_t entries = -1;
  int64_t encoding = -1;
  int64_t def_encoding = static_cast<int64_t>(Encoding::kRle);
  int64_t rep_encoding = static_cast<int64_t>(Encoding::kRle);
  int64_t def_bytes = 0;
  int64_t rep_bytes = 0;
  bool is_compressed = true;
  uint64_t bytes = 0;  // of the header itself
};

Result<PageReader::Header> PageReader::read_header() const {
  ThriftReader reader(bytes_.subspan(at_));
  Header header;
  const auto number = [&reader](Thrift type, int64_t& into) {
    into = reader.integer(type);
    return true;
  };
  // Versions 1 and 2 and dictionaries have structs of their own.
  const auto part = [&](int16_t of) {
    reader.fields([&](int16_t id, Thrift type) {
      const bool two = of == 8;
      if (id == 1) return number(type, header.entries);
      if (id == (two ? 4 : 2)) return number(type, header.encoding);
      if (of == 5 && id == 3) return number(type, header.def_encoding);
      if (of == 5 && id == 4) return number(type, header.rep_encoding);
      if (two && id == 5) return number(type, header.def_bytes);
      if (two && id == 6) return number(type, header.rep_bytes);
      if (!two || id != 7) return false;
      header.is_compressed = reader.boolean(type);
      return true;
    });
    return true;
  };
  reader.fields([&](int16_t id, Thrift type) {
    if (id == 1) return number(type, header.type);
    if (id == 2) return number(type, header.unpacked);
    if (id == 3) return number(type, header.packed);
    if (id == 4) {
      header.crc32 = static_cast<uint32_t>(reader.integer(type));
      return true;
    }
    return (id == 5 || id == 7 || id == 8) && type == Thrift::kStruct && part(id);
  });
  header.bytes = reader.used();
  const uint64_t left = bytes_.size() - at_ - header.bytes;
  if (!reader.ok() || header.packed < 0 || header.unpacked < 0 ||
      static_cast<uint64_t>(header.packed) > left)
    return damaged_page("its header cannot be read, or it does not fit into its column", offset());
  return header;
}

Result<std::optional<Page>> PageReader::next() {
  while (at_ < bytes_.size()) {
    HR_TRY(const Header header, read_header());
    const auto packed = static_cast<uint64_t>(header.packed);
    const ByteView stored = bytes_.subspan(at_ + header.bytes, packed);
    Page page{.is_dictionary = header.type == kDictionary, .offset = offset()};
    if (header.crc32 && *header.crc32 != crc32_of(stored))
      return damaged_page("its bytes do not have the CRC-32 that its header names", page.offset);
    const bool wanted = header.type == kData || header.type == kData2 || page.is_dictionary;
    if (wanted) HR_CHECK(open(header, stored, page));
    at_ += header.bytes + packed;
    if (wanted) return std::optional(page);
  }
  return std::optional<Page>();
}

Status PageReader::open(const Header& header, ByteView stored, Page& page) {
  if (header.entries < 0 || header.entries > std::numeric_limits<int32_t>::max() ||
      header.encoding < 0 || header.encoding > static_cast<int64_t>(Encoding::kByteStreamSplit))
    return damaged_page("its header is wrong", page.offset);
  page.entries = static_cast<uint32_t>(header.entries);
  page.encoding = static_cast<Encoding>(header.encoding);
  auto unpacked = static_cast<uint64_t>(header.unpacked);
  if (header.type == kData2) {
    const auto rep = static_cast<uint64_t>(header.rep_bytes);
    const auto def = static_cast<uint64_t>(header.def_bytes);
    if (header.rep_bytes < 0 || header.def_bytes < 0 || rep > stored.size() ||
        def > stored.size() - rep || rep + def > unpacked)
      return damaged_page("its levels do not fit into it", page.offset);
    page.rep = stored.first(rep);
    page.def = stored.subspan(rep, def);
    stored = stored.subspan(rep + def);
    unpacked -= rep + def;
    page.values = stored;
    if (!header.is_compressed) return {};
    HR_TRY(page.values, unpack(stored, unpacked));
    return {};
  }
  HR_TRY(page.values, unpack(stored, unpacked));
  if (page.is_dictionary) return {};
  const bool old = (leaf_.def > 0 && header.def_encoding != static_cast<int64_t>(Encoding::kRle)) ||
                   (leaf_.rep > 0 && header.rep_encoding != static_cast<int64_t>(Encoding::kRle));
  if (old)
    return unsupported("a page has its levels in the old bit-packed encoding, which is not read",
                       page.offset);
  return split_levels(page.values, page);
}

Status PageReader::split_levels(ByteView bytes, Page& page) const {
  for (const auto& [most, levels] : {std::pair(leaf_.rep, &page.rep), {leaf_.def, &page.def}}) {
    if (most == 0) continue;
    const auto taken = take_levels(bytes);
    if (!taken) return damaged_page("its levels do not fit into it", page.offset);
    *levels = *taken;
  }
  page.values = bytes;
  return {};
}

Result<ByteView> PageReader::unpack(ByteView packed, uint64_t size) {
  if (chunk_.codec == Codec::kNone) {
    if (packed.size() != size) return damaged_page("it has two sizes", offset());
    return packed;
  }
  if (size == 0) return ByteView();
  if (size > budget_.unpacked) return too_large(offset());
  budget_.unpacked -= size;
  if (size > unpacked_size_) {
    unpacked_ = std::make_unique_for_overwrite<std::byte[]>(size);
    unpacked_size_ = size;
  }
  const MutableBytes out(unpacked_.get(), size);
  if (!unpack_bytes(chunk_.codec, packed, out))
    return damaged_page("its compressed bytes do not give what they should", offset());
  return ByteView(out);
}

}  // namespace headrace::parquet
