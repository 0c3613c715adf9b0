// The last pass, on every kind of processor that this machine can play, against plain loops.
#include "codec/finish.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "codec/narrow_float.h"
#include "codec/targets.h"

namespace headrace {
namespace {

struct Case {
  int channels;
  DType dtype;
  Layout layout;
  bool mirror;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int channels = 1; channels <= 4; ++channels)
    for (const DType dtype : {DType::u8, DType::f16, DType::bf16, DType::f32})
      for (const Layout layout : {Layout::chw, Layout::hwc})
        for (const bool mirror : {false, true}) cases.push_back({channels, dtype, layout, mirror});
  return cases;
}

/// Half to even, from the standard's definition: neighbours are powers of two apart.
uint16_t half_of(float value) {
  const float size = std::fabs(value);
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  int exponent = 0;
  if (size == 0) return sign;
  if (size >= 65520) return static_cast<uint16_t>(sign | 0x7C00);
  std::frexp(size, &exponent);  // size is in [2^(exponent-1), 2^exponent)
  const int unit = std::max(exponent - 11, -24);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, -unit)));
  if (unit == -24) return static_cast<uint16_t>(sign | steps);
  return static_cast<uint16_t>(sign + (static_cast<uint32_t>(unit + 24) << 10) + steps);
}

uint16_t bfloat_of(float value) {
  // The neighbours are the float cut, and the next one that can be cut so.
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const float low = std::bit_cast<float>(bits & 0xFFFF0000u);
  const float high = std::bit_cast<float>((bits & 0xFFFF0000u) + 0x10000u);
  const double to_low = std::fabs(double{value} - low), to_high = std::fabs(high - double{value});
  const bool up = to_high < to_low || (to_high == to_low && (bits >> 16 & 1) == 1);
  return static_cast<uint16_t>((bits >> 16) + (up ? 1 : 0));
}

/// As torch does it: every step rounded to float.
float value_of(uint8_t byte, int channel, const Normalize* normalize, bool unit) {
  auto value = static_cast<float>(byte);
  if (!unit && normalize == nullptr) return value;
  value *= static_cast<float>(1.0 / 255.0);
  if (normalize == nullptr) return value;
  const auto pick = [&](const std::vector<double>& of) {
    return static_cast<float>(of[of.size() == 1 ? 0 : static_cast<size_t>(channel)]);
  };
  return (value - pick(normalize->mean)) / pick(normalize->std);
}

void store(std::string& row, size_t at, DType dtype, uint8_t byte, float value) {
  char* to = row.data() + at * dtype_size(dtype);
  const uint16_t narrow = dtype == DType::f16 ? half_of(value) : bfloat_of(value);
  if (dtype == DType::u8) *to = static_cast<char>(byte);
  if (dtype == DType::f32) std::memcpy(to, &value, sizeof value);
  if (dtype == DType::f16 || dtype == DType::bf16) std::memcpy(to, &narrow, sizeof narrow);
}

std::string plain_row(const Picture& picture, const Case& of, const Normalize* normalize,
                      bool unit) {
  const auto width = static_cast<size_t>(picture.width);
  const auto height = static_cast<size_t>(picture.height);
  const auto channels = static_cast<size_t>(picture.channels);
  std::string row(width * height * channels * dtype_size(of.dtype), '\0');
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x)
      for (size_t c = 0; c < channels; ++c) {
        const size_t from = of.mirror ? width - 1 - x : x;
        const uint8_t byte = picture.line(static_cast<int>(y))[from * channels + c];
        const size_t at = of.layout == Layout::chw ? (c * height + y) * width + x
                                                   : (y * width + x) * channels + c;
        store(row, at, of.dtype, byte, value_of(byte, static_cast<int>(c), normalize, unit));
      }
  return row;
}

class RandomPicture {
 public:
  RandomPicture(int width, int height, int channels) {
    const auto stride = static_cast<size_t>(width * channels) + 5;
    pixels_.resize(stride * static_cast<size_t>(height));
    CounterRng random(1, 2, 3, static_cast<uint64_t>(width));
    for (uint8_t& pixel : pixels_) pixel = static_cast<uint8_t>(random.below(256));
    picture_ = {pixels_.data(), width, height, channels, stride};
  }
  const Picture& picture() const { return picture_; }

