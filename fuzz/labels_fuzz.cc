// Any bytes as boxes and as a mask beside a picture: an answer or an error value.
#include <cstdlib>

#include "codec/decoder.h"
#include "codec/scratch.h"

namespace {

using namespace headrace;

std::unique_ptr<Decoder> decoder_of(FieldKind kind) {
  FieldSpec spec;
  spec.name = "column";
  spec.sources = {"field"};
  spec.kind = std::move(kind);
  return std::move(make_decoder(spec)).value();
}

const std::vector<ImageOp> kOps = {RandomResizedCrop{8, 9}, HorizontalFlip{}, QuarterTurns{}};

BoxesSpec boxes_of(std::string at, std::string labels) {
  BoxesSpec boxes;
  boxes.ops = kOps;
  boxes.at = std::move(at);
  boxes.extra = labels.empty() ? 0 : 1;
  boxes.labels = std::move(labels);
  boxes.min_visible = 0.1;
  return boxes;
}

/// The picture that the labels go with is as large as the mask may be.
void decode(const Decoder& decoder, ByteView bytes, Size picture) {
  static Scratch scratch;
  scratch.buffers().picture = picture;
  const auto row = decoder.decode_dynamic(bytes, RowKey(), scratch);
  if (!row.ok()) return;
  uint64_t elements = 1;
  for (const int64_t side : row->shape) elements *= static_cast<uint64_t>(side);
  if (elements * dtype_size(row->dtype) != row->bytes.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto plain = decoder_of(boxes_of("", ""));
  static const auto named = decoder_of(boxes_of("a.bbox", "a.id"));
  static const auto mask = decoder_of(MaskSpec{.like = "", .ops = kOps, .dtype = DType::i32});
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  for (const auto* decoder : {&plain, &named, &mask}) decode(**decoder, bytes, {7, 5});
  return 0;
}
