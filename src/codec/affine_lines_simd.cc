// The places of a part of a line are computed in vectors of pixels, then each pixel in a vector of
// its channels.
#include <algorithm>
#include <cstring>

#include "codec/affine_lines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/affine_lines_simd.cc"
#include <hwy/foreach_target.h>
//
#include "codec/byte_floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

void warp_all(const Warp& warp, int y, uint8_t* out) {
  warp_pixels_plain(warp, y, 0, warp.from.width, out);
}

#else

constexpr int kPart = 256;     // pixels at a time
constexpr size_t kVector = 4;  // channels that are computed, whether there are as many or not

/// Where the pixels of a part lie in the source: whole numbers, and what is left of them.
struct Places {
  HWY_ALIGN int32_t x[kPart];
  HWY_ALIGN int32_t y[kPart];
  HWY_ALIGN float shares[4][kPart];  ///< of that pixel, the one to the right, and the two below
  HWY_ALIGN float inside[kPart];     ///< their sum
};

using Integers = hn::RebindToSigned<Floats>;

HWY_INLINE FloatVec bounded(Floats d, FloatVec place, int size) {
  const auto most = hn::Set(d, static_cast<float>(size) + 1.0F);
  return hn::Min(hn::Max(place, hn::Set(d, -2.0F)), most);
}

HWY_INLINE void store_nearest(Floats, FloatVec x, FloatVec y, size_t at, Places& places) {
  const Integers integers;
  hn::Store(hn::NearestInt(x), integers, places.x + at);
  hn::Store(hn::NearestInt(y), integers, places.y + at);
}

HWY_INLINE void store_shares(Floats d, FloatVec x, FloatVec y, size_t at, Places& places) {
  const Integers integers;
  const auto left = hn::Floor(x);
  const auto top = hn::Floor(y);
  hn::Store(hn::ConvertTo(integers, left), integers, places.x + at);
  hn::Store(hn::ConvertTo(integers, top), integers, places.y + at);
  const auto one = hn::Set(d, 1.0F);
  const auto right_share = hn::Sub(x, left);
  const auto down_share = hn::Sub(y, top);
  const auto left_share = hn::Sub(one, right_share);
  const auto up_share = hn::Sub(one, down_share);
  const auto s0 = hn::Mul(left_share, up_share);
  const auto s1 = hn::Mul(right_share, up_share);
  const auto s2 = hn::Mul(left_share, down_share);
  const auto s3 = hn::Mul(right_share, down_share);
  hn::Store(s0, d, places.shares[0] + at);
  hn::Store(s1, d, places.shares[1] + at);
  hn::Store(s2, d, places.shares[2] + at);
  hn::Store(s3, d, places.shares[3] + at);
  hn::Store(hn::Add(hn::Add(hn::Add(s0, s1), s2), s3), d, places.inside + at);
}

/// Of kPart pixels from `begin` on, also where the line has less.
template <bool kNearest>
void find_places(const Warp& warp, int y, int begin, Places& places) {
  const Floats d;
  const Integers integers;
  const auto& m = warp.matrix;
  const float half_width = 0.5F * static_cast<float>(warp.from.width);
  const float half_height = 0.5F * static_cast<float>(warp.from.height);
  const float down = static_cast<float>(y) + 0.5F - half_height;
  const auto place = [&](float a, FloatVec right, float b, float c, float half) {
    const auto turned = hn::Add(hn::Mul(hn::Set(d, a), right), hn::Set(d, b * down));
    const auto moved = hn::Add(hn::Add(turned, hn::Set(d, c)), hn::Set(d, half));
    return hn::Sub(moved, hn::Set(d, 0.5F));
  };
  for (size_t at = 0; at < kPart; at += hn::Lanes(d)) {
    const auto number = hn::Iota(integers, static_cast<int32_t>(begin + static_cast<int>(at)));
    const auto middle = hn::Add(hn::ConvertTo(d, number), hn::Set(d, 0.5F));
    const auto right = hn::Sub(middle, hn::Set(d, half_width));
    const auto x = bounded(d, place(m[0], right, m[1], m[2], half_width), warp.from.width);
    const auto py = bounded(d, place(m[3], right, m[4], m[5], half_height), warp.from.height);
    if constexpr (kNearest) {
      store_nearest(d, x, py, at, places);
    } else {
      store_shares(d, x, py, at, places);
    }
  }
}

