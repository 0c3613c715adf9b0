#include "codec/mask_decoder.h"

#include <cstring>
#include <limits>
#include <string>

#include "base/try.h"
#include "codec/moving_ops.h"
#include "codec/picture_steps.h"
#include "codec/scratch.h"

namespace headrace {
namespace {

/// Only what moves pixels is left of the steps, and no numbers are blended.
void keep_numbers(Geometry& geometry, const Fill& fill) {
  size_t kept = 0;
  for (size_t i = 0; i < geometry.count; ++i) {
    PictureStep step = geometry.steps[i];
    step.filter = Interpolation::nearest;
    step.fill = fill;
    if (step.kind == PictureStep::Kind::pixels) {
      auto* affine = std::get_if<Affine>(&step.action);
      if (affine == nullptr) continue;
      affine->filter = Interpolation::nearest;
      affine->fill = fill;
    }
    geometry.steps[kept++] = step;
  }
  geometry.count = kept;
}

uint64_t largest(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return std::numeric_limits<uint8_t>::max();
    case DType::u16:
      return std::numeric_limits<uint16_t>::max();
    default:
      return std::numeric_limits<int32_t>::max();
  }
}

uint32_t number_at(const uint8_t* pixel, int bytes) {
  uint32_t number = pixel[0];
  if (bytes > 1) number |= uint32_t{pixel[1]} << 8;
  if (bytes > 2) number |= uint32_t{pixel[2]} << 16;
  return number;
}

/// The largest number is returned: one above largest(dtype) was not kept.
template <typename T>
uint32_t write_numbers(const Picture& picture, bool mirror, std::byte* row) {
  uint32_t top = 0;
  for (int y = 0; y < picture.height; ++y) {
    const uint8_t* line = picture.line(y);
    for (int x = 0; x < picture.width; ++x, row += sizeof(T)) {
      const int from = mirror ? picture.width - 1 - x : x;
      const uint32_t number = number_at(line + from * picture.channels, picture.channels);
      top = number > top ? number : top;
      const auto value = static_cast<T>(number);
      std::memcpy(row, &value, sizeof(T));
    }
  }
  return top;
}

uint32_t write_as(DType dtype, const Picture& picture, bool mirror, std::byte* row) {
  switch (dtype) {
    case DType::u8:
      return write_numbers<uint8_t>(picture, mirror, row);
    case DType::u16:
      return write_numbers<uint16_t>(picture, mirror, row);
    case DType::i32:
      return write_numbers<int32_t>(picture, mirror, row);
    default:
      return write_numbers<int64_t>(picture, mirror, row);
  }
}

RowShape shape_of(const std::vector<ImageOp>& ops, DType dtype) {
  RowShape shape;
  const bool views = !ops.empty() && std::holds_alternative<FiveCrop>(ops.back());
  shape.kind = RowShape::Kind::kDynamic;
  shape.dtype = dtype;
  shape.ndim = views ? 3 : 2;
  const auto size = fixed_size(ops);
  if (!size) return shape;
  shape.kind = RowShape::Kind::kFixed;
  if (views) shape.shape.push_back(Geometry().views.size());
  shape.shape.insert(shape.shape.end(), {size->height, size->width});
  return shape;
}

Error other_size(Size mask, Size picture) {
  return {Code::kCorrupt,
          "the mask has " + std::to_string(mask.height) + " x " + std::to_string(mask.width) +
              " pixels (height x width), its upright picture " + std::to_string(picture.height) +
              " x " + std::to_string(picture.width),
          {},
          "store masks as large as their pictures"};
}

class MaskDecoder final : public Decoder {
 public:
  MaskDecoder(const MaskSpec& spec, std::vector<ImageOp> ops)
      : Decoder(shape_of(ops, spec.dtype)), spec_(spec), ops_(std::move(ops)) {}

  Status decode_into(ByteView encoded, const RowKey& key, MutableBytes row,
                     Scratch& scratch) const override {
    HR_TRY(const Moved moved, move(encoded, key, scratch));
    return write(moved, row.data());
  }

