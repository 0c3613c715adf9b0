#include "codec/image_decoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/try.h"
#include "codec/finish.h"
#include "codec/geometry.h"
#include "codec/image_recipe.h"
#include "codec/orientation.h"
#include "codec/picture.h"
#include "codec/resample.h"
#include "codec/scratch.h"

namespace headrace {
namespace {

Error too_large(uint64_t height, uint64_t width, uint64_t limit) {
  return {Code::kCorrupt,
          "picture refused: " + std::to_string(width) + " x " + std::to_string(height) +
              " pixels are more than the limit of " + std::to_string(limit),
          {},
          "raise pixel_limit if such pictures are meant to be there"};
}

/// `box` of the picture; what lies over its edge is zero.
Picture padded(const Picture& from, const Box& box, ReusedBuffer& into) {
  const auto channels = static_cast<size_t>(from.channels);
  const size_t stride = static_cast<size_t>(box.width) * channels;
  const MutableBytes bytes = into.take(stride * static_cast<size_t>(box.height));
  std::memset(bytes.data(), 0, bytes.size());
  const int left = std::max(0, box.left);
  const int right = std::min(from.width, box.left + box.width);
  const int top = std::max(0, box.top);
  const int bottom = std::min(from.height, box.top + box.height);
  auto* out = reinterpret_cast<uint8_t*>(bytes.data());
  for (int y = top; y < bottom && left < right; ++y)
    std::memcpy(out + static_cast<size_t>(y - box.top) * stride +
                    static_cast<size_t>(left - box.left) * channels,
                from.line(y) + static_cast<size_t>(left) * channels,
                static_cast<size_t>(right - left) * channels);
  return {out, box.width, box.height, from.channels, stride};
}

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
  if (geometry.count == 0) return {{0, 0, picture.height, picture.width}, 1};
  const Step& first = geometry.steps[0];
  Need need{inner_part(first.box, picture), 1};
  if (!first.box.inside(picture)) return need;
  while (2 * need.shrink <= largest_shrink &&
         first.box.height / (2 * need.shrink) >= first.out.height &&
         first.box.width / (2 * need.shrink) >= first.out.width)
    need.shrink *= 2;
  return need;
}

/// The first step's box in what was decoded.
Box decoded_part(const Box& box, const Need& need, const Picture& decoded) {
  if (need.shrink > 1) return {0, 0, decoded.height, decoded.width};
  return {box.top - need.box.top, box.left - need.box.left, box.height, box.width};
}

class ImageDecoder final : public Decoder {
 public:
  explicit ImageDecoder(const ImageSpec& spec)
      : Decoder(image_row_shape(spec)), spec_(spec), tables_(image_value_tables(spec)) {}

  Status decode_into(ByteView encoded, const RowKey& key, MutableBytes row,
                     Scratch& scratch) const override {
    HR_TRY(const Prepared prepared, prepare(encoded, key, scratch));
    write(prepared, row.data());
    return Status();
  }

  Result<DynamicRow> decode_dynamic(ByteView encoded, const RowKey& key,
                                    Scratch& scratch) const override {
    HR_TRY(const Prepared prepared, prepare(encoded, key, scratch));
    const Picture& picture = prepared.picture;
    Scratch::Buffers& buffers = scratch.buffers();
    if (spec_.layout == Layout::chw) {
      buffers.shape.assign({picture.channels, picture.height, picture.width});
    } else {
      buffers.shape.assign({picture.height, picture.width, picture.channels});
    }
    const DType dtype = image_row_dtype(spec_);
    const size_t values = static_cast<size_t>(picture.channels) *
                          static_cast<size_t>(picture.height) * static_cast<size_t>(picture.width);
    const MutableBytes row = buffers.row.take(values * dtype_size(dtype));
    write(prepared, row.data());
    return DynamicRow{dtype, buffers.shape, row};
  }

 private:
  /// All but the last pass.
  struct Prepared {
    Picture picture;
    bool mirror = false;
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
    HR_TRY(Geometry geometry, plan_geometry(spec_.ops, upright, key));

    const Need need = needed(geometry, upright, header.largest_shrink);
    Prepared prepared{{}, geometry.mirror};
    Picture& picture = prepared.picture;
    HR_TRY(picture,
           reader.read(box_in_file(need.box, upright, orientation), need.shrink, buffers.decoded));
    picture = convert_channels(picture, wanted_channels(spec_.channels, picture.channels),
                               buffers.converted);
    if (orientation != 1) picture = turn_upright(picture, orientation, buffers.upright);
    for (size_t i = 0; i < geometry.count; ++i) {
      Step& step = geometry.steps[i];
      if (i == 0) step.box = decoded_part(step.box, need, picture);
      HR_CHECK(run(step, i, picture, buffers));
    }
    return prepared;
  }

  Status check_pixels(Size size) const {
    const auto height = static_cast<uint64_t>(size.height);
    const auto width = static_cast<uint64_t>(size.width);
    if (height * width > spec_.pixel_limit) return too_large(height, width, spec_.pixel_limit);
    return Status();
  }

  Status run(const Step& step, size_t number, Picture& picture, Scratch::Buffers& buffers) const {
    HR_CHECK(check_pixels(step.out));
    // Pictures of successive steps lie in alternate buffers.
    if (step.box.inside({picture.height, picture.width})) {
      picture = cut(picture, step.box);
    } else {
      picture = padded(picture, step.box, buffers.padded[number % 2]);
    }
    picture = resize_bilinear(picture, step.out, buffers.resized[number % 2], buffers);
    return Status();
  }

  void write(const Prepared& prepared, std::byte* row) const {
    if (image_row_dtype(spec_) == DType::u8) {
      write_u8(prepared.picture, prepared.mirror, spec_.layout, row);
    } else {
      write_f32(prepared.picture, prepared.mirror, spec_.layout, tables_, row);
    }
  }

  ImageSpec spec_;
  ValueTables tables_;
};

}  // namespace

Result<std::unique_ptr<Decoder>> make_image_decoder(const ImageSpec& spec) {
  HR_CHECK(check_image_recipe(spec));
  return std::unique_ptr<Decoder>(std::make_unique<ImageDecoder>(spec));
}

}  // namespace headrace
