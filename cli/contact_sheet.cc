#include "cli/contact_sheet.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/try.h"
#include "cli/tiny_font.h"
#include "codec/png_write.h"

namespace headrace::cli {
namespace {

constexpr int kGap = 8;
constexpr int kLineHeight = kLetterHeight + 4;
constexpr int kLeastTile = 96;  // wide enough for a few words
constexpr uint64_t kMostPixels = uint64_t{1} << 28;
constexpr std::array<uint8_t, 3> kPaper = {255, 255, 255};
constexpr std::array<uint8_t, 3> kInk = {30, 30, 30};
constexpr std::array<uint8_t, 3> kFrame = {200, 200, 200};

using Colour = std::array<uint8_t, 3>;

/// RGB pixels that are drawn upon. What lies outside is left out.
class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width),
        height_(height),
        pixels_(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, kPaper[0]) {}

  Picture picture() const {
    return {.pixels = pixels_.data(),
            .width = width_,
            .height = height_,
            .channels = 3,
            .stride = static_cast<size_t>(width_) * 3};
  }

  void dot(int x, int y, const Colour& colour) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    uint8_t* at =
        pixels_.data() +
        (static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)) * 3;
    std::copy(colour.begin(), colour.end(), at);
  }

  /// At most `room` pixels wide; what is cut off is shown by two dots.
  void words(int x, int y, std::string_view text, int room) {
    int letters = room / kLetterStep;
    const bool cut = count_letters(text) > letters;
    if (cut) letters -= 2;
    for (; letters > 0 && !text.empty(); --letters, x += kLetterStep)
      letter(x, y, take_letter(text));
    std::string_view dots = cut ? ".." : "";
    for (; !dots.empty(); x += kLetterStep) letter(x, y, take_letter(dots));
  }

  void frame(int x, int y, int width, int height) {
    for (int i = 0; i < width; ++i) dot(x + i, y, kFrame), dot(x + i, y + height - 1, kFrame);
    for (int i = 0; i < height; ++i) dot(x, y + i, kFrame), dot(x + width - 1, y + i, kFrame);
  }

 private:
  void letter(int x, int y, const Letter& letter) {
    for (int line = 0; line < kLetterHeight; ++line)
      for (int i = 0; i < kLetterWidth; ++i)
        if (letter[static_cast<size_t>(line)] >> (kLetterWidth - 1 - i) & 1)
          dot(x + i, y + line, kInk);
  }

  int width_;
  int height_;
  std::vector<uint8_t> pixels_;
};

uint8_t over_paper(int value, int alpha) {
  return static_cast<uint8_t>((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

/// A pixel of 1 to 4 channels as it looks on the paper.
Colour colour_of(const uint8_t* pixel, int channels, bool faint) {
  const bool gray = channels <= 2;
  int alpha = channels == 2 ? pixel[1] : channels == 4 ? pixel[3] : 255;
  if (faint) alpha /= 3;
  return {over_paper(pixel[0], alpha), over_paper(pixel[gray ? 0 : 1], alpha),
          over_paper(pixel[gray ? 0 : 2], alpha)};
}

void draw_picture(Canvas& canvas, int left, int top, const Tile& tile) {
  const Picture& picture = tile.picture;
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x) {
      const uint8_t* pixel = picture.line(y) + static_cast<size_t>(x * picture.channels);
      canvas.dot(left + x, top + y, colour_of(pixel, picture.channels, tile.faint));
    }
}

/// Sizes that all tiles share.
struct Grid {
  int columns = 1;
  int rows = 0;
  int tile_width = kLeastTile;
  int tile_height = 1;
  int cell_height = 0;  ///< with the words

  int width() const { return kGap + columns * (tile_width + kGap); }
  int height() const { return 2 * kGap + kLineHeight + rows * (cell_height + kGap); }
};

Grid plan_grid(const std::vector<Tile>& tiles, int columns) {
  Grid grid;
  size_t lines = 0;
  for (const Tile& tile : tiles) {
    grid.tile_width = std::max(grid.tile_width, tile.picture.width);
    grid.tile_height = std::max(grid.tile_height, tile.picture.height);
    lines = std::max(lines, tile.lines.size());
  }
  grid.cell_height = grid.tile_height + 4 + static_cast<int>(lines) * kLineHeight;
  const int count = static_cast<int>(tiles.size());
  const double square = std::sqrt(static_cast<double>(count) * grid.cell_height / grid.tile_width);
  grid.columns = columns > 0 ? columns : std::max(1, static_cast<int>(std::ceil(square)));
  grid.columns = std::clamp(grid.columns, 1, std::max(1, count));
  grid.rows = (count + grid.columns - 1) / grid.columns;
  return grid;
}

}  // namespace

Result<Sheet> draw_sheet(const std::string& heading, const std::vector<Tile>& tiles, int columns) {
  const Grid grid = plan_grid(tiles, columns);
  if (static_cast<uint64_t>(grid.width()) * static_cast<uint64_t>(grid.height()) > kMostPixels)
    return Error{.code = Code::kUsage,
                 .message = "the sheet would have more than 268 million pixels",
                 .origin = {},
                 .hint = "Show fewer rows (--batch), or smaller pictures (--decode)."};
  Canvas canvas(grid.width(), grid.height());
  canvas.words(kGap, kGap, heading, grid.width() - 2 * kGap);
  Sheet sheet;
  sheet.places.reserve(tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i) {
    const int left = kGap + static_cast<int>(i) % grid.columns * (grid.tile_width + kGap);
    const int top =
        2 * kGap + kLineHeight + static_cast<int>(i) / grid.columns * (grid.cell_height + kGap);
    sheet.places.push_back({left, top});
    if (tiles[i].picture.pixels == nullptr)
      canvas.frame(left, top, grid.tile_width, grid.tile_height);
    else
      draw_picture(canvas, left, top, tiles[i]);
    int below = top + grid.tile_height + 4;
    for (const std::string& line : tiles[i].lines) {
      canvas.words(left, below, line, grid.tile_width);
      below += kLineHeight;
    }
  }
  HR_CHECK(encode_png(canvas.picture(), sheet.png));
  return sheet;
}

}  // namespace headrace::cli
