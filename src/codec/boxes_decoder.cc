#include "codec/boxes_decoder.h"

#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "base/try.h"
#include "codec/box_steps.h"
#include "codec/boxes_file.h"
#include "codec/moving_ops.h"
#include "codec/scratch.h"

namespace headrace {
namespace {

constexpr size_t kSides = 4;

Corners corners_of(std::span<const double> box, BoxFormat format) {
  const double x = box[0], y = box[1], right = box[2], down = box[3];
  switch (format) {
    case BoxFormat::xywh:
      return {x, y, x + right, y + down};
    case BoxFormat::cxcywh:
      return {x - right / 2, y - down / 2, x + right / 2, y + down / 2};
    case BoxFormat::xyxy:
      break;
  }
  return {x, y, right, down};
}

std::array<double, kSides> numbers_of(const Corners& box, BoxFormat format) {
  const double width = box.right - box.left;
  const double height = box.bottom - box.top;
  switch (format) {
    case BoxFormat::xywh:
      return {box.left, box.top, width, height};
    case BoxFormat::cxcywh:
      return {box.left + width / 2, box.top + height / 2, width, height};
    case BoxFormat::xyxy:
      break;
  }
  return {box.left, box.top, box.right, box.bottom};
}

Status check_box(const Corners& box, size_t number) {
  const bool finite = std::isfinite(box.left) && std::isfinite(box.top) &&
                      std::isfinite(box.right) && std::isfinite(box.bottom);
  if (finite && box.left <= box.right && box.top <= box.bottom) return Status();
  return Error{Code::kCorrupt,
               "box " + std::to_string(number) +
                   (finite ? " ends before it begins" : " has a number that is not finite"),
               {},
               "say which format= the boxes have"};
}

RowShape ragged_rows() {
  RowShape shape;
  shape.kind = RowShape::Kind::kDynamic;
  shape.dtype = DType::f32;
  shape.ndim = 2;
  shape.ragged = true;
  return shape;
}

class BoxesDecoder final : public Decoder {
 public:
  BoxesDecoder(const BoxesSpec& spec, std::vector<ImageOp> ops)
      : Decoder(ragged_rows()),
        spec_(spec),
        ops_(std::move(ops)),
        width_(kSides + static_cast<size_t>(spec.extra)) {}

  Status decode_into(ByteView, const RowKey&, MutableBytes, Scratch&) const override {
    return Error{Code::kUsage, "rows of boxes have no fixed shape", {}, {}};
  }

  Result<DynamicRow> decode_dynamic(ByteView encoded, const RowKey& key,
                                    Scratch& scratch) const override {
    Scratch::Buffers& buffers = scratch.buffers();
    HR_CHECK(read_boxes(encoded, {spec_.at, spec_.labels, width_}, buffers.boxes));
    HR_TRY(const Geometry geometry, plan_geometry(ops_, buffers.picture, key));
    const size_t count = buffers.boxes.size() / width_;
    const MutableBytes row = buffers.row.take(count * width_ * sizeof(float));
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
      const std::span<const double> box(buffers.boxes.data() + i * width_, width_);
      const Corners before = corners_of(box, spec_.format);
      HR_CHECK(check_box(before, i));
      const MovedBox moved = move_box(before, buffers.picture, geometry);
      if (moved.visible < spec_.min_visible) continue;
      write(moved.corners, box, row.data() + kept++ * width_ * sizeof(float));
    }
    buffers.shape = {static_cast<int64_t>(kept), static_cast<int64_t>(width_)};
    return DynamicRow{DType::f32, buffers.shape, row.first(kept * width_ * sizeof(float))};
  }

 private:
  void write(const Corners& moved, std::span<const double> box, std::byte* out) const {
    const auto sides = numbers_of(moved, spec_.format);
    for (size_t i = 0; i < width_; ++i, out += sizeof(float)) {
      const auto value = static_cast<float>(i < kSides ? sides[i] : box[i]);
      std::memcpy(out, &value, sizeof value);
    }
  }

  BoxesSpec spec_;
  std::vector<ImageOp> ops_;
  size_t width_;  ///< numbers of a box
};

}  // namespace

Result<std::unique_ptr<Decoder>> make_boxes_decoder(const BoxesSpec& spec) {
  constexpr int kMostExtra = 1000;
  if (spec.extra < (spec.labels.empty() ? 0 : 1) || spec.extra > kMostExtra)
    return Error{Code::kUsage, "extra is the count of numbers after a box, with its label", {}, {}};
  if (!(spec.min_visible >= 0 && spec.min_visible <= 1))
    return Error{Code::kUsage, "min_visible is a share between 0 and 1", {}, {}};
  HR_TRY(auto ops, moving_ops(spec.ops));
  if (!ops.empty() && std::holds_alternative<FiveCrop>(ops.back()))
    return Error{Code::kUsage, "boxes do not go with five crops", {}, {}};
  return std::unique_ptr<Decoder>(std::make_unique<BoxesDecoder>(spec, std::move(ops)));
}

}  // namespace headrace
