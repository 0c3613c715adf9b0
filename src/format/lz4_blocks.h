// The blocks of one lz4 frame, where each can be decoded by itself.
// Format: LZ4 Frame Format Description 1.6.4. Thread-safety: a pure function.
#pragma once

#include "format/frame_map.h"
#include "format/tar_walk.h"
#include "headrace/result.h"

namespace headrace {

/// Appends the blocks of `frame` to `out`; false, and nothing, if they depend on each other.
Result<bool> add_lz4_blocks(const Frame& frame, const ReadAt& read, FrameMap& out);

}  // namespace headrace
