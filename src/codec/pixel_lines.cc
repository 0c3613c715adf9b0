#include "codec/pixel_lines.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

// This file is compiled once for each kind of processor: Highway includes it again and again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/pixel_lines.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;  // kScalePeriod is a multiple of any such number of lanes
using FloatVec = hn::Vec<Floats>;

// Each of the three gives the pixels that it has done: whole vectors of them.
#if HWY_TARGET == HWY_SCALAR

template <int kChannels, bool kMirror>
size_t split_vectors(const uint8_t*, size_t, uint8_t* const*) {
  return 0;
}

template <int kChannels>
size_t join_vectors(const uint8_t* const*, size_t, uint8_t*) {
  return 0;
}

template <int kChannels>
size_t mirror_vectors(const uint8_t*, size_t, uint8_t*) {
  return 0;
}

#else

using Bytes = hn::FixedTag<uint8_t, 16>;
using ByteVec = hn::Vec<Bytes>;
constexpr size_t kLanes = 16;

template <bool kMirror>
HWY_INLINE ByteVec ordered(Bytes d, ByteVec v) {
  if constexpr (!kMirror) return v;
  alignas(16) static constexpr uint8_t kBackwards[kLanes] = {15, 14, 13, 12, 11, 10, 9, 8,
                                                             7,  6,  5,  4,  3,  2,  1, 0};
  return hn::TableLookupBytes(v, hn::Load(d, kBackwards));
}

/// The pixels of a vector, channel by channel.
template <int kChannels, bool kMirror>
HWY_INLINE void load_pixels(Bytes d, const uint8_t* in, ByteVec* v) {
  if constexpr (kChannels == 1) v[0] = hn::LoadU(d, in);
  if constexpr (kChannels == 2) hn::LoadInterleaved2(d, in, v[0], v[1]);
  if constexpr (kChannels == 3) hn::LoadInterleaved3(d, in, v[0], v[1], v[2]);
  if constexpr (kChannels == 4) hn::LoadInterleaved4(d, in, v[0], v[1], v[2], v[3]);
  for (int c = 0; c < kChannels; ++c) v[c] = ordered<kMirror>(d, v[c]);
}

template <int kChannels, bool kMirror>
size_t split_vectors(const uint8_t* in, size_t count, uint8_t* const* out) {
  const Bytes d;
  size_t x = 0;
  for (; x + kLanes <= count; x += kLanes) {
    ByteVec v[kChannels];
    load_pixels<kChannels, kMirror>(d, in + (kMirror ? count - x - kLanes : x) * kChannels, v);
    for (int c = 0; c < kChannels; ++c) hn::StoreU(v[c], d, out[c] + x);
  }
  return x;
}

template <int kChannels>
HWY_INLINE void store_pixels(Bytes d, const ByteVec* v, uint8_t* out) {
  if constexpr (kChannels == 1) hn::StoreU(v[0], d, out);
  if constexpr (kChannels == 2) hn::StoreInterleaved2(v[0], v[1], d, out);
  if constexpr (kChannels == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, out);
  if constexpr (kChannels == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, out);
}

template <int kChannels>
size_t join_vectors(const uint8_t* const* in, size_t count, uint8_t* out) {
  const Bytes d;
  size_t x = 0;
  for (; x + kLanes <= count; x += kLanes) {
    ByteVec v[kChannels];
    for (int c = 0; c < kChannels; ++c) v[c] = hn::LoadU(d, in[c] + x);
    store_pixels<kChannels>(d, v, out + x * kChannels);
  }
  return x;
}

template <int kChannels>
size_t mirror_vectors(const uint8_t* in, size_t count, uint8_t* out) {
  const Bytes d;
  size_t x = 0;
  for (; x + kLanes <= count; x += kLanes) {
    ByteVec v[kChannels];
    load_pixels<kChannels, true>(d, in + (count - x - kLanes) * kChannels, v);
    store_pixels<kChannels>(d, v, out + x * kChannels);
  }
  return x;
}

#endif

template <int kChannels, bool kMirror>
void split(const uint8_t* in, size_t count, uint8_t* const* out) {
  for (size_t x = split_vectors<kChannels, kMirror>(in, count, out); x < count; ++x)
    for (size_t c = 0; c < kChannels; ++c)
      out[c][x] = in[(kMirror ? count - 1 - x : x) * kChannels + c];
}

