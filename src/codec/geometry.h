// Where the pixels of a row come from: a recipe's operations and a picture's size, drawn and
// folded into a few steps before a pixel is decoded. Pure functions.
//
// Every operation takes a box of the picture so far and scales it to a size:
//
//      picture so far                 after the step
//   +-------------------+
//   |    +-------+      |  scale     +----+
//   |    |  box  |      | -------->  |    |   `out`
//   |    +-------+      |            +----+
//   +-------------------+
//
// A crop has box = out, a resize has the whole picture as its box, a crop and then a resize fold
// into one step. A box may reach over the edge (zeros there). A mirror is noted and done at the
// very end, boxes that come after it are mirrored instead.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "codec/decoder.h"

namespace headrace {

struct Size {
  int height = 0;
  int width = 0;
  bool operator==(const Size&) const = default;
};

struct Box {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  bool operator==(const Box&) const = default;

  Size size() const { return {height, width}; }
  bool inside(Size picture) const {
    return top >= 0 && left >= 0 && top + height <= picture.height && left + width <= picture.width;
  }
};

/// Operations of one recipe, at most; `make_decoder` checks it.
inline constexpr size_t kMaxImageOps = 16;

struct Step {
  Box box;
  Size out;
};

struct Geometry {
  std::array<Step, kMaxImageOps> steps;
  size_t count = 0;
  Size size;  ///< of the row
  bool mirror = false;
};

/// Draws and folds the steps for a picture of this size.
Result<Geometry> plan_geometry(const std::vector<ImageOp>& ops, Size picture, const RowKey& key);

/// The row's size if it does not depend on the picture.
std::optional<Size> fixed_size(const std::vector<ImageOp>& ops);

/// Height and width after a Resize.
Size resized(const Resize& resize, Size from);

/// torchvision's box: ten tries at a drawn area and aspect ratio that fit, then the middle.
Box random_resized_box(const RandomResizedCrop& crop, Size picture, const RowKey& key, uint64_t op);

}  // namespace headrace
