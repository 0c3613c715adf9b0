// Any bytes as a numpy array, a JSON document, a text and a number: an answer or an error value.
#include <cstdlib>

#include "codec/decoder.h"
#include "codec/text.h"

namespace {

using namespace headrace;

std::unique_ptr<Decoder> decoder_of(FieldKind kind) {
  FieldSpec spec;
  spec.name = "column";
  spec.sources = {"field"};
  spec.kind = std::move(kind);
  return std::move(make_decoder(spec)).value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto npy = decoder_of(NpySpec());
  static const auto integer = decoder_of(IntegerSpec{DType::u16});
  static const auto number = decoder_of(FloatSpec());
  static Scratch scratch;
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);

  if (const auto row = npy->decode_dynamic(bytes, RowKey(), scratch); row.ok()) {
    uint64_t elements = 1;
    for (const int64_t side : row->shape) elements *= static_cast<uint64_t>(side);
    if (elements * dtype_size(row->dtype) != row->bytes.size()) std::abort();
    if (row->bytes.size() > size) std::abort();
  }
  (void)integer->decode_dynamic(bytes, RowKey(), scratch).ok();
  (void)number->decode_dynamic(bytes, RowKey(), scratch).ok();
  if (check_json(bytes).ok() && utf8_error(bytes) != size) std::abort();
  return 0;
}
