#include "codec/image_recipe.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/try.h"
#include "codec/geometry.h"

namespace headrace {
namespace {

/// Sides of crops and resizes, at most: what the formats themselves can hold.
constexpr int kSideLimit = 65535;

constexpr const char* kProbability = "a probability";

Error wrong(const std::string& what) { return {Code::kUsage, "image recipe: " + what, {}, {}}; }

Status check_sides(int height, int width) {
  if (height >= 1 && height <= kSideLimit && width >= 1 && width <= kSideLimit) return Status();
  return wrong("a side of " + std::to_string(height) + " x " + std::to_string(width) +
               " is not between 1 and " + std::to_string(kSideLimit));
}

Status check_range(const std::array<double, 2>& range, const char* what) {
  if (range[0] > 0 && range[1] >= range[0] && std::isfinite(range[1])) return Status();
  return wrong(std::string(what) + " must be two positive numbers, the smaller one first");
}

Status check_adjustment(Adjust::What what, double value) {
  using What = Adjust::What;
  switch (what) {
    case What::brightness:
    case What::contrast:
    case What::saturation:
    case What::sharpness:
      if (value >= 0 && std::isfinite(value)) return Status();
      return wrong(std::string(adjust_name(what)) + " is a factor of 0 or more");
    case What::hue:
      if (value >= -0.5 && value <= 0.5) return Status();
      return wrong("hue is a share of the circle between -0.5 and 0.5");
    case What::posterize:
      if (value >= 0 && value <= 8) return Status();
      return wrong("posterize keeps 0 to 8 bits");
    case What::solarize:
      if (std::isfinite(value)) return Status();
      return wrong("solarize needs a threshold");
    case What::autocontrast:
    case What::equalize:
    case What::invert:
    case What::grayscale:
      break;
  }
  return Status();
}

Status check_normalize(const Normalize& normalize, Channels channels) {
  const auto count = static_cast<size_t>(wanted_channels(channels, 1));
  for (const auto* values : {&normalize.mean, &normalize.std}) {
    if (values->size() != 1 && values->size() != count)
      return wrong("mean and std need one number, or one for each of " + std::to_string(count) +
                   " channels");
    for (const double value : *values)
      if (!std::isfinite(value)) return wrong("mean and std must be finite numbers");
  }
  if (std::find(normalize.std.begin(), normalize.std.end(), 0.0) != normalize.std.end())
    return wrong("std must not be zero");
  return Status();
}

Status check_share(double value, const char* what) {
  if (value >= 0 && value <= 1) return Status();
  return wrong(std::string(what) + " must be between 0 and 1");
}

Status check_margins(const Margins& margins) {
  for (const int margin : {margins.left, margins.top, margins.right, margins.bottom})
    if (margin < 0 || margin > kSideLimit)
      return wrong("padding must be between 0 and " + std::to_string(kSideLimit));
  return Status();
}

/// The operations that move pixels freely know two ways to make them.
Status check_sampling(Interpolation filter) {
  if (filter == Interpolation::nearest || filter == Interpolation::bilinear) return Status();
  return wrong("affine operations take nearest or bilinear");
}

struct Checker {
  Channels channels;

