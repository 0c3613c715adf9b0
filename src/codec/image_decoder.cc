#include "codec/image_decoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/try.h"
#include "codec/finish.h"
#include "codec/geometry.h"
#include "codec/image_recipe.h"
#include "codec/jpeg.h"
#include "codec/picture.h"
#include "codec/png.h"
#include "codec/resample.h"
#include "codec/scratch.h"
#include "codec/webp.h"

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

Picture cut(const Picture& from, const Box& box) {
  Picture picture = from;
  picture.pixels =
      from.line(box.top) + static_cast<size_t>(box.left) * static_cast<size_t>(from.channels);
  picture.width = box.width;
  picture.height = box.height;
  return picture;
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
    HR_TRY(const PictureKind kind, sniff_picture(encoded));
    switch (kind) {
      case PictureKind::jpeg:
        return prepare_with(JpegReader(), encoded, key, scratch);
      case PictureKind::png:
        return prepare_with(PngReader(), encoded, key, scratch);
      case PictureKind::webp:
        return prepare_with(WebpReader(), encoded, key, scratch);
    }
    return Error{Code::kFailure, "unknown kind of picture", {}, {}};
  }

  template <typename Reader>
  Result<Prepared> prepare_with(Reader&& reader, ByteView encoded, const RowKey& key,
                                Scratch& scratch) const {
    Scratch::Buffers& buffers = scratch.buffers();
    HR_TRY(PictureHeader header, reader.open(encoded, spec_.channels));
    const uint64_t pixels =
        static_cast<uint64_t>(header.width) * static_cast<uint64_t>(header.height);
    if (pixels > spec_.pixel_limit)
      return too_large(static_cast<uint64_t>(header.height), static_cast<uint64_t>(header.width),
                       spec_.pixel_limit);
    const int channels = wanted_channels(spec_.channels, header.channels);
    const auto pixel = static_cast<size_t>(std::max(header.buffer_pixel, channels));
    auto* bytes = reinterpret_cast<uint8_t*>(buffers.decoded.take(pixels * pixel).data());
    HR_CHECK(reader.read(bytes));
    if constexpr (std::is_same_v<Reader, PngReader>) header.orientation = reader.orientation();
    convert_channels(bytes, pixels, header.channels, channels);

    Prepared prepared;
    prepared.picture = {bytes, header.width, header.height, channels,
                        static_cast<size_t>(header.width) * static_cast<size_t>(channels)};
    if (spec_.upright && header.orientation != 1)
      prepared.picture = turn_upright(prepared.picture, header.orientation,
                                      buffers.upright.take(pixels * static_cast<size_t>(channels)));
    HR_TRY(const Geometry geometry,
           plan_geometry(spec_.ops, {prepared.picture.height, prepared.picture.width}, key));
    prepared.mirror = geometry.mirror;
    for (size_t i = 0; i < geometry.count; ++i)
      HR_CHECK(run(geometry.steps[i], i, prepared.picture, buffers));
    return prepared;
  }

  Status run(const Step& step, size_t number, Picture& picture, Scratch::Buffers& buffers) const {
    const auto height = static_cast<uint64_t>(step.out.height);
    const auto width = static_cast<uint64_t>(step.out.width);
    if (height * width > spec_.pixel_limit) return too_large(height, width, spec_.pixel_limit);
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
