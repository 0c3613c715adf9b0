#include "codec/geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/counter_rng.h"
#include "base/try.h"

namespace headrace {
namespace {

/// Half to even, as Python rounds, whose torchvision is followed here.
int round_even(double value) { return static_cast<int>(std::nearbyint(value)); }

using Json = nlohmann::ordered_json;

Json numbers(const Box& box) { return {box.top, box.left, box.height, box.width}; }

Json described(const PixelAction& action) {
  if (const auto* adjust = std::get_if<Adjustment>(&action))
    return {{"do", adjust_name(adjust->what)}, {"value", adjust->value}};
  if (const auto* blur = std::get_if<Blur>(&action))
    return {{"do", "blur"}, {"sigma", blur->sigma}};
  const auto& affine = std::get<Affine>(action);
  return {{"do", "affine"},
          {"degrees", affine.degrees},
          {"translate", {affine.move_x, affine.move_y}},
          {"scale", affine.scale},
          {"shear", {affine.shear_x, affine.shear_y}}};
}

const char* op_name(const RandomAffine&) { return "random_affine"; }
const char* op_name(const Adjust& op) { return adjust_name(op.what); }
const char* op_name(const ColorJitter&) { return "color_jitter"; }
const char* op_name(const GaussianBlur&) { return "gaussian_blur"; }
const char* op_name(const RandAugment&) { return "rand_augment"; }
const char* op_name(const TrivialAugmentWide&) { return "trivial_augment_wide"; }

using MaybeSize = std::optional<Size>;

/// The size after an operation, if it is known: most leave it as it was.
template <typename Op>
MaybeSize size_after(const Op&, MaybeSize size) {
  return size;
}
MaybeSize size_after(const Resize& resize, MaybeSize size) {
  if (!size && resize.by != Resize::By::exact) return size;
  return resized(resize, size.value_or(Size{1, 1}));
}
MaybeSize size_after(const Pad& pad, MaybeSize size) {
  if (!size) return size;
  return Size{size->height + pad.margins.top + pad.margins.bottom,
              size->width + pad.margins.left + pad.margins.right};
}
MaybeSize size_after(const CenterCrop& crop, MaybeSize) { return Size{crop.height, crop.width}; }
MaybeSize size_after(const RandomCrop& crop, MaybeSize) { return Size{crop.height, crop.width}; }
MaybeSize size_after(const FiveCrop& crop, MaybeSize) { return Size{crop.height, crop.width}; }
MaybeSize size_after(const RandomResizedCrop& crop, MaybeSize) {
  return Size{crop.height, crop.width};
}
MaybeSize size_after(const QuarterTurns& op, MaybeSize size) {
  if (!size || size->height == size->width || op.turns == 0 || op.turns == 2) return size;
  if (!op.turns) return std::nullopt;
  return Size{size->width, size->height};
}

/// Top or left edge of a centred cut: negative where the picture is smaller.
int centre(int picture, int wanted) {
  return wanted > picture ? -((wanted - picture) / 2) : round_even((picture - wanted) / 2.0);
}

Error too_small(const char* crop, Size picture, Size wanted) {
  return {Code::kCorrupt,
          std::string("the picture is smaller than the ") + crop + ": " +
              std::to_string(picture.height) + " x " + std::to_string(picture.width) +
              " (height x width), wanted " + std::to_string(wanted.height) + " x " +
              std::to_string(wanted.width),
          {},
          "resize before the crop"};
}

/// How the pixels over the edge are made.
struct Outside {
  Edge edge = Edge::constant;
  Fill fill = {};
};

class Planner {
 public:
  Planner(Size picture, const RowKey& key, Json* log) : key_(key), log_(log) {
    plan_.size = picture;
  }

  Status apply(const ImageOp& op, uint64_t number) {
    number_ = number;
    return std::visit([&](const auto& one) { return add(one); }, op);
  }

  const Geometry& plan() const { return plan_; }

 private:
  CounterRng rng() const { return CounterRng(key_.seed, key_.epoch, key_.position, number_); }
  Box whole() const { return {0, 0, plan_.size.height, plan_.size.width}; }

  Status add(const Resize& resize) {
    const Size out = resized(resize, plan_.size);
    note("resize", [&]() -> Json { return {{"size", {out.height, out.width}}}; });
    return scale(whole(), out, resize.filter);
  }

  Status add(const Pad& pad) {
    const Margins& m = pad.margins;
    note("pad", [] { return Json::object(); });
    return cut({-m.top, -m.left, plan_.size.height + m.top + m.bottom,
                plan_.size.width + m.left + m.right},
               {pad.edge, pad.fill});
  }

  Status add(const CenterCrop& crop) {
    const Box box{centre(plan_.size.height, crop.height), centre(plan_.size.width, crop.width),
                  crop.height, crop.width};
    note("center_crop", [&]() -> Json { return {{"box", numbers(box)}}; });
    return cut(box);
  }

