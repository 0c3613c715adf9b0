// Decompresses an archive front to back: bytes in, bytes out, and where frames end.
//
// Thread-safety: one object belongs to one thread. Memory: the window of the stream, at most
// 128 MiB; a zstd stream that wants more is refused.
#pragma once

#include <memory>

#include "format/frame_map.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

class Unpacker {
 public:
  struct Step {
    size_t taken = 0;         ///< of the input
    size_t made = 0;          ///< of the output
    bool ends_frame = false;  ///< what comes next can be decoded by itself
  };

  virtual ~Unpacker() = default;

  /// kGzip, kLz4 or kZstd.
  static std::unique_ptr<Unpacker> make(Encoding encoding);

  /// Goes on. A step that takes and makes nothing wants more input or more room. Errors:
  /// Code::kCorrupt, without a place: the caller knows where `in` lies. Do not call again then.
  virtual Result<Step> step(ByteView in, MutableBytes out) = 0;
  /// Whether the input may end here: nothing of a frame has been read.
  virtual bool is_between_frames() const = 0;
};

}  // namespace headrace