template <int kChannels>
void join(const uint8_t* const* in, size_t count, uint8_t* out) {
  for (size_t x = join_vectors<kChannels>(in, count, out); x < count; ++x)
    for (size_t c = 0; c < kChannels; ++c) out[x * kChannels + c] = in[c][x];
}

template <int kChannels>
void mirrored(const uint8_t* in, size_t count, uint8_t* out) {
  for (size_t x = mirror_vectors<kChannels>(in, count, out); x < count; ++x)
    std::copy_n(in + (count - 1 - x) * kChannels, kChannels, out + x * kChannels);
}

template <int kChannels>
void split_or_mirror(const uint8_t* in, size_t count, bool mirror, uint8_t* const* out) {
  if (mirror) return split<kChannels, true>(in, count, out);
  split<kChannels, false>(in, count, out);
}

void Split(const uint8_t* in, size_t count, int channels, bool mirror, uint8_t* const* out) {
  switch (channels) {
    case 1:
      return split_or_mirror<1>(in, count, mirror, out);
    case 2:
      return split_or_mirror<2>(in, count, mirror, out);
    case 3:
      return split_or_mirror<3>(in, count, mirror, out);
    default:
      return split_or_mirror<4>(in, count, mirror, out);
  }
}

void Join(const uint8_t* const* in, size_t count, int channels, uint8_t* out) {
  switch (channels) {
    case 1:
      return join<1>(in, count, out);
    case 2:
      return join<2>(in, count, out);
    case 3:
      return join<3>(in, count, out);
    default:
      return join<4>(in, count, out);
  }
}

void Mirror(const uint8_t* in, size_t count, int channels, uint8_t* out) {
  switch (channels) {
    case 1:
      return mirrored<1>(in, count, out);
    case 2:
      return mirrored<2>(in, count, out);
    case 3:
      return mirrored<3>(in, count, out);
    default:
      return mirrored<4>(in, count, out);
  }
}

/// x / std, correctly rounded.
template <bool kByReciprocal>
HWY_INLINE FloatVec quotient(Floats d, FloatVec x, const LineScale& scale, size_t at) {
  const FloatVec std = hn::LoadU(d, scale.std + at);
  if constexpr (!kByReciprocal) return hn::Div(x, std);
  const FloatVec reciprocal = hn::LoadU(d, scale.reciprocal + at);
  const FloatVec near = hn::Mul(x, reciprocal);
  const FloatVec left = hn::NegMulAdd(near, std, x);
  return hn::MulAdd(left, reciprocal, near);
}

/// `at`: the place of the first value in the scale's period.
template <LineScale::Kind kKind, bool kByReciprocal>
HWY_INLINE FloatVec value_of(Floats d, const uint8_t* in, const LineScale& scale, size_t at) {
  const hn::Rebind<uint8_t, Floats> bytes;
  const hn::Rebind<int32_t, Floats> integers;
  const FloatVec v = hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(bytes, in)));
  if constexpr (kKind == LineScale::Kind::plain) return v;
  const FloatVec unit = hn::Mul(v, hn::Set(d, static_cast<float>(1.0 / 255.0)));
  if constexpr (kKind == LineScale::Kind::unit) return unit;
  return quotient<kByReciprocal>(d, hn::Sub(unit, hn::LoadU(d, scale.mean + at)), scale, at);
}

struct ToF32 {
  using T = float;
  static FloatVec of(Floats, FloatVec v) { return v; }
};

// The two narrow types are rounded by hand: where the processor has no instruction for it, Highway
// does not round half to even.

using Words = hn::RebindToUnsigned<Floats>;

HWY_INLINE auto low_half(Floats d, hn::Vec<Words> bits) {
  const hn::RebindToSigned<Floats> i32;
  return hn::DemoteTo(hn::Rebind<uint16_t, decltype(d)>(), hn::BitCast(i32, bits));
}

