// Packs and unpacks single frames, whole: what compressed archives consist of.
//
// Compressing is deterministic: a fixed level, no time, no name. frame_codec() names the library's
// version, for another one may give other bytes.
// Thread-safety: may be called from any thread; each keeps its own working memory.
#pragma once

#include <string>

#include "format/frame_map.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// Fills `decoded` (frame.decoded_size bytes) from `encoded` (frame.encoded_size), in any encoding
/// but kRowGroup, which needs more than its bytes (parquet/rows.h). Checksums inside
/// the frame, and its `crc32` if it is known, are checked. Errors: Code::kCorrupt, at the frame's
/// offset in the object.
Status decode_frame(const Frame& frame, ByteView encoded, MutableBytes decoded);

/// One frame of `bytes`, in kDeflate, kDeflatePart, kGzip, kLz4 or kZstd. Precondition: at least a
/// byte, at most kLargestFrame.
std::string encode_frame(Encoding encoding, ByteView bytes);

/// As "zstd 1.5.4, level 3": what the bytes of encode_frame depend on.
std::string frame_codec(Encoding encoding);

/// What follows the frames of a tar.zst: the seek table of zstd's seekable format, which other
/// readers find frames by (a skippable frame; plain decompressors pass over it).
std::string zstd_seek_table(const FrameMap& map);

/// What makes one gzip member of kDeflatePart frames: in front of them, and behind them. One
/// member, because Python's tarfile reads no further in a stream.
std::string gzip_begin();
std::string gzip_end(uint32_t crc32, uint64_t decoded_bytes);

/// Of `bytes` behind others whose CRC-32 is `before`.
uint32_t crc32_of(ByteView bytes, uint32_t before = 0);

}  // namespace headrace
