// The image data of a PNG, inflated by libdeflate, which takes half of zlib's time. libpng gets it
// as it would get any, but stored, so that zlib has only to copy:
//
//   file        IDAT ..... crc IDAT ..... crc tEXt ... crc IEND crc
//   for libpng  IDAT ..... --- IDAT ................. ---  IEND crc      --- any bytes
//
// What is irregular in any way (a wrong checksum, a chunk that has no place there) is left to
// libpng, which knows what is an error and says so.
// Belongs to one thread.
#pragma once

#include <cstddef>

#include "codec/reused_buffer.h"
#include "headrace/bytes.h"

namespace headrace {

class PngImageData {
 public:
  /// Larger ones would take their size on top of the picture's own.
  static constexpr size_t kLargest = size_t{32} << 20;

  /// What libpng shall read instead of the `file` from `at` on, where the content of the first
  /// IDAT chunk begins; valid until the next call. `raw_bytes`: what all the data inflates to.
  /// Empty: libpng shall read the file itself.
  ByteView stored(ByteView file, size_t at, size_t raw_bytes);

 private:
  bool collect(ByteView chunks);
  bool inflate(MutableBytes raw) const;

  ReusedBuffer deflated_memory_;
  ByteView deflated_;
  ReusedBuffer stored_;
};

}  // namespace headrace