template <size_t kChannels>
void take_nearest(const Warp& warp, const Places& places, int count, uint8_t* out) {
  const Picture& from = warp.from;
  for (int i = 0; i < count; ++i, out += kChannels) {
    const int x = places.x[i];
    const int y = places.y[i];
    const bool inside = x >= 0 && y >= 0 && x < from.width && y < from.height;
    const uint8_t* pixel =
        inside ? from.line(y) + static_cast<size_t>(x) * kChannels : warp.fill.data();
    std::memcpy(out, pixel, kChannels);
  }
}

/// The pixel between four, all of which lie inside: those at `above` and `below`, and those to the
/// right of them.
template <size_t kChannels>
HWY_INLINE void blend_pixel(const uint8_t* above, const uint8_t* below, const Places& places, int i,
                            hn::Vec<hn::FixedTag<float, kVector> > fill, uint8_t* out) {
  const hn::FixedTag<float, kVector> d;
  const auto part = [&](const uint8_t* pixel, size_t share) {
    return hn::Mul(load_bytes(d, pixel), hn::Set(d, places.shares[share][i]));
  };
  const auto upper = hn::Add(part(above, 0), part(above + kChannels, 1));
  const auto sum = hn::Add(hn::Add(upper, part(below, 2)), part(below + kChannels, 3));
  const auto inside = hn::Set(d, places.inside[i]);
  store_bytes(d, hn::Round(hn::Add(hn::Mul(hn::Sub(sum, fill), inside), fill)), out);
}

/// `begin`: the place of the first pixel in its line.
template <size_t kChannels>
void take_bilinear(const Warp& warp, const Places& places, int line, int begin, int count,
                   uint8_t* out) {
  const Picture& from = warp.from;
  const hn::FixedTag<float, kVector> d;
  const auto fill = load_bytes(d, warp.fill.data());
  // A whole vector is read and written: near the end of a line that would be too much.
  constexpr int kOver = static_cast<int>((kVector + kChannels - 1) / kChannels) - 1;
  for (int i = 0; i < count; ++i, out += kChannels) {
    const int x = places.x[i];
    const int y = places.y[i];
    if (x < -1 || y < -1 || x >= from.width || y >= from.height) {
      std::memcpy(out, warp.fill.data(), kChannels);
    } else if (x >= 0 && y >= 0 && x + 1 + kOver < from.width && y + 1 < from.height &&
               begin + i + kOver < from.width) {
      const uint8_t* above = from.line(y) + static_cast<size_t>(x) * kChannels;
      blend_pixel<kChannels>(above, above + from.stride, places, i, fill, out);
    } else {
      warp_pixels_plain(warp, line, begin + i, begin + i + 1, out);
    }
  }
}

template <size_t kChannels>
void warp_channels(const Warp& warp, int y, uint8_t* out) {
  Places places;
  for (int begin = 0; begin < warp.from.width; begin += kPart, out += kPart * kChannels) {
    const int count = std::min(kPart, warp.from.width - begin);
    if (warp.filter == Interpolation::nearest) {
      find_places<true>(warp, y, begin, places);
      take_nearest<kChannels>(warp, places, count, out);
    } else {
      find_places<false>(warp, y, begin, places);
      take_bilinear<kChannels>(warp, places, y, begin, count, out);
    }
  }
}

void warp_all(const Warp& warp, int y, uint8_t* out) {
  switch (warp.from.channels) {
    case 1:
      return warp_channels<1>(warp, y, out);
    case 2:
      return warp_channels<2>(warp, y, out);
    case 3:
      return warp_channels<3>(warp, y, out);
    default:
      return warp_channels<4>(warp, y, out);
  }
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {
namespace {
HWY_EXPORT(warp_all);
}  // namespace

void warp_line(const Warp& warp, int y, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(warp_all)(warp, y, out);
}

}  // namespace headrace
#endif