 private:
  std::vector<uint8_t> pixels_;
  Picture picture_;
};

/// What lies behind the row must stay as it is.
std::string finished(const Picture& picture, const Case& of, bool stream, const PixelScale& scale,
                     size_t size) {
  constexpr size_t kBehind = 64;
  alignas(64) static std::array<std::byte, 1 << 16> row;
  EXPECT_LE(size + kBehind, row.size());
  std::fill_n(row.begin() + static_cast<ptrdiff_t>(size), kBehind, std::byte{0x5A});
  write_row(picture, {of.dtype, of.layout, of.mirror, stream}, scale, row.data());
  EXPECT_EQ(std::count(row.begin() + static_cast<ptrdiff_t>(size),
                       row.begin() + static_cast<ptrdiff_t>(size + kBehind), std::byte{0x5A}),
            static_cast<ptrdiff_t>(kBehind));
  return std::string(as_text({row.data(), size}));
}

void expect_on_each_target(const Case& of, const Picture& picture, const PixelScale& scale,
                           const std::string& row) {
  SCOPED_TRACE(std::to_string(picture.width) + " x " + std::to_string(picture.height) + " x " +
               std::to_string(of.channels) + " " + dtype_name(of.dtype));
  on_every_target([&] {
    for (const bool stream : {false, true})
      EXPECT_TRUE(finished(picture, of, stream, scale, row.size()) == row);
  });
}

void expect_equal(const Case& of, int width, int height) {
  const RandomPicture random(width, height, of.channels);
  const Picture& picture = random.picture();
  expect_on_each_target(of, picture, PixelScale::plain(), plain_row(picture, of, nullptr, false));
  if (of.dtype == DType::u8) return;
  expect_on_each_target(of, picture, PixelScale::unit_range(),
                        plain_row(picture, of, nullptr, true));
  for (const Normalize& normalize :
       {Normalize{{0.485, 0.456, 0.406, 0.5}, {0.229, 0.224, 0.225, 1e-3}}, Normalize{{0}, {-3}},
        Normalize{{0.3}, {1e-6}}, Normalize{{0}, {3e4}}})
    expect_on_each_target(of, picture, PixelScale::normalized(normalize),
                          plain_row(picture, of, &normalize, true));
}

TEST(Finish, GivesTheBytesOfPlainLoopsOnEveryKindOfProcessor) {
  for (const Case& of : all_cases())
    for (const auto& [width, height] : {std::pair{1, 7}, {7, 5}, {16, 4}, {65, 3}, {1100, 1}})
      expect_equal(of, width, height);
}

TEST(NarrowFloat, RoundsAsTheStandardSays) {
  CounterRng random(9, 8, 7, 6);
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<uint32_t>(random.below(uint64_t{1} << 32));
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(to_f16(value), half_of(value)) << value;
    if (std::fabs(value) < 1e38f) {
      ASSERT_EQ(to_bf16(value), bfloat_of(value)) << value;
    }
  }
  for (int i = 0; i < 0x7C00; ++i) {
    const auto half = std::ldexp(static_cast<float>(i), -24);  // the smallest numbers, and halves
    ASSERT_EQ(to_f16(half * 0.5f), half_of(half * 0.5f));
  }
}

TEST(Finish, IsCorrectlyRoundedForEveryByteAndAwkwardNumbers) {
  RandomPicture bytes(256, 1, 1);
  auto* pixels = const_cast<uint8_t*>(bytes.picture().pixels);
  for (int i = 0; i < 256; ++i) pixels[i] = static_cast<uint8_t>(i);
  CounterRng random(5, 6, 7, 8);
  on_every_target([&] {
    for (int i = 0; i < 300; ++i) {
      const Normalize normalize{{random.uniform(-2, 2)}, {random.uniform(1e-3, 2)}};
      const Case of{1, DType::f32, Layout::chw, false};
      const std::string row = plain_row(bytes.picture(), of, &normalize, true);
      ASSERT_TRUE(finished(bytes.picture(), of, false, PixelScale::normalized(normalize),
                           row.size()) == row);
    }
  });
}

}  // namespace
}  // namespace headrace
