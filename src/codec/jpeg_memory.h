// libjpeg's memory manager over an Arena: what one picture took serves the next, which therefore
// costs no allocation. The library's own manager frees everything after each picture.
#pragma once

// jpeglib.h needs size_t and FILE from here.
#include <cstddef>
#include <cstdio>
// clang-format off
#include <jpeglib.h>
// clang-format on

#include "codec/arena.h"

namespace headrace {

/// A codec that uses it is given its own manager back before it is destroyed.
class JpegMemory : private jpeg_memory_mgr {
 public:
  JpegMemory();

  jpeg_memory_mgr* manager() { return this; }

  /// Takes back all that the codec was given, of whatever pool.
  void clear() { arena_.clear(); }

 private:
  // What libjpeg calls. Where there is no memory they leave by the codec's error_exit.
  static void* take(j_common_ptr codec, int, size_t size);
  static JSAMPARRAY take_samples(j_common_ptr codec, int, JDIMENSION width, JDIMENSION lines);
  static JBLOCKARRAY take_blocks(j_common_ptr codec, int, JDIMENSION width, JDIMENSION lines);
  static jvirt_sarray_ptr refuse_whole_samples(j_common_ptr codec, int, boolean, JDIMENSION,
                                               JDIMENSION, JDIMENSION);
  static jvirt_barray_ptr take_whole(j_common_ptr codec, int, boolean zero, JDIMENSION width,
                                     JDIMENSION lines, JDIMENSION);
  static JBLOCKARRAY part_of(j_common_ptr codec, jvirt_barray_ptr whole, JDIMENSION first,
                             JDIMENSION lines, boolean);

  Arena arena_;
};

}  // namespace headrace
