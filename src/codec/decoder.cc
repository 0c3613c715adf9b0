#include "codec/decoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/try.h"
#include "codec/boxes_decoder.h"
#include "codec/image_decoder.h"
#include "codec/mask_decoder.h"
#include "codec/npy.h"
#include "codec/scalar.h"
#include "codec/scratch.h"
#include "codec/text.h"

namespace headrace {
namespace {

/// Rows that are the field's own bytes, after a check.
class EncodedDecoder final : public Decoder {
 public:
  using Check = Status (*)(ByteView);

  explicit EncodedDecoder(Check check) : Decoder(RowShape()), check_(check) {}

  Status decode_into(ByteView encoded, const RowKey&, MutableBytes row, Scratch&) const override {
    HR_CHECK(check_(encoded));
    if (!encoded.empty()) std::memcpy(row.data(), encoded.data(), encoded.size());
    return Status();
  }

 private:
  Check check_;
};

/// Rows that are one number.
class NumberDecoder final : public Decoder {
 public:
  using Parse = Status (*)(ByteView, DType, MutableBytes);

  NumberDecoder(Parse parse, DType dtype)
      : Decoder(RowShape{RowShape::Kind::kFixed, dtype, {}, 0}), parse_(parse), dtype_(dtype) {}

  Status decode_into(ByteView encoded, const RowKey&, MutableBytes row, Scratch&) const override {
    return parse_(encoded, dtype_, row);
  }

 private:
  Parse parse_;
  DType dtype_;
};

class NpyDecoder final : public Decoder {
 public:
  NpyDecoder() : Decoder(RowShape{RowShape::Kind::kDynamic, std::nullopt, {}, -1}) {}

  Status decode_into(ByteView, const RowKey&, MutableBytes, Scratch&) const override {
    return Error{Code::kUsage, "rows of numpy arrays have no fixed shape", {}, {}};
  }

  /// numpy's own writer pads headers to 128 bytes, but for arrays of very many dimensions.
  size_t expected_bytes(size_t encoded_size) const override {
    constexpr size_t kHeader = 128;
    return encoded_size - std::min(encoded_size, kHeader);
  }

  Result<DynamicRow> decode_dynamic(ByteView encoded, const RowKey&,
                                    Scratch& scratch) const override {
    Scratch::Buffers& buffers = scratch.buffers();
    HR_TRY(const NpyArray array, parse_npy(encoded, buffers.shape));
    if (is_plain(array, buffers.shape)) return DynamicRow{array.dtype, buffers.shape, array.data};
    const MutableBytes row = buffers.row.take(array.data.size());
    copy_plain(array, buffers.shape, row);
    return DynamicRow{array.dtype, buffers.shape, row};
  }
};

bool is_integer(DType dtype) { return dtype <= DType::i64; }

Error wrong_type(const char* kind, DType dtype) {
  return {Code::kUsage, std::string(kind) + " fields cannot be " + dtype_name(dtype), {}, {}};
}

Result<std::unique_ptr<Decoder>> compile(const FieldKind& kind) {
  using Made = std::unique_ptr<Decoder>;
  if (std::holds_alternative<BytesSpec>(kind))
    return Made(std::make_unique<EncodedDecoder>([](ByteView) { return Status(); }));
  if (std::holds_alternative<TextSpec>(kind))
    return Made(std::make_unique<EncodedDecoder>(check_utf8));
  if (std::holds_alternative<JsonSpec>(kind))
    return Made(std::make_unique<EncodedDecoder>(check_json));
  if (std::holds_alternative<NpySpec>(kind)) return Made(std::make_unique<NpyDecoder>());
  if (const auto* integer = std::get_if<IntegerSpec>(&kind)) {
    if (!is_integer(integer->dtype)) return wrong_type("integer", integer->dtype);
    return Made(std::make_unique<NumberDecoder>(parse_integer, integer->dtype));
  }
  if (const auto* number = std::get_if<FloatSpec>(&kind)) {
    if (number->dtype != DType::f32 && number->dtype != DType::f64)
      return wrong_type("float", number->dtype);
    return Made(std::make_unique<NumberDecoder>(parse_float, number->dtype));
  }
  if (const auto* mask = std::get_if<MaskSpec>(&kind)) return make_mask_decoder(*mask);
  if (const auto* boxes = std::get_if<BoxesSpec>(&kind)) return make_boxes_decoder(*boxes);
  return make_image_decoder(std::get<ImageSpec>(kind));
}

Error in_column(const FieldSpec& spec, const char* what, Error error) {
  error.code = Code::kUsage;
  error.message = "column '" + spec.name + "': " + what + error.message;
  return error;
}

}  // namespace

size_t RowShape::row_bytes(size_t encoded_size) const {
  if (kind == Kind::kEncoded) return encoded_size;
  size_t bytes = dtype_size(*dtype);
  for (const int64_t side : shape) bytes *= static_cast<size_t>(side);
  return bytes;
}

Scratch::Scratch() : buffers_(std::make_unique<Buffers>()) {}
Scratch::~Scratch() = default;
Scratch::Scratch(Scratch&&) noexcept = default;
Scratch& Scratch::operator=(Scratch&&) noexcept = default;

Result<DynamicRow> Decoder::decode_dynamic(ByteView encoded, const RowKey& key,
                                           Scratch& scratch) const {
  Scratch::Buffers& buffers = scratch.buffers();
  const MutableBytes row = buffers.row.take(row_shape_.row_bytes(encoded.size()));
  HR_CHECK(decode_into(encoded, key, row, scratch));
  if (row_shape_.kind == RowShape::Kind::kEncoded) {
    buffers.shape.assign(1, static_cast<int64_t>(row.size()));
  } else {
    buffers.shape = row_shape_.shape;
  }
  return DynamicRow{*row_shape_.dtype, buffers.shape, row};
}

Error Decoder::no_memory() { return {Code::kUsage, "there is no memory for the row", {}, {}}; }

Status Decoder::decode_placed(ByteView encoded, const RowKey& key, Scratch& scratch,
                              const Place& place) const {
  HR_TRY(const DynamicRow row, decode_dynamic(encoded, key, scratch));
  std::byte* into = place(row.shape);
  if (into == nullptr) return no_memory();
  std::copy(row.bytes.begin(), row.bytes.end(), into);
  return Status();
}

Result<std::unique_ptr<Decoder>> make_decoder(const FieldSpec& spec) {
  if (spec.name.empty()) return Error{Code::kUsage, "a column needs a name", {}, {}};
  if (spec.sources.empty())
    return Error{Code::kUsage, "column '" + spec.name + "' needs a field to be made from", {}, {}};
  auto decoder = compile(spec.kind);
  if (!decoder.ok()) return in_column(spec, "", std::move(decoder).error());
  // What goes with a picture does not decode without one.
  if (spec.fallback && !picture_link(spec.kind)) {
    Scratch scratch;
    const auto row = (*decoder)->decode_dynamic(as_bytes(*spec.fallback), RowKey(), scratch);
    if (!row.ok()) return in_column(spec, "the fallback does not decode: ", row.error());
  }
  return decoder;
}

}  // namespace headrace