  Status add(const RandomCrop& crop) {
    Margins around = crop.padding;
    Size padded{plan_.size.height + around.top + around.bottom,
                plan_.size.width + around.left + around.right};
    // Each side by all that is missing, as torchvision does.
    if (const int down = crop.height - padded.height; crop.pad_if_needed && down > 0) {
      around.top += down;
      padded.height += 2 * down;
    }
    if (const int right = crop.width - padded.width; crop.pad_if_needed && right > 0) {
      around.left += right;
      padded.width += 2 * right;
    }
    const int down = padded.height - crop.height;
    const int right = padded.width - crop.width;
    if (down < 0 || right < 0) return too_small("random crop", padded, {crop.height, crop.width});
    CounterRng random = rng();
    const auto top = static_cast<int>(random.below(static_cast<uint64_t>(down) + 1));
    const auto left = static_cast<int>(random.below(static_cast<uint64_t>(right) + 1));
    const Box box{top - around.top, left - around.left, crop.height, crop.width};
    note("random_crop", [&]() -> Json { return {{"box", numbers(box)}}; });
    return cut(box, {crop.edge, crop.fill});
  }

  Status add(const FiveCrop& crop) {
    const Size out{crop.height, crop.width};
    const int down = plan_.size.height - crop.height;
    const int right = plan_.size.width - crop.width;
    if (down < 0 || right < 0) return too_small("five crops", plan_.size, out);
    const auto view = [&](int top, int left) { return Box{top, left, crop.height, crop.width}; };
    plan_.views = {
        view(0, 0), view(0, right), view(down, 0), view(down, right),
        view(centre(plan_.size.height, crop.height), centre(plan_.size.width, crop.width))};
    plan_.view_count = plan_.views.size();
    if (plan_.mirror)
      for (Box& box : plan_.views) box = mirrored(box);
    note("five_crop", [] { return Json::object(); });
    return Status();
  }

  Status add(const RandomResizedCrop& crop) {
    const Box box = random_resized_box(crop, plan_.size, key_, number_);
    note("random_resized_crop", [&]() -> Json { return {{"box", numbers(box)}}; });
    return scale(box, {crop.height, crop.width}, crop.filter);
  }

  Status add(const HorizontalFlip& flip) {
    const bool flips = rng().uniform() < flip.p;
    note("flip", [&]() -> Json { return {{"flipped", flips}}; });
    if (flips) plan_.mirror = !plan_.mirror;
    return Status();
  }

  Status add(const VerticalFlip& flip) {
    constexpr int kUpsideDown = 4;
    const bool flips = rng().uniform() < flip.p;
    note("vertical_flip", [&]() -> Json { return {{"flipped", flips}}; });
    if (flips) turn(kUpsideDown);
    return Status();
  }

  Status add(const QuarterTurns& op) {
    // EXIF's orientations that say how the file is turned, by the turns that set it right.
    constexpr std::array<int, 4> kOrientations = {1, 8, 3, 6};
    const int turns = op.turns ? *op.turns : static_cast<int>(rng().below(4));
    note("rotate90", [&]() -> Json { return {{"turns", turns}}; });
    if (turns == 0) return Status();
    put_mirror_down();
    turn(kOrientations[static_cast<size_t>(turns)]);
    return Status();
  }

  Status add(const Normalize&) { return Status(); }

  Status add(const RandomErasing& erasing) {
    plan_.erased = erased_box(erasing, plan_.size, key_, number_);
    note("random_erasing", [&]() -> Json { return {{"box", numbers(plan_.erased)}}; });
    return Status();
  }

  /// The operations on pixels.
  template <typename Op>
  Status add(const Op& op) {
    const PixelActions drawn = draw(op, plan_.size, rng());
    for (size_t i = 0; i < drawn.count; ++i) {
      // Turned, sheared and moved after the mirror is not the same as before it.
      if (std::holds_alternative<Affine>(drawn.actions[i])) put_mirror_down();
      PictureStep step;
      step.kind = PictureStep::Kind::pixels;
      step.out = plan_.size;
      step.action = drawn.actions[i];
      push(step);
    }
    note(op_name(op), [&]() -> Json {
      Json actions = Json::array();
      for (size_t i = 0; i < drawn.count; ++i) actions.push_back(described(drawn.actions[i]));
      return {{"actions", std::move(actions)}};
    });
    return Status();
  }

  /// `drawn` says what was drawn; it is asked only where a log is kept.
  template <typename Drawn>
  void note(const char* name, const Drawn& drawn) {
    if (log_ == nullptr) return;
    Json entry = {{"op", name}};
    entry.update(drawn());
    log_->push_back(std::move(entry));
  }

  Box mirrored(Box box) const {
    box.left = plan_.size.width - box.left - box.width;
    return box;
  }

  void push(const PictureStep& step) { plan_.steps[plan_.count++] = step; }

