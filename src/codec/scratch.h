// The memory inside a Scratch: buffers that only ever grow, one for each thing that must live at
// the same time as the others. Belongs to one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/decoder.h"
#include "codec/picture_readers.h"
#include "codec/resample_filter.h"
#include "codec/reused_buffer.h"

namespace headrace {

struct Scratch::Buffers {
  PictureReaders readers;
  ReusedBuffer row;         ///< a dynamic row
  ReusedBuffer decoded;     ///< the picture, or its part, as the file has it
  ReusedBuffer converted;   ///< with the channels of the row
  ReusedBuffer upright;     ///< the picture turned
  ReusedBuffer padded[2];   ///< pictures with pixels around them, where the last one is not
  ReusedBuffer horizontal;  ///< a resize, between its two passes
  ReusedBuffer resized[2];  ///< results of steps, where the last one is not
  std::vector<int64_t> shape;
  Size picture;  ///< the size of the upright picture decoded last, for what goes with it
  std::vector<double> boxes;
  FilterMemory filter_x;
  FilterMemory filter_y;
  std::vector<int32_t> paired_weights;      ///< of filter_x, for vectors
  ReusedBuffer blurred;                     ///< a blur, between its two passes
  std::vector<float> kernel;                ///< of a blur
  std::vector<const float*> blurred_lines;  ///< that the kernel weighs
};

}  // namespace headrace