  Result<DynamicRow> decode_dynamic(ByteView encoded, const RowKey& key,
                                    Scratch& scratch) const override {
    HR_TRY(const Moved moved, move(encoded, key, scratch));
    Scratch::Buffers& buffers = scratch.buffers();
    const auto& [geometry, picture] = moved;
    const bool views = geometry.view_count > 0;
    const Size size = views ? geometry.views[0].size() : geometry.size;
    buffers.shape = {size.height, size.width};
    if (views) buffers.shape.insert(buffers.shape.begin(), int64_t(geometry.view_count));
    size_t bytes = dtype_size(spec_.dtype);
    for (const int64_t side : buffers.shape) bytes *= static_cast<size_t>(side);
    const MutableBytes row = buffers.row.take(bytes);
    HR_CHECK(write(moved, row.data()));
    return DynamicRow{spec_.dtype, buffers.shape, row};
  }

 private:
  struct Moved {
    Geometry geometry;
    Picture picture;
  };

  Result<Moved> move(ByteView encoded, const RowKey& key, Scratch& scratch) const {
    Scratch::Buffers& buffers = scratch.buffers();
    HR_TRY(const PictureKind kind, sniff_picture(encoded));
    if (kind != PictureKind::png)
      return Error{
          Code::kCorrupt, "a mask is a PNG: other formats change or lose its numbers", {}, {}};
    PictureReader& reader = buffers.readers.of(kind);
    HR_TRY(const PictureHeader header, reader.open(encoded, {.numbers = true}));
    const Size size{header.height, header.width};
    if (size != buffers.picture) return other_size(size, buffers.picture);
    Moved moved;
    HR_TRY(moved.geometry, plan_geometry(ops_, size, key));
    keep_numbers(moved.geometry, fill_of(header.channels));
    Box held{0, 0, size.height, size.width};
    HR_TRY(moved.picture, reader.read(held, 1, buffers.decoded));
    for (size_t i = 0; i < moved.geometry.count; ++i) {
      HR_TRY(moved.picture,
             run_step(moved.geometry.steps[i], spec_.pixel_limit, moved.picture, held, buffers));
      held = {0, 0, moved.picture.height, moved.picture.width};
    }
    return moved;
  }

  Fill fill_of(int bytes) const {
    Fill fill = {};
    for (int i = 0; i < bytes; ++i)
      fill[static_cast<size_t>(i)] = static_cast<uint8_t>(spec_.fill >> (8 * i));
    return fill;
  }

  Status write(const Moved& moved, std::byte* row) const {
    const Geometry& geometry = moved.geometry;
    uint32_t top = 0;
    if (geometry.view_count == 0) {
      top = write_as(spec_.dtype, moved.picture, geometry.mirror, row);
    } else {
      const Size size = geometry.views[0].size();
      const size_t bytes = static_cast<size_t>(size.height) * static_cast<size_t>(size.width) *
                           dtype_size(spec_.dtype);
      for (size_t i = 0; i < geometry.view_count; ++i)
        top = std::max(top, write_as(spec_.dtype, cut(moved.picture, geometry.views[i]),
                                     geometry.mirror, row + i * bytes));
    }
    if (top <= largest(spec_.dtype)) return Status();
    return Error{Code::kCorrupt,
                 "the mask has the number " + std::to_string(top) + ", which is too large for " +
                     dtype_name(spec_.dtype),
                 {},
                 "ask for a larger dtype"};
  }

  MaskSpec spec_;
  std::vector<ImageOp> ops_;
};

}  // namespace

Result<std::unique_ptr<Decoder>> make_mask_decoder(const MaskSpec& spec) {
  const DType dtype = spec.dtype;
  if (dtype != DType::u8 && dtype != DType::u16 && dtype != DType::i32 && dtype != DType::i64)
    return Error{Code::kUsage,
                 std::string("masks cannot be ") + dtype_name(dtype) +
                     "; uint8, uint16, int32 and int64 are there",
                 {},
                 {}};
  if (spec.fill > std::min<uint64_t>(largest(dtype), 0xFFFFFF))
    return Error{Code::kUsage, "a mask's fill must fit its type and 24 bits", {}, {}};
  HR_TRY(auto ops, moving_ops(spec.ops));
  return std::unique_ptr<Decoder>(std::make_unique<MaskDecoder>(spec, std::move(ops)));
}

}  // namespace headrace