struct ToF16 {
  using T = uint16_t;
  static auto of(Floats d, FloatVec v) {
    const Words u32;
    const auto size = hn::BitCast(u32, hn::Abs(v));
    // From the exponent of f32 to that of f16, and from 23 bits of fraction to 10.
    const auto odd = hn::And(hn::ShiftRight<13>(size), hn::Set(u32, 1));
    const auto rounded =
        hn::Add(hn::Sub(size, hn::Set(u32, 112u << 23)), hn::Add(odd, hn::Set(u32, 0xFFF)));
    const auto normal = hn::Min(hn::ShiftRight<13>(rounded), hn::Set(u32, 0x7C00));
    // Below 2^-14 all numbers are 2^-24 apart, as floats are from 0.5 on: the sum rounds them.
    const auto sum = hn::BitCast(u32, hn::Add(hn::Abs(v), hn::Set(d, 0.5f)));
    const auto small = hn::Sub(sum, hn::BitCast(u32, hn::Set(d, 0.5f)));
    const auto is_small = hn::Lt(hn::Abs(v), hn::Set(d, 0x1p-14f));
    const auto sign = hn::And(hn::ShiftRight<16>(hn::BitCast(u32, v)), hn::Set(u32, 0x8000));
    return low_half(d, hn::Or(sign, hn::IfThenElse(hn::RebindMask(u32, is_small), small, normal)));
  }
};

struct ToBf16 {
  using T = uint16_t;
  static auto of(Floats d, FloatVec v) {
    const Words u32;
    const auto bits = hn::BitCast(u32, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(u32, 0x7FFF)));
    return low_half(d, hn::ShiftRight<16>(rounded));
  }
};

template <class To, LineScale::Kind kKind, bool kByReciprocal>
void convert(const uint8_t* in, size_t count, const LineScale& scale, bool stream,
             std::byte* bytes) {
  using T = typename To::T;
  const Floats d;
  const hn::Rebind<T, Floats> to;
  const size_t lanes = hn::Lanes(d);
  auto* out = reinterpret_cast<T*>(bytes);
  // Of less than 16 bytes there is no streaming store: one would write over the end.
  const size_t vector = lanes * sizeof(T);
  const bool streams = stream && vector >= 16 && reinterpret_cast<uintptr_t>(out) % vector == 0;
  size_t x = 0;
  size_t at = 0;
  for (; x + lanes <= count; x += lanes) {
    const auto v = To::of(d, value_of<kKind, kByReciprocal>(d, in + x, scale, at));
    if (streams) {
      hn::Stream(v, to, out + x);
    } else {
      hn::StoreU(v, to, out + x);
    }
    at = at + lanes == kScalePeriod ? 0 : at + lanes;
  }
  if (x == count) return;
  uint8_t rest_in[16] = {};
  alignas(64) T rest_out[16];
  std::copy_n(in + x, count - x, rest_in);
  hn::StoreU(To::of(d, value_of<kKind, kByReciprocal>(d, rest_in, scale, at)), to, rest_out);
  std::memcpy(out + x, rest_out, (count - x) * sizeof(T));
}

template <class To>
void convert_as(const uint8_t* in, size_t count, const LineScale& scale, bool stream,
                std::byte* out) {
  using Kind = LineScale::Kind;
  if (scale.kind == Kind::plain)
    return convert<To, Kind::plain, false>(in, count, scale, stream, out);
  if (scale.kind == Kind::unit)
    return convert<To, Kind::unit, false>(in, count, scale, stream, out);
  if (HWY_NATIVE_FMA && scale.by_reciprocal)
    return convert<To, Kind::normalized, true>(in, count, scale, stream, out);
  convert<To, Kind::normalized, false>(in, count, scale, stream, out);
}

void Convert(const uint8_t* in, size_t count, const LineScale& scale, DType dtype, bool stream,
             std::byte* out) {
  if (dtype == DType::f16) return convert_as<ToF16>(in, count, scale, stream, out);
  if (dtype == DType::bf16) return convert_as<ToBf16>(in, count, scale, stream, out);
  convert_as<ToF32>(in, count, scale, stream, out);
}

}  // namespace
}  // namespace headrace::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(Split);
HWY_EXPORT(Join);
HWY_EXPORT(Mirror);
HWY_EXPORT(Convert);

void split_line(const uint8_t* in, size_t count, int channels, bool mirror, uint8_t* const* out) {
  HWY_DYNAMIC_DISPATCH(Split)(in, count, channels, mirror, out);
}

void join_line(const uint8_t* const* in, size_t count, int channels, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(Join)(in, count, channels, out);
}

void mirror_line(const uint8_t* in, size_t count, int channels, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(Mirror)(in, count, channels, out);
}

void convert_line(const uint8_t* in, size_t count, const LineScale& scale, DType dtype, bool stream,
                  std::byte* out) {
  HWY_DYNAMIC_DISPATCH(Convert)(in, count, scale, dtype, stream, out);
}

void end_stream() { hwy::FlushStream(); }

}  // namespace headrace
#endif
