#include <cstring>

#include "codec/color_lines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/color_lines_simd.cc"
#include <hwy/foreach_target.h>
//
#include "codec/byte_floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSE2  // have no look-up of their own

void look_up(const uint8_t* in, size_t count, const ByteTable& table, uint8_t* out) {
  look_up_line_plain(in, count, table, out);
}

#else

/// The bytes' entries among 16 << kBits: of each 16 the one that the lower four bits name, and of
/// those the one that the next kBits name.
template <int kBits, class D, class V>
HWY_INLINE V entries(D d, const uint8_t* table, V lower_four, V bytes) {
  if constexpr (kBits == 0) {
    return hn::TableLookupBytes(hn::LoadDup128(d, table), lower_four);
  } else {
    constexpr uint8_t kHalf = uint8_t{16} << (kBits - 1);
    const auto in_upper = hn::TestBit(bytes, hn::Set(d, kHalf));
    return hn::IfThenElse(in_upper, entries<kBits - 1>(d, table + kHalf, lower_four, bytes),
                          entries<kBits - 1>(d, table, lower_four, bytes));
  }
}

void look_up(const uint8_t* in, size_t count, const ByteTable& table, uint8_t* out) {
  const hn::ScalableTag<uint8_t> d;
  HWY_ALIGN uint8_t copy[256];  // which the bytes that are written cannot change
  std::memcpy(copy, table.data(), sizeof copy);
  const bool done = by_vectors(d, count, [&](size_t x) {
    const auto bytes = hn::LoadU(d, in + x);
    const auto lower_four = hn::And(bytes, hn::Set(d, uint8_t{15}));
    hn::StoreU(entries<4>(d, copy, lower_four, bytes), d, out + x);
  });
  if (!done) look_up_line_plain(in, count, table, out);
}

#endif

void luma(const uint8_t* const* rgb, size_t count, uint8_t* out) {
  const Floats d;
  const bool done = by_vectors(d, count, [&](size_t x) {
    const auto r = hn::Mul(load_bytes(d, rgb[0] + x), hn::Set(d, 0.2989F));
    const auto g = hn::Mul(load_bytes(d, rgb[1] + x), hn::Set(d, 0.587F));
    const auto b = hn::Mul(load_bytes(d, rgb[2] + x), hn::Set(d, 0.114F));
    store_bytes(d, hn::Add(hn::Add(r, g), b), out + x);
  });
  if (!done) luma_line_plain(rgb, count, out);
}

void mix(const uint8_t* values, const uint8_t* others, size_t count, float factor, uint8_t* out) {
  const Floats d;
  const auto share = hn::Set(d, factor);
  const auto rest = hn::Set(d, 1 - factor);
  const bool done = by_vectors(d, count, [&](size_t x) {
    const auto value = hn::Mul(load_bytes(d, values + x), share);
    const auto other = hn::Mul(load_bytes(d, others + x), rest);
    store_bytes(d, hn::Add(value, other), out + x);
  });
  if (!done) mix_line_plain(values, others, count, factor, out);
}

/// A channel's byte.
HWY_INLINE void store_channel(Floats d, float number, FloatVec hue6, FloatVec value,
                              FloatVec chroma, uint8_t* out) {
  const auto six = hn::Set(d, 6.0F);
  const auto one = hn::Set(d, 1.0F);
  const auto far = hn::Add(hn::Set(d, number), hue6);
  const auto k = hn::IfThenElse(hn::Ge(far, six), hn::Sub(far, six), far);
  const auto up = hn::Min(hn::Min(k, hn::Sub(hn::Set(d, 4.0F), k)), one);
  const auto unit = hn::Sub(value, hn::Mul(chroma, hn::Max(up, hn::Zero(d))));
  store_bytes(d, hn::Mul(unit, hn::Set(d, 255.999F)), out);
}

