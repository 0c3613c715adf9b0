// Affine pictures: turned, sheared, scaled, moved; the picture keeps its size.
//
// Follows torchvision v2 on tensors: the matrix of its `affine`, sampled at the centres of pixels;
// nearest rounds half to even, bilinear blends with the fill at the edge.
#pragma once

#include <array>

#include "codec/picture.h"
#include "codec/pixel_draws.h"
#include "codec/scratch.h"

namespace headrace {

/// From a place in the result to one in the source, both from the picture's centre:
/// (x, y) -> (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]).
std::array<double, 6> inverse_matrix(const Affine& affine, Size picture);

/// The other way round.
std::array<double, 6> forward_matrix(const Affine& affine, Size picture);

/// The picture after the transform; it lies in `into`.
Picture warped(const Picture& from, const Affine& affine, ReusedBuffer& into);

}  // namespace headrace
