// Where the pixels of a row come from: a recipe's operations and a picture's size, drawn and
// folded into a few steps before a pixel is decoded. Pure functions.
//
// A `scale` step takes a box of the picture so far and scales it to a size:
//
//      picture so far                 after the step
//   +-------------------+
//   |    +-------+      |  scale     +----+
//   |    |  box  |      | -------->  |    |   `out`
//   |    +-------+      |            +----+
//   +-------------------+
//
// A crop has box = out, a resize has the whole picture as its box. A crop, a resize and another
// crop fold into one step, which computes only the part of the scaled box that is kept. A box may
// reach over the edge: the step's `edge` says what lies there. A `turn` step is one of EXIF's eight
// orientations, a `pixels` step a drawn action on values (or an affine one). A mirror is noted and
// done at the very end where nothing after it minds; boxes that come after it are mirrored instead.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "codec/decoder.h"
#include "codec/pixel_draws.h"

namespace headrace {

struct Box {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  bool operator==(const Box&) const = default;

  Size size() const { return {height, width}; }
  bool inside(Size picture) const { return inside_of({0, 0, picture.height, picture.width}); }
  bool inside_of(const Box& other) const {
    return top >= other.top && left >= other.left && top + height <= other.top + other.height &&
           left + width <= other.left + other.width;
  }
};

/// Operations of one recipe, at most; `make_decoder` checks it.
inline constexpr size_t kMaxImageOps = 16;

/// A part of a picture, whose edges may cut pixels.
struct Region {
  double top = 0;
  double left = 0;
  double height = 0;
  double width = 0;
};

struct PictureStep {
  enum class Kind : uint8_t { scale, turn, pixels };
  Kind kind = Kind::scale;
  Box box;                                         ///< scale: of the picture before
  Size full;                                       ///< scale: what the box becomes
  Box part;                                        ///< scale: the part of that which is kept
  Size out;                                        ///< after the step; scale: the part's size
  Interpolation filter = Interpolation::bilinear;  ///< scale, where box and full differ in size
  Edge edge = Edge::constant;                      ///< scale, where the box reaches over
  Fill fill = {};
  std::optional<Region> inner = {};  ///< scale: what of the box becomes `full`, if not all of it
  int orientation = 1;               ///< turn: EXIF's number, see turn_upright
  PixelAction action;                ///< pixels
};

/// Steps of one row, at most; `make_decoder` checks that a recipe cannot need more.
inline constexpr size_t kMaxPictureSteps = 48;

struct Geometry {
  std::array<PictureStep, kMaxPictureSteps> steps;
  size_t count = 0;
  Size size;  ///< of the picture after the steps
  bool mirror = false;
  /// FiveCrop: boxes of that picture, each of which is a part of the row; else 0 of them.
  std::array<Box, 5> views;
  size_t view_count = 0;
  Box erased;  ///< RandomErasing: of the finished row; of no pixels if there is none
};

/// Draws and folds the steps for a picture of this size. `log`, if asked for, becomes an array of
/// one object an operation: its name and what was drawn for it, as plain numbers.
Result<Geometry> plan_geometry(const std::vector<ImageOp>& ops, Size picture, const RowKey& key,
                               nlohmann::ordered_json* log = nullptr);

/// Steps that an operation needs, at most.
size_t most_steps(const ImageOp& op);

/// The row's size if it does not depend on the picture.
std::optional<Size> fixed_size(const std::vector<ImageOp>& ops);

/// Height and width after a Resize.
Size resized(const Resize& resize, Size from);

/// torchvision's box: ten tries at a drawn area and aspect ratio that fit, then the middle.
Box random_resized_box(const RandomResizedCrop& crop, Size picture, const RowKey& key, uint64_t op);

/// torchvision's box that RandomErasing overwrites; of no pixels if it does not happen.
Box erased_box(const RandomErasing& erasing, Size picture, const RowKey& key, uint64_t op);

}  // namespace headrace
