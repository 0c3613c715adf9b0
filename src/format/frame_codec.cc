#include "format/frame_codec.h"

#include <libdeflate.h>
#include <lz4.h>
#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/little_endian.h"
#include "base/try.h"

namespace headrace {
namespace {

constexpr int kZstdLevel = 3;
constexpr int kDeflateLevel = 6;
constexpr int kLz4Level = 1;

template <auto release>
struct Releases {
  template <typename T>
  void operator()(T* thing) const {
    release(thing);
  }
};

auto* zstd_reader() {
  thread_local const std::unique_ptr<ZSTD_DCtx, Releases<ZSTD_freeDCtx>> kept(ZSTD_createDCtx());
  return kept.get();
}

auto* zstd_writer() {
  thread_local const std::unique_ptr<ZSTD_CCtx, Releases<ZSTD_freeCCtx>> kept = [] {
    std::unique_ptr<ZSTD_CCtx, Releases<ZSTD_freeCCtx>> made(ZSTD_createCCtx());
    ZSTD_CCtx_setParameter(made.get(), ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(made.get(), ZSTD_c_checksumFlag, 1);
    return made;
  }();
  return kept.get();
}

auto* inflater() {
  thread_local const std::unique_ptr<libdeflate_decompressor,
                                     Releases<libdeflate_free_decompressor>>
      kept(libdeflate_alloc_decompressor());
  return kept.get();
}

/// zlib's: libdeflate makes whole streams alone.
class PartWriter {
 public:
  PartWriter() { deflateInit2(&stream_, kDeflateLevel, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY); }
  ~PartWriter() { deflateEnd(&stream_); }
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  std::string write(ByteView bytes) {
    deflateReset(&stream_);
    std::string out(deflateBound(&stream_, static_cast<uLong>(bytes.size())) + 16, '\0');
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    deflate(&stream_, Z_FULL_FLUSH);
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  z_stream stream_{};
};

auto* deflater() {
  thread_local const std::unique_ptr<libdeflate_compressor, Releases<libdeflate_free_compressor>>
      kept(libdeflate_alloc_compressor(kDeflateLevel));
  return kept.get();
}

bool unpack_zstd(ByteView encoded, MutableBytes decoded) {
  return ZSTD_decompressDCtx(zstd_reader(), decoded.data(), decoded.size(), encoded.data(),
                             encoded.size()) == decoded.size();
}

bool unpack_gzip(ByteView encoded, MutableBytes decoded) {
  return libdeflate_gzip_decompress(inflater(), encoded.data(), encoded.size(), decoded.data(),
                                    decoded.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

bool unpack_deflate(ByteView encoded, MutableBytes decoded) {
  return libdeflate_deflate_decompress(inflater(), encoded.data(), encoded.size(), decoded.data(),
                                       decoded.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

// A part ends at a full flush and not in a last block, which is put behind it here.
bool unpack_deflate_part(ByteView encoded, MutableBytes decoded) {
  thread_local std::string stream;
  stream.assign(as_text(encoded));
  stream += std::string_view("\x01\0\0\xff\xff", 5);
  return unpack_deflate(as_bytes(stream), decoded);
}

bool unpack_lz4_block(ByteView encoded, MutableBytes decoded) {
  const int made = LZ4_decompress_safe(
      reinterpret_cast<const char*>(encoded.data()), reinterpret_cast<char*>(decoded.data()),
      static_cast<int>(encoded.size()), static_cast<int>(decoded.size()));
  return made >= 0 && static_cast<size_t>(made) == decoded.size();
}

bool unpack_lz4(ByteView encoded, MutableBytes decoded) {
  LZ4F_dctx* made = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION))) return false;
  const std::unique_ptr<LZ4F_dctx, Releases<LZ4F_freeDecompressionContext>> context(made);
  size_t done = 0;
  while (!encoded.empty()) {
    size_t room = decoded.size() - done;
    size_t taken = encoded.size();
    const size_t left =
        LZ4F_decompress(made, decoded.data() + done, &room, encoded.data(), &taken, nullptr);
    if (LZ4F_isError(left)) return false;
    done += room;
    encoded = encoded.subspan(taken);
    if (left == 0) return encoded.empty() && done == decoded.size();
    if (room == 0 && taken == 0) return false;  // more bytes than there is room for
  }
  return false;
}

bool unpack(const Frame& frame, ByteView encoded, MutableBytes decoded) {
  switch (frame.encoding) {
    case Encoding::kStored:
      if (encoded.size() != decoded.size()) return false;
      std::ranges::copy(encoded, decoded.begin());
      return true;
    case Encoding::kDeflate:
      return unpack_deflate(encoded, decoded);
    case Encoding::kDeflatePart:
      return unpack_deflate_part(encoded, decoded);
    case Encoding::kGzip:
      return unpack_gzip(encoded, decoded);
    case Encoding::kLz4:
      return unpack_lz4(encoded, decoded);
    case Encoding::kLz4Block:
      return unpack_lz4_block(encoded, decoded);
    case Encoding::kZstd:
      return unpack_zstd(encoded, decoded);
    case Encoding::kRowGroup:
      break;
  }
  return false;
}

Error damaged(const Frame& frame, const std::string& what) {
  return {.code = Code::kCorrupt,
          .message = what,
          .origin = {.offset = frame.encoded_offset},
          .hint = "Run 'headrace verify' to see what else is damaged."};
}

LZ4F_preferences_t lz4_preferences(size_t bytes) {
  LZ4F_preferences_t out = LZ4F_INIT_PREFERENCES;
  out.frameInfo.blockSizeID = LZ4F_max4MB;
  out.frameInfo.blockMode = LZ4F_blockIndependent;
  out.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  out.frameInfo.contentSize = bytes;
  out.compressionLevel = kLz4Level;
  return out;
}

}  // namespace

Status decode_frame(const Frame& frame, ByteView encoded, MutableBytes decoded) {
  if (!unpack(frame, encoded, decoded))
    return damaged(frame, "compressed bytes are damaged: they do not give the " +
                              std::to_string(frame.decoded_size) + " bytes that they should");
  if (frame.crc32 != 0 && crc32_of(decoded) != frame.crc32)
    return damaged(frame, "the bytes do not have the CRC-32 that the archive names");
  return {};
}

std::string encode_frame(Encoding encoding, ByteView bytes) {
  std::string out;
  const LZ4F_preferences_t lz4 = lz4_preferences(bytes.size());
  size_t used = 0;
  switch (encoding) {
    case Encoding::kZstd:
      out.resize(ZSTD_compressBound(bytes.size()));
      used = ZSTD_compress2(zstd_writer(), out.data(), out.size(), bytes.data(), bytes.size());
      break;
    case Encoding::kLz4:
      out.resize(LZ4F_compressFrameBound(bytes.size(), &lz4));
      used = LZ4F_compressFrame(out.data(), out.size(), bytes.data(), bytes.size(), &lz4);
      break;
    case Encoding::kGzip:
      out.resize(libdeflate_gzip_compress_bound(deflater(), bytes.size()));
      used =
          libdeflate_gzip_compress(deflater(), bytes.data(), bytes.size(), out.data(), out.size());
      break;
    case Encoding::kDeflatePart: {
      thread_local PartWriter writer;
      return writer.write(bytes);
    }
    case Encoding::kDeflate:
      out.resize(libdeflate_deflate_compress_bound(deflater(), bytes.size()));
      used = libdeflate_deflate_compress(deflater(), bytes.data(), bytes.size(), out.data(),
                                         out.size());
      break;
    case Encoding::kStored:
    case Encoding::kLz4Block:
    case Encoding::kRowGroup:
      return std::string(as_text(bytes));
  }
  out.resize(used);
  return out;
}

std::string frame_codec(Encoding encoding) {
  switch (encoding) {
    case Encoding::kZstd:
      return std::string("zstd ") + ZSTD_versionString() + ", level " + std::to_string(kZstdLevel);
    case Encoding::kLz4:
    case Encoding::kLz4Block:
      return std::string("lz4 ") + LZ4_versionString() + ", level " + std::to_string(kLz4Level);
    case Encoding::kDeflatePart:
      return std::string("zlib ") + zlibVersion() + ", level " + std::to_string(kDeflateLevel);
    case Encoding::kGzip:
    case Encoding::kDeflate:
      return "libdeflate " LIBDEFLATE_VERSION_STRING ", level " + std::to_string(kDeflateLevel);
    case Encoding::kStored:
    case Encoding::kRowGroup:
      break;
  }
  return "stored";
}

std::string zstd_seek_table(const FrameMap& map) {
  constexpr uint32_t kSkippable = 0x184D2A5E;
  constexpr uint32_t kSeekable = 0x8F92EAB1;
  constexpr size_t kEntryBytes = 8;
  constexpr size_t kFooterBytes = 9;
  const auto frames = static_cast<uint32_t>(map.frames().size());
  std::string out;
  append_le(out, kSkippable);
  append_le(out, static_cast<uint32_t>(frames * kEntryBytes + kFooterBytes));
  for (const Frame& frame : map.frames()) {
    append_le(out, static_cast<uint32_t>(frame.encoded_size));
    append_le(out, static_cast<uint32_t>(frame.decoded_size));
  }
  append_le(out, frames);
  append_le(out, uint8_t{0});  // no checksums here: each frame has its own
  append_le(out, kSeekable);
  return out;
}

std::string gzip_begin() {
  // Deflate, no flags, no time, no hints, an unknown system.
  return {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, '\xff'};
}

std::string gzip_end(uint32_t crc32, uint64_t decoded_bytes) {
  std::string out{3, 0};  // an empty last block
  append_le(out, crc32);
  append_le(out, static_cast<uint32_t>(decoded_bytes));
  return out;
}

uint32_t crc32_of(ByteView bytes, uint32_t before) {
  return libdeflate_crc32(before, bytes.data(), bytes.size());
}

}  // namespace headrace