  void turn(int orientation) {
    PictureStep step;
    step.kind = PictureStep::Kind::turn;
    step.orientation = orientation;
    if (orientation >= 5) std::swap(plan_.size.height, plan_.size.width);
    step.out = plan_.size;
    push(step);
  }

  void put_mirror_down() {
    constexpr int kMirrored = 2;
    if (!plan_.mirror) return;
    plan_.mirror = false;
    turn(kMirrored);
  }

  Status cut(Box box, Outside outside = {}) {
    return scale(box, box.size(), Interpolation::bilinear, outside);
  }

  Status scale(Box box, Size out, Interpolation filter, Outside outside = {}) {
    const Size before = plan_.size;
    if (out == before && box == whole()) return Status();
    // Filters round to one side, so a mirror must come before them if it was asked for before.
    if (out != box.size()) put_mirror_down();
    if (plan_.mirror) box = mirrored(box);
    plan_.size = out;
    if (box.inside(before) && fold(box, out, filter)) return Status();
    PictureStep step;
    step.box = box;
    step.full = out;
    step.part = {0, 0, out.height, out.width};
    step.out = out;
    step.filter = filter;
    step.edge = outside.edge;
    step.fill = outside.fill;
    push(step);
    reaches_over_ = !box.inside(before);
    return Status();
  }

  /// Makes a cut, or a resize after a cut, a part of the last step if that was a cut or a resize.
  bool fold(const Box& box, Size out, Interpolation filter) {
    if (plan_.count == 0 || reaches_over_) return false;
    PictureStep& last = plan_.steps[plan_.count - 1];
    if (last.kind != PictureStep::Kind::scale) return false;
    if (last.box.size() == last.full) {  // it only cut
      last.box = {last.box.top + box.top, last.box.left + box.left, box.height, box.width};
      last.full = out;
      last.part = {0, 0, out.height, out.width};
      last.filter = filter;
    } else if (out == box.size()) {  // this one only cuts
      last.part = {last.part.top + box.top, last.part.left + box.left, box.height, box.width};
    } else {
      return false;
    }
    last.out = out;
    return true;
  }

  Geometry plan_;
  RowKey key_;
  Json* log_;
  uint64_t number_ = 0;        ///< of the operation
  bool reaches_over_ = false;  ///< the last scale step takes pixels from over the edge
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
    if (resize.max_side > 0 && other > resize.max_side) {
      const auto less =
          static_cast<int>(std::max<int64_t>(1, int64_t{resize.max_side} * resize.height / other));
      return flat ? Size{less, resize.max_side} : Size{resize.max_side, less};
    }
    return flat ? Size{resize.height, other} : Size{other, resize.height};
  }
  const auto other = static_cast<int>(std::max<int64_t>(1, wanted * shorter / longer));
  return flat ? Size{other, resize.height} : Size{resize.height, other};
}

size_t most_steps(const ImageOp& op) {
  constexpr size_t kMirror = 1;
  if (const auto* augment = std::get_if<RandAugment>(&op))
    return kMirror + static_cast<size_t>(augment->operations);
  return std::holds_alternative<ColorJitter>(op) ? 4 : kMirror + 1;
}

std::optional<Size> fixed_size(const std::vector<ImageOp>& ops) {
  std::optional<Size> size;
  for (const ImageOp& op : ops)
    size = std::visit([&](const auto& one) { return size_after(one, size); }, op);
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

Box erased_box(const RandomErasing& erasing, Size picture, const RowKey& key, uint64_t op) {
  constexpr int kTries = 10;
  CounterRng random(key.seed, key.epoch, key.position, op);
  if (random.uniform() >= erasing.p) return {};
  const double area = static_cast<double>(picture.height) * picture.width;
  const double log_low = std::log(erasing.ratio[0]);
  const double log_high = std::log(erasing.ratio[1]);
  for (int i = 0; i < kTries; ++i) {
    const double target = area * random.uniform(erasing.scale[0], erasing.scale[1]);
    const double ratio = std::exp(random.uniform(log_low, log_high));
    const double height = std::nearbyint(std::sqrt(target * ratio));
    const double width = std::nearbyint(std::sqrt(target / ratio));
    if (height >= picture.height || width >= picture.width) continue;
    Box box{0, 0, static_cast<int>(height), static_cast<int>(width)};
    box.top =
        static_cast<int>(random.below(static_cast<uint64_t>(picture.height - box.height) + 1));
    box.left = static_cast<int>(random.below(static_cast<uint64_t>(picture.width - box.width) + 1));
    return box;
  }
  return {};
}

Result<Geometry> plan_geometry(const std::vector<ImageOp>& ops, Size picture, const RowKey& key,
                               nlohmann::ordered_json* log) {
  Planner planner(picture, key, log);
  for (size_t i = 0; i < ops.size(); ++i) HR_CHECK(planner.apply(ops[i], i));
  return planner.plan();
}

}  // namespace headrace
