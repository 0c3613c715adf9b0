// What the operations on pixel values do to one row: everything drawn, as a short list of plain
// actions. Pure functions of the recipe, the picture's size and the row's randomness.
#pragma once

#include <array>
#include <variant>

#include "base/counter_rng.h"
#include "headrace/image_ops.h"

namespace headrace {

struct Size {
  int height = 0;
  int width = 0;
  bool operator==(const Size&) const = default;
};

/// One of Adjust's operations with its value.
struct Adjustment {
  Adjust::What what = Adjust::What::brightness;
  double value = 0;
};

/// Where a picture's pixels move: turned (clockwise), sheared, scaled around the centre, or around
/// the corner of the first pixel, and then moved. Degrees and pixels.
struct Affine {
  double degrees = 0;
  double move_x = 0;
  double move_y = 0;
  double scale = 1;
  double shear_x = 0;
  double shear_y = 0;
  bool around_corner = false;
  Interpolation filter = Interpolation::nearest;
  Fill fill = {};
};

struct Blur {
  int kernel_width = 1;
  int kernel_height = 1;
  double sigma = 1;
};

using PixelAction = std::variant<Adjustment, Affine, Blur>;

/// Actions of one operation, in order.
struct PixelActions {
  static constexpr size_t kMax = 8;
  std::array<PixelAction, kMax> actions;
  size_t count = 0;

  void add(const PixelAction& action) { actions[count++] = action; }
};

PixelActions draw(const RandomAffine& op, Size picture, CounterRng random);
PixelActions draw(const Adjust& op, Size picture, CounterRng random);
PixelActions draw(const ColorJitter& op, Size picture, CounterRng random);
PixelActions draw(const GaussianBlur& op, Size picture, CounterRng random);
PixelActions draw(const RandAugment& op, Size picture, CounterRng random);
PixelActions draw(const TrivialAugmentWide& op, Size picture, CounterRng random);

/// torchvision's name of an operation in lower case: "brightness" …
const char* adjust_name(Adjust::What what);

}  // namespace headrace