void turn_hue(const uint8_t* const* rgb, size_t count, float turn, uint8_t* const* out) {
  const Floats d;
  const auto unit = hn::Set(d, 1.0F / 255.0F);
  const auto one = hn::Set(d, 1.0F);
  const bool done = by_vectors(d, count, [&](size_t x) {
    const auto r = hn::Mul(load_bytes(d, rgb[0] + x), unit);
    const auto g = hn::Mul(load_bytes(d, rgb[1] + x), unit);
    const auto b = hn::Mul(load_bytes(d, rgb[2] + x), unit);
    const auto most = hn::Max(hn::Max(r, g), b);
    const auto range = hn::Sub(most, hn::Min(hn::Min(r, g), b));
    const auto is_gray = hn::Eq(range, hn::Zero(d));
    const auto divisor = hn::IfThenElse(is_gray, one, range);
    const auto rc = hn::Div(hn::Sub(most, r), divisor);
    const auto gc = hn::Div(hn::Sub(most, g), divisor);
    const auto bc = hn::Div(hn::Sub(most, b), divisor);
    const auto from_green = hn::Sub(hn::Add(hn::Set(d, 2.0F), rc), bc);
    const auto from_blue = hn::Sub(hn::Add(hn::Set(d, 4.0F), gc), rc);
    const auto not_from_red = hn::IfThenElse(hn::Eq(most, g), from_green, from_blue);
    const auto sixths = hn::IfThenElse(hn::Eq(most, r), hn::Sub(bc, gc), not_from_red);
    const auto turned = hn::Add(hn::Mul(sixths, hn::Set(d, 1.0F / 6.0F)), hn::Set(d, turn));
    const auto hue = hn::Sub(turned, hn::Floor(turned));
    const auto saturation = hn::Div(range, hn::IfThenElse(is_gray, one, most));
    const auto hue6 = hn::Min(hn::Mul(hue, hn::Set(d, 6.0F)), hn::Set(d, 5.9999995F));
    const auto chroma = hn::Mul(most, saturation);
    store_channel(d, 5, hue6, most, chroma, out[0] + x);
    store_channel(d, 3, hue6, most, chroma, out[1] + x);
    store_channel(d, 1, hue6, most, chroma, out[2] + x);
  });
  if (!done) turn_hue_line_plain(rgb, count, turn, out);
}

void sharpen(const uint8_t* const* lines, size_t count, size_t step, float factor, uint8_t* out) {
  const Floats d;
  const auto rest = hn::Set(d, 1 - factor);
  const bool done = by_vectors(d, count, [&](size_t x) {
    const auto value = load_bytes(d, lines[1] + x);
    auto sum = hn::Mul(value, hn::Set(d, 4.0F));
    // Sums of bytes are whole numbers that a float holds.
    for (size_t i = 0; i < 3; ++i) {
      const auto sides =
          hn::Add(load_bytes(d, lines[i] + x - step), load_bytes(d, lines[i] + x + step));
      sum = hn::Add(sum, hn::Add(sides, load_bytes(d, lines[i] + x)));
    }
    const auto blur = hn::Round(hn::Mul(sum, hn::Set(d, static_cast<float>(1.0 / 13.0))));
    store_bytes(d, hn::Add(value, hn::Mul(hn::Sub(blur, value), rest)), out + x);
  });
  if (!done) sharpen_line_plain(lines, count, step, factor, out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {
namespace {
HWY_EXPORT(look_up);
HWY_EXPORT(luma);
HWY_EXPORT(mix);
HWY_EXPORT(turn_hue);
HWY_EXPORT(sharpen);
}  // namespace

void look_up_line(const uint8_t* in, size_t count, const ByteTable& table, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(look_up)(in, count, table, out);
}

void luma_line(const uint8_t* const* rgb, size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(luma)(rgb, count, out);
}

void mix_line(const uint8_t* values, const uint8_t* others, size_t count, float factor,
              uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(mix)(values, others, count, factor, out);
}

void turn_hue_line(const uint8_t* const* rgb, size_t count, float turn, uint8_t* const* out) {
  HWY_DYNAMIC_DISPATCH(turn_hue)(rgb, count, turn, out);
}

void sharpen_line(const uint8_t* const* lines, size_t count, size_t step, float factor,
                  uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(sharpen)(lines, count, step, factor, out);
}

}  // namespace headrace
#endif