  Status operator()(const Resize& op) const {
    if (op.max_side != 0 && (op.by != Resize::By::shorter || op.max_side < op.height))
      return wrong("max_size goes with the shorter side and is not smaller");
    return check_sides(op.height, op.by == Resize::By::exact ? op.width : op.height);
  }
  Status operator()(const Pad& op) const { return check_margins(op.margins); }
  Status operator()(const CenterCrop& op) const { return check_sides(op.height, op.width); }
  Status operator()(const FiveCrop& op) const { return check_sides(op.height, op.width); }
  Status operator()(const RandomCrop& op) const {
    HR_CHECK(check_margins(op.padding));
    return check_sides(op.height, op.width);
  }
  Status operator()(const RandomResizedCrop& op) const {
    HR_CHECK(check_sides(op.height, op.width));
    HR_CHECK(check_range(op.scale, "scale"));
    return check_range(op.ratio, "ratio");
  }
  Status operator()(const HorizontalFlip& op) const { return check_share(op.p, kProbability); }
  Status operator()(const VerticalFlip& op) const { return check_share(op.p, kProbability); }
  Status operator()(const QuarterTurns& op) const {
    if (!op.turns || (*op.turns >= 0 && *op.turns <= 3)) return Status();
    return wrong("quarter turns are 0, 1, 2 or 3");
  }
  Status operator()(const RandomAffine& op) const {
    HR_CHECK(check_share(op.p, kProbability));
    HR_CHECK(check_share(op.translate[0], "translate"));
    HR_CHECK(check_share(op.translate[1], "translate"));
    HR_CHECK(check_range(op.scale, "scale"));
    for (const double shear : op.shear)
      if (!(std::abs(shear) < 90)) return wrong("shear must be between -90 and 90 degrees");
    if (!std::isfinite(op.degrees[0]) || !std::isfinite(op.degrees[1]))
      return wrong("degrees must be finite numbers");
    return check_sampling(op.filter);
  }
  Status operator()(const Adjust& op) const {
    HR_CHECK(check_share(op.p, kProbability));
    return check_adjustment(op.what, op.value);
  }
  Status operator()(const ColorJitter& op) const {
    HR_CHECK(check_share(op.p, kProbability));
    using What = Adjust::What;
    for (const auto& [what, range] :
         {std::pair{What::brightness, op.brightness}, std::pair{What::contrast, op.contrast},
          std::pair{What::saturation, op.saturation}, std::pair{What::hue, op.hue}}) {
      if (!range) continue;
      HR_CHECK(check_adjustment(what, (*range)[0]));
      HR_CHECK(check_adjustment(what, (*range)[1]));
      if ((*range)[0] > (*range)[1]) return wrong("a range's smaller number comes first");
    }
    return Status();
  }
  Status operator()(const GaussianBlur& op) const {
    constexpr int kLargest = 1023;
    for (const int side : {op.kernel_width, op.kernel_height})
      if (side < 1 || side > kLargest || side % 2 == 0)
        return wrong("a blur's kernel has odd sides between 1 and " + std::to_string(kLargest));
    HR_CHECK(check_share(op.p, kProbability));
    return check_range(op.sigma, "sigma");
  }
  Status operator()(const RandAugment& op) const {
    if (op.operations < 0 || op.operations > static_cast<int>(PixelActions::kMax))
      return wrong("RandAugment makes 0 to " + std::to_string(PixelActions::kMax) + " operations");
    if (op.magnitudes < 2 || op.magnitude < 0 || op.magnitude >= op.magnitudes)
      return wrong("RandAugment's magnitude must be one of its magnitudes, 2 or more");
    return check_sampling(op.filter);
  }
  Status operator()(const TrivialAugmentWide& op) const {
    if (op.magnitudes < 2) return wrong("TrivialAugmentWide needs 2 or more magnitudes");
    return check_sampling(op.filter);
  }
  Status operator()(const Normalize& op) const { return check_normalize(op, channels); }
  Status operator()(const RandomErasing& op) const {
    HR_CHECK(check_share(op.p, kProbability));
    HR_CHECK(check_share(op.scale[1], "scale"));
    HR_CHECK(check_range(op.scale, "scale"));
    const auto count = static_cast<size_t>(wanted_channels(channels, 1));
    if (op.value.size() != 1 && op.value.size() != count)
      return wrong("erasing needs one value, or one for each of " + std::to_string(count) +
                   " channels");
    return check_range(op.ratio, "ratio");
  }
};

/// Normalize, RandomErasing and what follows five crops have their places.
Status check_order(const std::vector<ImageOp>& ops) {
  // 0: any operation; 1: after FiveCrop; 2: after Normalize; 3: after RandomErasing.
  int stage = 0;
  for (const ImageOp& op : ops) {
    if (std::holds_alternative<RandomErasing>(op)) {
      if (stage == 1 || stage == 3)
        return wrong("random erasing comes once, and not after five crops");
      stage = 3;
    } else if (stage >= 2) {
      return wrong("normalize must be the last operation but for random erasing");
    } else if (std::holds_alternative<Normalize>(op)) {
      stage = 2;
    } else if (stage == 1) {
      return wrong("after five crops there is only normalize");
    } else if (std::holds_alternative<FiveCrop>(op)) {
      stage = 1;
    }
  }
  return Status();
}

bool is_pixel_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

const Normalize* normalize_of(const ImageSpec& spec) {
  for (const ImageOp& op : spec.ops)
    if (const auto* normalize = std::get_if<Normalize>(&op)) return normalize;
  return nullptr;
}

}  // namespace

Status check_image_recipe(const ImageSpec& spec) {
  if (spec.ops.size() > kMaxImageOps)
    return wrong("more than " + std::to_string(kMaxImageOps) + " operations");
  size_t steps = 0;
  for (const ImageOp& op : spec.ops) {
    HR_CHECK(std::visit(Checker{spec.channels}, op));
    steps += most_steps(op);
  }
  if (steps > kMaxPictureSteps) return wrong("too many operations");
  HR_CHECK(check_order(spec.ops));
  const bool floats = is_pixel_float(spec.dtype);
  if (spec.dtype != DType::u8 && !floats)
    return wrong(std::string("rows of ") + dtype_name(spec.dtype) +
                 "; uint8, float16, bfloat16 and float32 are there");
  if (spec.unit_range && !floats) return wrong("values from 0 to 1 need a type of floats");
  return Status();
}

DType image_row_dtype(const ImageSpec& spec) {
  const bool floats = normalize_of(spec) != nullptr && !is_pixel_float(spec.dtype);
  return floats ? DType::f32 : spec.dtype;
}

RowShape image_row_shape(const ImageSpec& spec) {
  RowShape shape;
  shape.kind = RowShape::Kind::kDynamic;
  shape.dtype = image_row_dtype(spec);
  const bool has_views = std::any_of(spec.ops.begin(), spec.ops.end(), [](const ImageOp& op) {
    return std::holds_alternative<FiveCrop>(op);
  });
  shape.ndim = has_views ? 4 : 3;
  const auto size = fixed_size(spec.ops);
  if (!size || spec.channels == Channels::unchanged) return shape;
  shape.kind = RowShape::Kind::kFixed;
  const int64_t channels = wanted_channels(spec.channels, 0);
  if (spec.layout == Layout::chw) {
    shape.shape = {channels, size->height, size->width};
  } else {
    shape.shape = {size->height, size->width, channels};
  }
  constexpr int64_t kViews = 5;
  if (has_views) shape.shape.insert(shape.shape.begin(), kViews);
  return shape;
}

PixelScale image_pixel_scale(const ImageSpec& spec) {
  if (const Normalize* normalize = normalize_of(spec)) return PixelScale::normalized(*normalize);
  return spec.unit_range ? PixelScale::unit_range() : PixelScale::plain();
}

}  // namespace headrace
