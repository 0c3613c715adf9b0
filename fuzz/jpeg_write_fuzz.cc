// Any bytes as a JPEG that pack rewrites: an error, or a baseline file of the same pixels.
#include <cstdlib>

#include "codec/decoder.h"
#include "codec/jpeg_write.h"
#include "codec/scratch.h"

namespace {

using namespace headrace;

std::unique_ptr<Decoder> stored_picture() {
  ImageSpec image;
  image.channels = Channels::unchanged;
  image.layout = Layout::hwc;
  image.pixel_limit = 1 << 20;
  FieldSpec spec;
  spec.name = "column";
  spec.sources = {"field"};
  spec.kind = std::move(image);
  return std::move(make_decoder(spec)).value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto decoder = stored_picture();
  static Scratch scratch;
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto facts = read_jpeg_facts(bytes);
  if (!facts.ok() || int64_t{facts->width} * facts->height > 1 << 20) return 0;
  std::string baseline;
  const auto made = jpeg_to_baseline(bytes, JpegMetadata::kKeep, baseline);
  if (!made.ok() || !*made) {
    if (made.ok() && !baseline.empty()) std::abort();
    return 0;
  }
  const auto before = decoder->decode_dynamic(bytes, RowKey(), scratch);
  if (!before.ok()) return 0;  // as an arithmetic-coded file, which only pack reads
  const std::string pixels(as_text(before->bytes));
  const auto after = decoder->decode_dynamic(as_bytes(baseline), RowKey(), scratch);
  if (!after.ok() || as_text(after->bytes) != pixels) std::abort();
  return 0;
}
