// A FieldSpec is the user's recipe for one output column: which fields of a sample it is made from
// and how their bytes become a row of an array. Plain data: copy it, compare it, print it.
//
// Thread-safety: plain values. `make_decoder` (codec/decoder.h) checks a recipe and compiles it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/image_ops.h"

namespace headrace {

/// The type of an array's elements; numbers in memory are little-endian.
enum class DType : uint8_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  f32,
  f64,
  bool_,
  bf16,
  c64,
  c128,
};

/// Bytes of one element.
size_t dtype_size(DType dtype);
/// The name that numpy and torch use: "uint8", "float32", "bool", "bfloat16", "complex64" …
const char* dtype_name(DType dtype);
/// The other way round; nothing for a name that is none.
std::optional<DType> parse_dtype(std::string_view name);

/// The field's bytes as they are.
struct BytesSpec {
  bool operator==(const BytesSpec&) const = default;
};

/// The field's bytes, which must be valid UTF-8 (not normalised, a byte order mark is kept).
struct TextSpec {
  bool operator==(const TextSpec&) const = default;
};

/// The field's bytes, which must be one JSON document (RFC 8259).
struct JsonSpec {
  bool operator==(const JsonSpec&) const = default;
};

/// A decimal integer in ASCII, white space around it allowed.
struct IntegerSpec {
  DType dtype = DType::i64;  ///< any integer type
  bool operator==(const IntegerSpec&) const = default;
};

/// A decimal number in ASCII, also "inf" and "nan", white space around it allowed.
struct FloatSpec {
  DType dtype = DType::f32;  ///< f32 or f64
  bool operator==(const FloatSpec&) const = default;
};

/// A numpy array file; every row has its own type and shape.
struct NpySpec {
  bool operator==(const NpySpec&) const = default;
};

/// Channels of the row. Alpha is dropped, not blended, by rgb and gray. `unchanged` keeps what the
/// file has (1, 2, 3 or 4 channels; palettes become colours, 16 bits become 8).
enum class Channels : uint8_t { rgb, gray, rgba, unchanged };

enum class Layout : uint8_t { chw, hwc };

/// How exactly lossy pictures are decoded.
///
///   exact  the bytes that the codec's defaults give, so those of Pillow
///   fast   the fast transform and plain upsampling of colours; a picture that is made smaller by
///          half or more may be decoded at 1/2, 1/4 or 1/8 of its size. Other pixels, for speed.
enum class DecodeSettings : uint8_t { exact, fast };

/// A JPEG, PNG or WebP picture, told apart by its first bytes.
///
/// Randomness is a pure function of (seed, epoch, position, number of the operation in `ops`), so
/// two columns of one sample with the same geometric operations (a picture and its mask) get the
/// same crops and flips.
struct ImageSpec {
  /// Pillow's limit: a picture of more pixels is taken for a decompression bomb.
  static constexpr uint64_t kDefaultPixelLimit = 178'956'970;

  Channels channels = Channels::rgb;
  std::vector<ImageOp> ops;
  DType dtype = DType::u8;  ///< u8, f16, bf16 or f32; Normalize makes u8 f32
  bool unit_range = false;  ///< floats without Normalize: divide by 255
  Layout layout = Layout::chw;
  DecodeSettings decode = DecodeSettings::exact;
  bool upright = true;  ///< turn the picture as its EXIF orientation says
  uint64_t pixel_limit = kDefaultPixelLimit;
  bool operator==(const ImageSpec&) const = default;
};

/// Class numbers of the pixels of a picture in another column: a gray PNG of up to 16 bits (the
/// numbers as they are), one with a palette (its indices) or RGB (R + 256 G + 65536 B), as large as
/// the picture is when it is upright. A row is (height, width).
///
/// What moves the picture's pixels moves these too, by the same draws, taking the nearest number.
struct MaskSpec {
  std::string like;          ///< the column of the picture
  std::vector<ImageOp> ops;  ///< those of the picture
  DType dtype = DType::u8;   ///< u8, u16, i32 or i64
  uint32_t fill = 0;         ///< where there is no picture
  uint64_t pixel_limit = ImageSpec::kDefaultPixelLimit;
  bool operator==(const MaskSpec&) const = default;
};

/// What the first four numbers of a box are, in pixels from the upright picture's upper left
/// corner.
enum class BoxFormat : uint8_t { xyxy, xywh, cxcywh };

/// Boxes in a picture in another column, from JSON or a numpy array of (boxes, numbers). A row is
/// f32 of (boxes left, 4 + extra), in the format it came in. Boxes go with the picture's pixels and
/// are clipped to what is left of it.
struct BoxesSpec {
  std::string like;          ///< the column of the picture
  std::vector<ImageOp> ops;  ///< those of the picture
  BoxFormat format = BoxFormat::xyxy;
  /// JSON: names on the way to the boxes, separated by dots; lists on the way are gone through.
  std::string at;
  std::string labels;      ///< the way to one more number a box; empty: there is none
  int extra = 0;           ///< numbers after the first four, which stay with their box
  double min_visible = 0;  ///< a box of which a smaller share of its area is left is dropped
  bool operator==(const BoxesSpec&) const = default;
};

using FieldKind = std::variant<BytesSpec, TextSpec, JsonSpec, IntegerSpec, FloatSpec, NpySpec,
                               ImageSpec, MaskSpec, BoxesSpec>;

/// The column and the operations of the picture that a mask or boxes go with.
struct PictureLink {
  const std::string& column;
  const std::vector<ImageOp>& ops;
};
std::optional<PictureLink> picture_link(const FieldKind& kind);

struct FieldSpec {
  std::string name;                  ///< of the output column
  std::vector<std::string> sources;  ///< fields of a sample, tried in this order
  FieldKind kind;
  /// Decoded in the place of a sample's bytes when it has none of the sources ("-1", "0.5", "").
  std::optional<std::string> fallback;
  bool operator==(const FieldSpec&) const = default;
};

/// "jpg;jpeg;png" -> {"jpg", "jpeg", "png"}.
std::vector<std::string> parse_sources(std::string_view list);

}  // namespace headrace
