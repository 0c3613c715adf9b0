// Runs the steps of a Geometry on a decoded picture.
#pragma once

#include "codec/geometry.h"
#include "codec/picture.h"
#include "codec/scratch.h"

namespace headrace {

/// An error about a picture, or a step's result, of more pixels than the recipe allows.
Error picture_too_large(uint64_t height, uint64_t width, uint64_t limit);

/// The picture after a step. `picture` holds the part `held` of what the step is made for. The
/// result lies in `picture` itself, or in memory of `buffers` that does not hold it.
/// Code::kCorrupt if it has more pixels than `limit`.
Result<Picture> run_step(const PictureStep& step, uint64_t limit, const Picture& picture,
                         const Box& held, Scratch::Buffers& buffers);

/// The part of the picture that a scale step reads. Precondition: its box is inside.
Box step_source(const PictureStep& step);

}  // namespace headrace
