// The vector loops of operations on values against the plain ones: the same bytes, on every kind of
// processor that this machine can play.
#include <array>
#include <bit>
#include <cmath>

#include "codec/affine.h"
#include "codec/affine_lines.h"
#include "codec/blur_lines.h"
#include "codec/color_lines.h"
#include "codec/pixel_lines.h"
#include "codec/targets.h"

namespace headrace {
namespace {

constexpr size_t kLongest = 200;
constexpr float kFactors[] = {0, 0.1F, 0.5F, 0.999F, 1, 1.3F, 1.9F, 40, 1e9F};

using Bytes = std::vector<uint8_t>;

/// All pairs of bytes.
std::array<Bytes, 2> all_pairs() {
  std::array<Bytes, 2> pairs;
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      pairs[0].push_back(static_cast<uint8_t>(a));
      pairs[1].push_back(static_cast<uint8_t>(b));
    }
  return pairs;
}

/// Colours on a grid, with its corners.
std::array<Bytes, 3> many_colors() {
  std::array<Bytes, 3> rgb;
  for (int r = 0; r < 256; r += 3)
    for (int g = 0; g < 256; g += 5)
      for (int b = 0; b < 256; b += 5) {
        rgb[0].push_back(static_cast<uint8_t>(r));
        rgb[1].push_back(static_cast<uint8_t>(g));
        rgb[2].push_back(static_cast<uint8_t>(b));
      }
  return rgb;
}

std::array<Bytes, 3> noise_colors(size_t count) {
  return {noise(count, 1), noise(count, 2), noise(count, 3)};
}

/// Calls `check` with colours of all lengths, and with many values.
template <typename Check>
void with_colors(const Check& check) {
  on_every_target([&] {
    for (size_t count = 0; count <= kLongest; ++count) check(noise_colors(count));
    check(many_colors());
  });
}

std::array<const uint8_t*, 3> lines_of(const std::array<Bytes, 3>& colors) {
  return {colors[0].data(), colors[1].data(), colors[2].data()};
}

TEST(ValueLines, LumaIsThatOfThePlainLoop) {
  with_colors([](const std::array<Bytes, 3>& colors) {
    Bytes plain(colors[0].size()), vectors(colors[0].size());
    luma_line_plain(lines_of(colors).data(), plain.size(), plain.data());
    luma_line(lines_of(colors).data(), plain.size(), vectors.data());
    ASSERT_EQ(plain, vectors);
  });
}

TEST(ValueLines, TurnedHuesAreThoseOfThePlainLoop) {
  with_colors([](const std::array<Bytes, 3>& colors) {
    for (const float turn : {-0.5F, -0.13F, 0.0F, 0.1F, 0.5F}) {
      std::array<Bytes, 3> plain = colors, vectors = colors;
      uint8_t* const to_plain[] = {plain[0].data(), plain[1].data(), plain[2].data()};
      uint8_t* const to_vectors[] = {vectors[0].data(), vectors[1].data(), vectors[2].data()};
      turn_hue_line_plain(lines_of(colors).data(), colors[0].size(), turn, to_plain);
      turn_hue_line(lines_of(colors).data(), colors[0].size(), turn, to_vectors);
      ASSERT_EQ(plain, vectors) << turn;
    }
  });
}

TEST(ValueLines, MixesAreThoseOfThePlainLoop) {
  const std::array<Bytes, 2> pairs = all_pairs();
  on_every_target([&] {
    for (const float factor : kFactors)
      for (size_t count = 0; count <= pairs[0].size();
           count = count == kLongest ? pairs[0].size() : count + 1) {
        Bytes plain(count), vectors(count);
        mix_line_plain(pairs[0].data(), pairs[1].data(), count, factor, plain.data());
        mix_line(pairs[0].data(), pairs[1].data(), count, factor, vectors.data());
        ASSERT_EQ(plain, vectors) << factor << ", " << count;
      }
  });
}

TEST(ValueLines, LookUpsAreThoseOfThePlainLoop) {
  const Bytes entries = noise(256, 4);
  ByteTable table;
  std::copy(entries.begin(), entries.end(), table.begin());
  const Bytes all = all_pairs()[1];
  on_every_target([&] {
    for (size_t count = 0; count <= 3 * 256; ++count) {
      Bytes plain(count), vectors(count);
      look_up_line_plain(all.data(), count, table, plain.data());
      look_up_line(all.data(), count, table, vectors.data());
      ASSERT_EQ(plain, vectors) << count;
    }
  });
}

TEST(ValueLines, SharpLinesAreThoseOfThePlainLoop) {
  on_every_target([] {
    for (const size_t step : {1, 2, 3, 4})
      for (const float factor : kFactors)
        for (size_t count = 0; count <= kLongest; ++count) {
          const std::array<Bytes, 3> memory = noise_colors(count + 2 * step);
          const uint8_t* const lines[] = {memory[0].data() + step, memory[1].data() + step,
                                          memory[2].data() + step};
          Bytes plain(count), vectors(count);
          sharpen_line_plain(lines, count, step, factor, plain.data());
          sharpen_line(lines, count, step, factor, vectors.data());
          ASSERT_EQ(plain, vectors) << step << ", " << factor << ", " << count;
        }
  });
}

TEST(ValueLines, WeightedLinesAreThoseOfThePlainLoop) {
  constexpr size_t kLines = 23;
  const Bytes bytes = noise(kLines + kLongest, 5);
  const std::vector<float> values(bytes.begin(), bytes.end());
  on_every_target([&] {
    for (const size_t line_count : {size_t{1}, size_t{2}, size_t{3}, kLines})
      for (size_t count = 0; count <= kLongest; ++count) {
        std::vector<const float*> lines;
        std::vector<float> weights;
        for (size_t k = 0; k < line_count; ++k) {
          lines.push_back(values.data() + k);
          weights.push_back(std::exp(-static_cast<float>(k * k) / 9));
        }
        std::vector<float> plain(count), vectors(count);
        weigh_lines_plain(lines.data(), weights.data(), line_count, count, plain.data());
        weigh_lines(lines.data(), weights.data(), line_count, count, vectors.data());
        ASSERT_EQ(plain, vectors) << line_count << " lines of " << count;
        Bytes plain_bytes(count), vector_bytes(count);
        round_line_plain(plain.data(), count, plain_bytes.data());
        round_line(plain.data(), count, vector_bytes.data());
        ASSERT_EQ(plain_bytes, vector_bytes) << line_count << " lines of " << count;
      }
  });
}

TEST(ValueLines, HalvesAreRoundedToEvenAndValuesBounded) {
  std::vector<float> values;
  for (int i = -40; i < 1080; ++i) values.push_back(static_cast<float>(i) / 4);
  on_every_target([&] {
    Bytes plain(values.size()), vectors(values.size());
    round_line_plain(values.data(), values.size(), plain.data());
    round_line(values.data(), values.size(), vectors.data());
    ASSERT_EQ(plain, vectors);
  });
}

TEST(ValueLines, WarpedLinesAreThoseOfThePlainLoop) {
  CounterRng random(6, 0, 0, 0);
  on_every_target([&] {
    for (const int channels : {1, 2, 3, 4})
      for (const auto& [width, height] :
           {std::pair{1, 1}, {2, 9}, {1, 40}, {40, 1}, {33, 20}, {300, 7}})
        for (int i = 0; i < 40; ++i) {
          const auto stride = static_cast<size_t>(width) * static_cast<size_t>(channels);
          const Bytes pixels = noise(stride * static_cast<size_t>(height), 7);
          Affine affine;
          affine.degrees = random.uniform(-180, 180);
          affine.move_x = random.uniform(-5, 5);
          affine.move_y = random.uniform(-5, 5);
          affine.scale = random.uniform(0.2, 3);
          affine.shear_x = random.uniform(-40, 40);
          const auto exact = inverse_matrix(affine, {height, width});
          Warp warp{{pixels.data(), width, height, channels, stride},
                    {},
                    i % 2 == 0 ? Interpolation::nearest : Interpolation::bilinear,
                    {static_cast<uint8_t>(i % 4 == 1 ? 0 : 9), 100, 200, 255}};
          std::copy(exact.begin(), exact.end(), warp.matrix.begin());
          const float halves[] = {0, 0, 0.5F, 0.5F};
          if (i < 4) warp.matrix = {1, 0, halves[i], 0, 1, 0};
          for (int y = 0; y < height; ++y) {
            Bytes plain(stride), vectors(stride);
            warp_pixels_plain(warp, y, 0, width, plain.data());
            warp_line(warp, y, vectors.data());
            ASSERT_EQ(plain, vectors) << width << " x " << height << " x " << channels << ", " << i;
          }
        }
  });
}

TEST(ValueLines, JoinedLinesAreWhatWasSplit) {
  on_every_target([] {
    for (const int channels : {1, 2, 3, 4})
      for (size_t count = 0; count <= kLongest; ++count) {
        const Bytes pixels = noise(count * static_cast<size_t>(channels), 8);
        std::array<Bytes, 4> lines;
        lines.fill(Bytes(count));
        uint8_t* const split[] = {lines[0].data(), lines[1].data(), lines[2].data(),
                                  lines[3].data()};
        split_line(pixels.data(), count, channels, false, split);
        Bytes joined(pixels.size());
        join_line(split, count, channels, joined.data());
        ASSERT_EQ(joined, pixels) << channels << ", " << count;
      }
  });
}

}  // namespace
}  // namespace headrace
