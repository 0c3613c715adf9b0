// The inner loops of the last pass, over one line of pixels at a time, by the widest SIMD that the
// processor has (Highway, chosen at run time).
//
// The same bytes on every processor: there is one correctly rounded result for each value, and all
// of them give it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headrace/field.h"

namespace headrace {

/// Numbers of the channels are kept in this period: a multiple of every number of channels, and of
/// every number of lanes, so that a vector finds its own numbers for interleaved channels, too.
inline constexpr size_t kScalePeriod = 48;

/// Pixels to take at a time where lines between two loops shall stay in the first cache.
inline constexpr size_t kLineChunk = 1024;

/// What becomes of a byte v: v, v / 255, or (v / 255 - mean) / std, each step rounded to f32, as
/// torch does it.
struct LineScale {
  enum class Kind : uint8_t { plain, unit, normalized };
  Kind kind = Kind::plain;
  /// Whether x * reciprocal, corrected by what it leaves, is x / std for all 256 bytes. Division is
  /// the slowest instruction of all. (P. Markstein, IBM Journal of R&D 34, 1990.)
  bool by_reciprocal = false;
  float mean[kScalePeriod] = {};
  float std[kScalePeriod] = {};
  float reciprocal[kScalePeriod] = {};
};

/// out[c] gets channel c of `count` pixels. Mirrored: the last pixel comes first.
void split_line(const uint8_t* in, size_t count, int channels, bool mirror, uint8_t* const* out);

/// The other way round: the channels of `count` pixels become one line.
void join_line(const uint8_t* const* in, size_t count, int channels, uint8_t* out);

/// The pixels in the other order.
void mirror_line(const uint8_t* in, size_t count, int channels, uint8_t* out);

/// `count` bytes to numbers of a type: f32, f16 or bf16 (rounded to nearest, half to even). A
/// streamed line goes past the caches where it is aligned; call end_stream() after the last one.
void convert_line(const uint8_t* in, size_t count, const LineScale& scale, DType dtype, bool stream,
                  std::byte* out);

/// Makes streamed lines visible to other threads that learn of them by a lock or an atomic.
void end_stream();

}  // namespace headrace
