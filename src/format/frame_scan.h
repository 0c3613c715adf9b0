// Looks through a compressed archive once, front to back, for the frames that it consists of.
//
// Everything is decompressed, so damage is found and checksums inside are checked. Neither seek
// tables nor sizes that headers claim are believed. An lz4 frame of more than kWholeLz4Frame bytes
// is cut at its blocks if these are independent.
//
// Errors: Code::kCorrupt with a byte offset; Code::kUsage for a frame above kLargestFrame, which
// can only be read from its beginning. Thread-safety: pure; `read` is called from the calling
// thread, with rising offsets but for lz4 frames that are cut.
#pragma once

#include "format/frame_map.h"
#include "format/tar_walk.h"
#include "headrace/result.h"

namespace headrace {

inline constexpr uint64_t kWholeLz4Frame = uint64_t{8} << 20;

/// `encoding`: kGzip, kLz4 or kZstd.
Result<FrameMap> scan_frames(Encoding encoding, uint64_t object_size, const ReadAt& read);

}  // namespace headrace
