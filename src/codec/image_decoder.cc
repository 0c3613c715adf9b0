#include "codec/image_decoder.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "base/try.h"
#include "codec/erase.h"
#include "codec/finish.h"
#include "codec/geometry.h"
#include "codec/image_recipe.h"
#include "codec/orientation.h"
#include "codec/picture.h"
#include "codec/picture_steps.h"
#include "codec/scratch.h"

namespace headrace {
namespace {

/// What of the upright picture must be decoded, and at which fraction of its size.
struct Need {
  Box box;
  int shrink = 1;
};

/// The part of the first step's box that lies inside of the picture; at least a pixel of it.
Box inner_part(const Box& box, Size picture) {
  const int top = std::clamp(box.top, 0, picture.height - 1);
  const int left = std::clamp(box.left, 0, picture.width - 1);
  const int bottom = std::clamp(box.top + box.height, top + 1, picture.height);
  const int right = std::clamp(box.left + box.width, left + 1, picture.width);
  return {top, left, bottom - top, right - left};
}

Need needed(const Geometry& geometry, Size picture, int largest_shrink) {
  const Need whole{{0, 0, picture.height, picture.width}, 1};
  if (geometry.count == 0) return whole;
  const PictureStep& first = geometry.steps[0];
  if (first.kind != PictureStep::Kind::scale) return whole;
  if (!first.box.inside(picture))
    return first.edge == Edge::constant ? Need{inner_part(first.box, picture), 1} : whole;
  int shrink = 1;
  while (2 * shrink <= largest_shrink && first.box.height / (2 * shrink) >= first.full.height &&
         first.box.width / (2 * shrink) >= first.full.width)
    shrink *= 2;
  return shrink > 1 ? Need{first.box, shrink} : Need{step_source(first), 1};
}

/// Where a box of the upright picture lies in what is decoded of it at a fraction of its size: its
/// edges may cut pixels of that.
Region region_in_shrunk(const Box& box, Size upright, int orientation, int shrink) {
  const Box there = divided(box_in_file(box, upright, orientation), shrink);
  const Box read = box_upright(
      {there.top * shrink, there.left * shrink, there.height * shrink, there.width * shrink},
      upright, orientation);
  const double share = 1.0 / shrink;
  return {(box.top - read.top) * share, (box.left - read.left) * share, box.height * share,
          box.width * share};
}

class ImageDecoder final : public Decoder {
 public:
  explicit ImageDecoder(const ImageSpec& spec)
      : Decoder(image_row_shape(spec)), spec_(spec), scale_(image_pixel_scale(spec)) {}

  Status decode_into(ByteView encoded, const RowKey& key, MutableBytes row,
                     Scratch& scratch) const override {
    HR_TRY(const Prepared prepared, prepare(encoded, key, scratch));
    write(prepared, true, row.data());
    return Status();
  }

  Result<DynamicRow> decode_dynamic(ByteView encoded, const RowKey& key,
                                    Scratch& scratch) const override {
    HR_TRY(const Prepared prepared, prepare(encoded, key, scratch));
    Scratch::Buffers& buffers = scratch.buffers();
    set_shape(prepared, buffers.shape);
    const DType dtype = image_row_dtype(spec_);
    size_t bytes = dtype_size(dtype);
    for (const int64_t side : buffers.shape) bytes *= static_cast<size_t>(side);
    const MutableBytes row = buffers.row.take(bytes);
    write(prepared, false, row.data());
    return DynamicRow{dtype, buffers.shape, row};
  }

  Status decode_placed(ByteView encoded, const RowKey& key, Scratch& scratch,
                       const Place& place) const override {
    HR_TRY(const Prepared prepared, prepare(encoded, key, scratch));
    set_shape(prepared, scratch.buffers().shape);
    std::byte* row = place(scratch.buffers().shape);
    if (row == nullptr) return no_memory();
    write(prepared, true, row);
    return Status();
  }

  bool write_gray(MutableBytes row) const override {
    if (row_shape().kind != RowShape::Kind::kFixed) return false;
    // One line that is repeated; the last three sides are a picture's.
    const bool planes = spec_.layout == Layout::chw;
    const int64_t* sides = row_shape().shape.data() + row_shape().shape.size() - 3;
    const int channels = static_cast<int>(sides[planes ? 0 : 2]);
    const int height = static_cast<int>(sides[planes ? 1 : 0]);
    const int width = static_cast<int>(sides[planes ? 2 : 1]);
    const std::vector<uint8_t> line(static_cast<size_t>(width * channels), 128);
    const Picture picture{line.data(), width, height, channels, 0};
    const RowFormat format{image_row_dtype(spec_), spec_.layout, false, false};
    const size_t bytes = line.size() * static_cast<size_t>(height) * dtype_size(format.dtype);
    for (size_t at = 0; at < row.size(); at += bytes)
      write_row(picture, format, scale_, row.data() + at);
    return true;
  }

