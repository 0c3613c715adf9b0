// Pictures that lie on their side: the EXIF orientation, and the way between the picture as the
// file has it and the upright one.
//
//      1        2        3        4         5          6          7          8
//   ######   ######        ##   ##       ##########  ##                  ##  ##########
//   ##           ##        ##   ##       ##  ##      ##  ##          ##  ##      ##  ##
//   ####       ####      ####   ####     ##          ##########  ##########          ##
//   ##           ##        ##   ##
//   ##           ##    ######   ######
#pragma once

#include "codec/picture.h"

namespace headrace {

/// The EXIF orientation in a TIFF block, 1 if there is none or the block is damaged: damaged
/// metadata must not lose the sample.
int exif_orientation(ByteView tiff);

/// True for the orientations that exchange width and height.
inline bool lies_on_its_side(int orientation) { return orientation >= 5; }

/// The size of the upright picture.
Size upright_size(Size in_file, int orientation);

/// Where a box of the upright picture lies in the file's picture. `upright`: the picture's size.
Box box_in_file(const Box& box, Size upright, int orientation);

/// The other way round: where a box of the file's picture lies in the upright one.
Box box_upright(const Box& in_file, Size upright, int orientation);

/// The picture turned upright; the result lies in `into`.
Picture turn_upright(const Picture& from, int orientation, ReusedBuffer& into);

}  // namespace headrace
