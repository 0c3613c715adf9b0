// The vector passes of a scaling against the plain ones, and parts against the whole.
#include "codec/resample.h"

#include "codec/resample_passes.h"
#include "codec/targets.h"

namespace headrace {
namespace {

Picture picture_of(const std::vector<uint8_t>& pixels, int width, int height, int channels) {
  return {pixels.data(), width, height, channels,
          static_cast<size_t>(width) * static_cast<size_t>(channels)};
}

std::string bytes_of(const Picture& picture) {
  std::string bytes;
  for (int y = 0; y < picture.height; ++y)
    bytes.append(reinterpret_cast<const char*>(picture.line(y)),
                 static_cast<size_t>(picture.width) * static_cast<size_t>(picture.channels));
  return bytes;
}

constexpr Interpolation kFilters[] = {Interpolation::box, Interpolation::bilinear,
                                      Interpolation::bicubic, Interpolation::lanczos};

TEST(Resample, VectorPassesGiveTheBytesOfThePlainOnes) {
  on_every_target([] {
    FilterMemory memory;
    std::vector<int32_t> spread;
    for (const Interpolation filter : kFilters)
      for (const int channels : {1, 2, 3, 4})
        for (const auto& [in, out] : {std::pair{1, 5},
                                      {2, 1},
                                      {7, 5},
                                      {22, 6},
                                      {23, 6},
                                      {33, 32},
                                      {75, 5},
                                      {77, 6},
                                      {300, 224},
                                      {500, 226},
                                      {19, 300},
                                      {2000, 3}})
          for (const int height : {1, 2, 5}) {
            const auto pixels = noise(static_cast<size_t>(in) * static_cast<size_t>(height) *
                                          static_cast<size_t>(channels),
                                      7);
            const Picture picture = picture_of(pixels, in, height, channels);
            const Filter weights = make_filter(filter, {in, out}, 0, out, 0, memory);
            const auto bytes = static_cast<size_t>(out) * static_cast<size_t>(height) *
                               static_cast<size_t>(channels);
            std::vector<uint8_t> plain(bytes), vectors(bytes);
            scale_lines_plain(picture, weights, out, plain.data());
            scale_lines(picture, weights, out, spread, vectors.data());
            ASSERT_EQ(plain, vectors) << in << " -> " << out << ", channels " << channels;
          }
  });
}

TEST(Resample, VectorBlendsGiveTheBytesOfThePlainOnes) {
  on_every_target([] {
    const auto lines = noise(9 * 700, 3);
    const std::vector<int32_t> weights = {-90000, 700000, 3000000, 1500000, -120000,
                                          -5,     0,      7,       -500000};
    for (const int count : {1, 2, 3, 8, 9})
      for (const size_t bytes : {size_t{1}, size_t{31}, size_t{64}, size_t{200}, size_t{700}}) {
        std::vector<uint8_t> plain(bytes), vectors(bytes);
        blend_lines_plain(lines.data(), 700, weights.data(), count, bytes, plain.data());
        blend_lines(lines.data(), 700, weights.data(), count, bytes, vectors.data());
        ASSERT_EQ(plain, vectors) << count << " lines of " << bytes;
      }
  });
}

TEST(Resample, APartIsThatPartOfTheWhole) {
  const auto pixels = noise(90 * 70 * 3, 5);
  const Picture picture = picture_of(pixels, 90, 70, 3);
  Scratch one, two;
  for (const Interpolation filter :
       {Interpolation::nearest, Interpolation::box, Interpolation::bilinear, Interpolation::bicubic,
        Interpolation::lanczos})
    for (const Size to : {Size{35, 41}, Size{70, 30}, Size{20, 90}, Size{150, 133}, Size{70, 90}}) {
      const Box part{to.height / 4, to.width / 3, to.height / 2, to.width / 2};
      const Scaling scaling{{70, 90}, to, part, filter};
      const Box source = resize_source(scaling);
      // Only what resize_source names is there.
      Picture window = picture;
      window.pixels = picture.line(source.top) + source.left * 3;
      window.width = source.width;
      window.height = source.height;
      const Picture made = resize(window, {source.top, source.left}, scaling,
                                  one.buffers().resized[0], one.buffers());
      const Picture whole = resize(picture, {}, {{70, 90}, to, {0, 0, to.height, to.width}, filter},
                                   two.buffers().resized[0], two.buffers());
      Picture expected = whole;
      expected.pixels = whole.line(part.top) + part.left * 3;
      expected.width = part.width;
      expected.height = part.height;
      EXPECT_EQ(bytes_of(made), bytes_of(expected)) << to.height << " x " << to.width;
    }
}

}  // namespace
}  // namespace headrace
