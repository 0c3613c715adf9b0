#include "codec/image_recipe.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/try.h"
#include "codec/geometry.h"

namespace headrace {
namespace {

/// Sides of crops and resizes, at most: what the formats themselves can hold.
constexpr int kSideLimit = 65535;

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

Status check_op(const ImageOp& op, bool last, Channels channels) {
  if (const auto* resize = std::get_if<Resize>(&op))
    return check_sides(resize->height,
                       resize->by == Resize::By::exact ? resize->width : resize->height);
  if (const auto* crop = std::get_if<CenterCrop>(&op))
    return check_sides(crop->height, crop->width);
  if (const auto* crop = std::get_if<RandomCrop>(&op))
    return check_sides(crop->height, crop->width);
  if (const auto* crop = std::get_if<RandomResizedCrop>(&op)) {
    HR_CHECK(check_sides(crop->height, crop->width));
    HR_CHECK(check_range(crop->scale, "scale"));
    return check_range(crop->ratio, "ratio");
  }
  if (const auto* flip = std::get_if<HorizontalFlip>(&op)) {
    if (flip->p >= 0 && flip->p <= 1) return Status();
    return wrong("the probability of a flip must be between 0 and 1");
  }
  if (!last) return wrong("normalize must be the last operation");
  return check_normalize(std::get<Normalize>(op), channels);
}

const Normalize* normalize_of(const ImageSpec& spec) {
  return spec.ops.empty() ? nullptr : std::get_if<Normalize>(&spec.ops.back());
}

}  // namespace

Status check_image_recipe(const ImageSpec& spec) {
  if (spec.ops.size() > kMaxImageOps)
    return wrong("more than " + std::to_string(kMaxImageOps) + " operations");
  for (size_t i = 0; i < spec.ops.size(); ++i)
    HR_CHECK(check_op(spec.ops[i], i + 1 == spec.ops.size(), spec.channels));
  if (spec.dtype != DType::u8 && spec.dtype != DType::f32)
    return wrong(std::string("rows of ") + dtype_name(spec.dtype) +
                 "; uint8 and float32 are there");
  if (spec.unit_range && spec.dtype != DType::f32) return wrong("values from 0 to 1 need float32");
  return Status();
}

DType image_row_dtype(const ImageSpec& spec) {
  return normalize_of(spec) != nullptr ? DType::f32 : spec.dtype;
}

RowShape image_row_shape(const ImageSpec& spec) {
  RowShape shape;
  shape.kind = RowShape::Kind::kDynamic;
  shape.dtype = image_row_dtype(spec);
  shape.ndim = 3;
  const auto size = fixed_size(spec.ops);
  if (!size || spec.channels == Channels::unchanged) return shape;
  shape.kind = RowShape::Kind::kFixed;
  const int64_t channels = wanted_channels(spec.channels, 0);
  if (spec.layout == Layout::chw) {
    shape.shape = {channels, size->height, size->width};
  } else {
    shape.shape = {size->height, size->width, channels};
  }
  return shape;
}

ValueTables image_value_tables(const ImageSpec& spec) {
  if (const Normalize* normalize = normalize_of(spec)) return ValueTables::normalized(*normalize);
  return spec.unit_range ? ValueTables::unit_range() : ValueTables::plain();
}

}  // namespace headrace