  std::string explain(const RowKey& key, Scratch& scratch) const override {
    auto log = nlohmann::ordered_json::array();
    static_cast<void>(plan_geometry(spec_.ops, scratch.buffers().picture, key, &log));
    return log.dump();
  }

 private:
  /// All but the last pass.
  struct Prepared {
    Picture picture;
    bool mirror = false;
    std::array<Box, 5> views = {};  ///< of the picture: parts of the row, if there are any
    size_t view_count = 0;
    Box erased = {};  ///< of the row

    Size row_size() const {
      return view_count > 0 ? views[0].size() : Size{picture.height, picture.width};
    }
  };

  Result<Prepared> prepare(ByteView encoded, const RowKey& key, Scratch& scratch) const {
    Scratch::Buffers& buffers = scratch.buffers();
    HR_TRY(const PictureKind kind, sniff_picture(encoded));
    PictureReader& reader = buffers.readers.of(kind);
    HR_TRY(const PictureHeader header,
           reader.open(encoded, {spec_.channels, spec_.decode == DecodeSettings::fast}));
    HR_CHECK(check_pixels({header.height, header.width}));
    const int orientation = spec_.upright ? header.orientation : 1;
    const Size upright = upright_size({header.height, header.width}, orientation);
    buffers.picture = upright;
    HR_TRY(Geometry geometry, plan_geometry(spec_.ops, upright, key));

    const Need need = needed(geometry, upright, header.largest_shrink);
    Prepared prepared;
    prepared.mirror = geometry.mirror;
    prepared.views = geometry.views;
    prepared.view_count = geometry.view_count;
    prepared.erased = geometry.erased;
    Picture& picture = prepared.picture;
    HR_TRY(picture,
           reader.read(box_in_file(need.box, upright, orientation), need.shrink, buffers.decoded));
    picture = convert_channels(picture, wanted_channels(spec_.channels, picture.channels),
                               buffers.converted);
    if (orientation != 1) picture = turn_upright(picture, orientation, buffers.upright);
    if (need.shrink > 1) {
      PictureStep& first = geometry.steps[0];
      first.inner = region_in_shrunk(first.box, upright, orientation, need.shrink);
      first.box = {0, 0, picture.height, picture.width};
    }
    const Box held = need.shrink > 1 ? geometry.steps[0].box : need.box;
    for (size_t i = 0; i < geometry.count; ++i) {
      const Box all{0, 0, picture.height, picture.width};
      HR_TRY(picture,
             run_step(geometry.steps[i], spec_.pixel_limit, picture, i == 0 ? held : all, buffers));
    }
    return prepared;
  }

  void set_shape(const Prepared& prepared, std::vector<int64_t>& shape) const {
    const int channels = prepared.picture.channels;
    const Size size = prepared.row_size();
    shape.clear();
    if (prepared.view_count > 0) shape.push_back(static_cast<int64_t>(prepared.view_count));
    if (spec_.layout == Layout::chw) {
      shape.insert(shape.end(), {channels, size.height, size.width});
    } else {
      shape.insert(shape.end(), {size.height, size.width, channels});
    }
  }

  Status check_pixels(Size size) const {
    const auto height = static_cast<uint64_t>(size.height);
    const auto width = static_cast<uint64_t>(size.width);
    if (height * width > spec_.pixel_limit)
      return picture_too_large(height, width, spec_.pixel_limit);
    return Status();
  }

  /// `stream`: the row lies in a batch, which no cache holds.
  void write(const Prepared& prepared, bool stream, std::byte* row) const {
    const DType dtype = image_row_dtype(spec_);
    const RowFormat format{dtype, spec_.layout, prepared.mirror,
                           stream && prepared.erased.height == 0};
    if (prepared.view_count == 0) {
      write_row(prepared.picture, format, scale_, row);
    } else {
      const size_t bytes = static_cast<size_t>(prepared.picture.channels) *
                           static_cast<size_t>(prepared.views[0].height) *
                           static_cast<size_t>(prepared.views[0].width) * dtype_size(dtype);
      for (size_t i = 0; i < prepared.view_count; ++i)
        write_row(cut(prepared.picture, prepared.views[i]), format, scale_, row + i * bytes);
    }
    if (prepared.erased.height > 0)
      erase_box(row, dtype, spec_.layout, prepared.row_size(), prepared.picture.channels,
                prepared.erased, std::get<RandomErasing>(spec_.ops.back()).value);
  }

  ImageSpec spec_;
  PixelScale scale_;
};

}  // namespace

Result<std::unique_ptr<Decoder>> make_image_decoder(const ImageSpec& spec) {
  HR_CHECK(check_image_recipe(spec));
  return std::unique_ptr<Decoder>(std::make_unique<ImageDecoder>(spec));
}

}  // namespace headrace
