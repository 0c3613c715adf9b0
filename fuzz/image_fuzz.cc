// Any bytes as a picture through a recipe with every operation: a row of the promised size or an
// error value. The pixel limit is low, so that time goes into parsers and not into large pictures.
#include <cstdlib>

#include "codec/decoder.h"

namespace {

using namespace headrace;

std::unique_ptr<Decoder> decoder_of(ImageSpec image) {
  image.pixel_limit = 1 << 20;
  FieldSpec spec;
  spec.name = "column";
  spec.sources = {"field"};
  spec.kind = std::move(image);
  return std::move(make_decoder(spec)).value();
}

ImageSpec whole_recipe() {
  ImageSpec image;
  image.ops = {HorizontalFlip{},        Resize{Resize::By::shorter, 40, 0},
               CenterCrop{50, 36},      RandomCrop{30, 30},
               RandomResizedCrop{8, 8}, Normalize{{0.5}, {0.25}}};
  return image;
}

ImageSpec as_stored() {
  ImageSpec image;
  image.channels = Channels::unchanged;
  image.layout = Layout::hwc;
  return image;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto cropped = decoder_of(whole_recipe());
  static const auto stored = decoder_of(as_stored());
  static Scratch scratch;
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  const RowKey key{1, 2, size};

  if (const auto row = stored->decode_dynamic(bytes, key, scratch); row.ok()) {
    uint64_t values = 1;
    for (const int64_t side : row->shape) values *= static_cast<uint64_t>(side);
    if (values != row->bytes.size()) std::abort();
  }
  if (const auto row = cropped->decode_dynamic(bytes, key, scratch); row.ok())
    if (row->bytes.size() != size_t{3} * 8 * 8 * 4) std::abort();
  return 0;
}
