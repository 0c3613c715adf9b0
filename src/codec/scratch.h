// The memory inside a Scratch: buffers that only ever grow, one for each thing that must live at
// the same time as the others. Belongs to one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/decoder.h"
#include "codec/picture_readers.h"
#include "codec/reused_buffer.h"

namespace headrace {

struct Scratch::Buffers {
  PictureReaders readers;
  ReusedBuffer row;         ///< a dynamic row
  ReusedBuffer decoded;     ///< the picture, or its part, as the file has it
  ReusedBuffer converted;   ///< with the channels of the row
  ReusedBuffer upright;     ///< the picture turned
  ReusedBuffer padded[2];   ///< pictures with zeros around them, in turn
  ReusedBuffer horizontal;  ///< a resize, between its two passes
  ReusedBuffer resized[2];  ///< resizes, in turn
  std::vector<int64_t> shape;
  std::vector<double> exact_weights;
  std::vector<int32_t> weights_x;
  std::vector<int32_t> weights_y;
  std::vector<int> bounds_x;
  std::vector<int> bounds_y;
};

}  // namespace headrace
