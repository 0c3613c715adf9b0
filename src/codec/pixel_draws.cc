#include "codec/pixel_draws.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace headrace {
namespace {

using What = Adjust::What;

bool happens(double p, CounterRng& random) { return random.uniform() < p; }

/// The fourteen operations that RandAugment and TrivialAugmentWide draw from.
enum class Augmentation : uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  saturation,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize,
};
constexpr uint64_t kAugmentations = 14;

/// The largest magnitude of each.
struct Strengths {
  double shear;
  double move_x;
  double move_y;
  double degrees;
  double factor;
  double bits;  ///< that posterize takes away
};

/// One operation at `share` (0 to 1) of its largest magnitude, to either side where it has two.
void augment(Augmentation op, double share, const Strengths& most, Interpolation filter,
             const Fill& fill, CounterRng& random, PixelActions& out) {
  const bool has_sides = op >= Augmentation::shear_x && op <= Augmentation::sharpness;
  const double side = has_sides && random.uniform() < 0.5 ? -1 : 1;
  Affine affine{.filter = filter, .fill = fill};
  const auto shear = [&] {
    affine.around_corner = true;
    return std::atan(side * share * most.shear) * 180 / std::numbers::pi;
  };
  const double factor = 1 + side * share * most.factor;
  switch (op) {
    case Augmentation::identity:
      return;
    case Augmentation::shear_x:
      affine.shear_x = shear();
      return out.add(affine);
    case Augmentation::shear_y:
      affine.shear_y = shear();
      return out.add(affine);
    case Augmentation::translate_x:
      affine.move_x = std::trunc(side * share * most.move_x);
      return out.add(affine);
    case Augmentation::translate_y:
      affine.move_y = std::trunc(side * share * most.move_y);
      return out.add(affine);
    case Augmentation::rotate:
      affine.degrees = -side * share * most.degrees;
      return out.add(affine);
    case Augmentation::brightness:
      return out.add(Adjustment{What::brightness, factor});
    case Augmentation::saturation:
      return out.add(Adjustment{What::saturation, factor});
    case Augmentation::contrast:
      return out.add(Adjustment{What::contrast, factor});
    case Augmentation::sharpness:
      return out.add(Adjustment{What::sharpness, factor});
    case Augmentation::posterize:
      return out.add(Adjustment{What::posterize, std::nearbyint(8 - share * most.bits)});
    case Augmentation::solarize:
      return out.add(Adjustment{What::solarize, 255 * (1 - share)});
    case Augmentation::autocontrast:
      return out.add(Adjustment{What::autocontrast, 0});
    case Augmentation::equalize:
      return out.add(Adjustment{What::equalize, 0});
  }
}

}  // namespace

PixelActions draw(const RandomAffine& op, Size picture, CounterRng random) {
  PixelActions out;
  if (!happens(op.p, random)) return out;
  const auto move = [&](double share, int side) {
    return std::nearbyint(random.uniform(-share * side, share * side));
  };
  Affine affine{.filter = op.filter, .fill = op.fill};
  affine.degrees = random.uniform(op.degrees[0], op.degrees[1]);
  affine.move_x = move(op.translate[0], picture.width);
  affine.move_y = move(op.translate[1], picture.height);
  affine.scale = random.uniform(op.scale[0], op.scale[1]);
  affine.shear_x = random.uniform(op.shear[0], op.shear[1]);
  affine.shear_y = random.uniform(op.shear[2], op.shear[3]);
  out.add(affine);
  return out;
}

PixelActions draw(const Adjust& op, Size, CounterRng random) {
  PixelActions out;
  if (happens(op.p, random)) out.add(Adjustment{op.what, op.value});
  return out;
}

PixelActions draw(const ColorJitter& op, Size, CounterRng random) {
  PixelActions out;
  if (!happens(op.p, random)) return out;
  std::array<std::pair<What, ColorJitter::Range>, 4> parts = {{{What::brightness, op.brightness},
                                                               {What::contrast, op.contrast},
                                                               {What::saturation, op.saturation},
                                                               {What::hue, op.hue}}};
  for (size_t left = parts.size(); left > 1; --left)
    std::swap(parts[left - 1], parts[random.below(left)]);
  for (const auto& [what, range] : parts)
    if (range) out.add(Adjustment{what, random.uniform((*range)[0], (*range)[1])});
  return out;
}

PixelActions draw(const GaussianBlur& op, Size, CounterRng random) {
  PixelActions out;
  if (!happens(op.p, random)) return out;
  out.add(Blur{op.kernel_width, op.kernel_height, random.uniform(op.sigma[0], op.sigma[1])});
  return out;
}

PixelActions draw(const RandAugment& op, Size picture, CounterRng random) {
  const Strengths most{.shear = 0.3,
                       .move_x = 150.0 / 331.0 * picture.width,
                       .move_y = 150.0 / 331.0 * picture.height,
                       .degrees = 30,
                       .factor = 0.9,
                       .bits = 4};
  const double share = static_cast<double>(op.magnitude) / (op.magnitudes - 1);
  PixelActions out;
  for (int i = 0; i < op.operations; ++i)
    augment(static_cast<Augmentation>(random.below(kAugmentations)), share, most, op.filter,
            op.fill, random, out);
  return out;
}

PixelActions draw(const TrivialAugmentWide& op, Size, CounterRng random) {
  const Strengths most{
      .shear = 0.99, .move_x = 32, .move_y = 32, .degrees = 135, .factor = 0.99, .bits = 6};
  const auto augmentation = static_cast<Augmentation>(random.below(kAugmentations));
  const auto magnitude = random.below(static_cast<uint64_t>(op.magnitudes));
  PixelActions out;
  augment(augmentation, static_cast<double>(magnitude) / (op.magnitudes - 1), most, op.filter,
          op.fill, random, out);
  return out;
}

const char* adjust_name(Adjust::What what) {
  constexpr std::array<const char*, 11> kNames = {
      "brightness", "contrast",     "saturation", "hue",    "sharpness", "posterize",
      "solarize",   "autocontrast", "equalize",   "invert", "grayscale"};
  return kNames[static_cast<size_t>(what)];
}

}  // namespace headrace
