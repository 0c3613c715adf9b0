#include "codec/geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/counter_rng.h"
#include "base/try.h"

namespace headrace {
namespace {

/// Half to even, as Python rounds, whose torchvision is followed here.
int round_even(double value) { return static_cast<int>(std::nearbyint(value)); }

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

/// Top or left edge of a centred cut: negative where the picture is smaller.
int centre(int picture, int wanted) {
  return wanted > picture ? -((wanted - picture) / 2) : round_even((picture - wanted) / 2.0);
}

class Planner {
 public:
  Planner(Size picture, const RowKey& key) : key_(key) { plan_.size = picture; }

  Status apply(const ImageOp& op, uint64_t number) {
    return std::visit(
        Overloaded{
            [&](const Resize& resize) { return scale(whole(), resized(resize, plan_.size)); },
            [&](const CenterCrop& crop) {
              return cut({centre(plan_.size.height, crop.height),
                          centre(plan_.size.width, crop.width), crop.height, crop.width});
            },
            [&](const RandomCrop& crop) { return random_crop(crop, number); },
            [&](const RandomResizedCrop& crop) {
              return scale(random_resized_box(crop, plan_.size, key_, number),
                           {crop.height, crop.width});
            },
            [&](const HorizontalFlip& flip) {
              if (rng(number).uniform() < flip.p) plan_.mirror = !plan_.mirror;
              return Status();
            },
            [&](const Normalize&) { return Status(); },
        },
        op);
  }

  const Geometry& plan() const { return plan_; }

 private:
  CounterRng rng(uint64_t number) const {
    return CounterRng(key_.seed, key_.epoch, key_.position, number);
  }

  Box whole() const { return {0, 0, plan_.size.height, plan_.size.width}; }

  Status random_crop(const RandomCrop& crop, uint64_t number) {
    const int down = plan_.size.height - crop.height;
    const int right = plan_.size.width - crop.width;
    if (down < 0 || right < 0)
      return Error{
          Code::kCorrupt,
          "the picture is smaller than the random crop: " + std::to_string(plan_.size.height) +
              " x " + std::to_string(plan_.size.width) + " (height x width), wanted " +
              std::to_string(crop.height) + " x " + std::to_string(crop.width),
          {},
          "resize before the crop"};
    CounterRng random = rng(number);
    const auto top = static_cast<int>(random.below(static_cast<uint64_t>(down) + 1));
    const auto left = static_cast<int>(random.below(static_cast<uint64_t>(right) + 1));
    return cut({top, left, crop.height, crop.width});
  }

  Status cut(Box box) { return scale(box, box.size()); }

  Status scale(Box box, Size out) {
    if (plan_.mirror) box.left = plan_.size.width - box.left - box.width;
    const Size before = plan_.size;
    plan_.size = out;
    if (box == Box{0, 0, before.height, before.width} && out == before) return Status();
    if (folds(box, before)) {
      Step& last = plan_.steps[plan_.count - 1];
      last.box = {last.box.top + box.top, last.box.left + box.left, box.height, box.width};
      last.out = out;
      return Status();
    }
    plan_.steps[plan_.count++] = {box, out};
    reaches_over_ = !box.inside(before);
    return Status();
  }

  /// The last step only cut, and this one stays inside of what it left: both are one step.
  bool folds(const Box& box, Size before) const {
    if (plan_.count == 0 || !box.inside(before)) return false;
    const Step& last = plan_.steps[plan_.count - 1];
    return last.box.size() == last.out && !reaches_over_;
  }

  Geometry plan_;
  RowKey key_;
  bool reaches_over_ = false;  ///< the last step takes zeros from over the edge
};

}  // namespace

Size resized(const Resize& resize, Size from) {
  if (resize.by == Resize::By::exact) return {resize.height, resize.width};
  const bool flat = from.width > from.height;
  const int64_t shorter = flat ? from.height : from.width;
  const int64_t longer = flat ? from.width : from.height;
  const int64_t wanted = resize.height;
  if (resize.by == Resize::By::shorter) {
    const auto other = static_cast<int>(
        std::min<int64_t>(wanted * longer / shorter, std::numeric_limits<int>::max()));
    return flat ? Size{resize.height, other} : Size{other, resize.height};
  }
  const auto other = static_cast<int>(std::max<int64_t>(1, wanted * shorter / longer));
  return flat ? Size{other, resize.height} : Size{resize.height, other};
}

std::optional<Size> fixed_size(const std::vector<ImageOp>& ops) {
  std::optional<Size> size;
  for (const ImageOp& op : ops) {
    std::visit(Overloaded{
                   [&](const Resize& resize) {
                     if (size || resize.by == Resize::By::exact)
                       size = resized(resize, size.value_or(Size{1, 1}));
                   },
                   [&](const HorizontalFlip&) {},
                   [&](const Normalize&) {},
                   [&](const auto& crop) {
                     size = Size{crop.height, crop.width};
                   },
               },
               op);
  }
  return size;
}

Box random_resized_box(const RandomResizedCrop& crop, Size picture, const RowKey& key,
                       uint64_t op) {
  constexpr int kTries = 10;
  CounterRng random(key.seed, key.epoch, key.position, op);
  const double area = static_cast<double>(picture.height) * picture.width;
  const double log_low = std::log(crop.ratio[0]);
  const double log_high = std::log(crop.ratio[1]);
  for (int i = 0; i < kTries; ++i) {
    const double target = area * random.uniform(crop.scale[0], crop.scale[1]);
    const double ratio = std::exp(random.uniform(log_low, log_high));
    const double width = std::nearbyint(std::sqrt(target * ratio));
    const double height = std::nearbyint(std::sqrt(target / ratio));
    if (width < 1 || height < 1 || width > picture.width || height > picture.height) continue;
    Box box{0, 0, static_cast<int>(height), static_cast<int>(width)};
    box.top =
        static_cast<int>(random.below(static_cast<uint64_t>(picture.height - box.height) + 1));
    box.left = static_cast<int>(random.below(static_cast<uint64_t>(picture.width - box.width) + 1));
    return box;
  }
  // The largest box in the middle whose ratio is allowed.
  const double ratio = static_cast<double>(picture.width) / picture.height;
  Box box{0, 0, picture.height, picture.width};
  if (ratio < crop.ratio[0]) box.height = round_even(picture.width / crop.ratio[0]);
  if (ratio > crop.ratio[1]) box.width = round_even(picture.height * crop.ratio[1]);
  box.height = std::clamp(box.height, 1, picture.height);
  box.width = std::clamp(box.width, 1, picture.width);
  box.top = (picture.height - box.height) / 2;
  box.left = (picture.width - box.width) / 2;
  return box;
}

Result<Geometry> plan_geometry(const std::vector<ImageOp>& ops, Size picture, const RowKey& key) {
  Planner planner(picture, key);
  for (size_t i = 0; i < ops.size(); ++i) HR_CHECK(planner.apply(ops[i], i));
  return planner.plan();
}

}  // namespace headrace
