#include "cli/decode_recipe.h"

#include <array>
#include <charconv>
#include <functional>

#include "base/try.h"
#include "cli/sample_options.h"

namespace headrace::cli {
namespace {

/// "224" or "192x256": height and width.
struct Sides {
  int height = 0;
  int width = 0;
  bool square = true;
};

struct Word {
  const char* name;
  bool takes_sides;
  ImageOp (*make)(const Sides&);
};

constexpr std::array kWords = {
    Word{"resize", true,
         [](const Sides& s) -> ImageOp {
           return s.square ? Resize{.by = Resize::By::shorter, .height = s.height}
                           : Resize{.height = s.height, .width = s.width};
         }},
    Word{"resize_longer", true,
         [](const Sides& s) -> ImageOp {
           return Resize{.by = Resize::By::longer, .height = s.height};
         }},
    Word{
        "center_crop", true,
        [](const Sides& s) -> ImageOp { return CenterCrop{.height = s.height, .width = s.width}; }},
    Word{
        "random_crop", true,
        [](const Sides& s) -> ImageOp { return RandomCrop{.height = s.height, .width = s.width}; }},
    Word{"random_resized_crop", true,
         [](const Sides& s) -> ImageOp {
           return RandomResizedCrop{.height = s.height, .width = s.width};
         }},
    Word{"flip", false, [](const Sides&) -> ImageOp { return HorizontalFlip{}; }},
};

Error usage(const std::string& message) {
  std::string hint = "Words:";
  for (const Word& word : kWords)
    hint += std::string(" ") + word.name + (word.takes_sides ? "=N" : "") + ",";
  hint.back() = '.';
  return {.code = Code::kUsage, .message = message, .origin = {}, .hint = hint};
}

/// False unless it is all of the text.
bool parse_side(std::string_view text, int* into) {
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, *into);
  return problem == std::errc() && stopped == end && *into > 0;
}

bool parse_sides(std::string_view text, Sides* into) {
  const size_t cross = text.find('x');
  into->square = cross == text.npos;
  if (!parse_side(text.substr(0, cross), &into->height)) return false;
  into->width = into->height;
  return into->square || parse_side(text.substr(cross + 1), &into->width);
}

Result<ImageOp> parse_word(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  for (const Word& word : kWords) {
    if (name != word.name) continue;
    Sides sides;
    if (word.takes_sides == (equals == text.npos))
      return usage("'" + text + (word.takes_sides ? "' needs a size" : "' takes no size"));
    if (word.takes_sides && !parse_sides(std::string_view(text).substr(equals + 1), &sides))
      return usage("'" + text + "': a size is a number of pixels, or HEIGHTxWIDTH");
    return word.make(sides);
  }
  return usage("--decode knows no '" + name + "'");
}

}  // namespace

Result<std::vector<ImageOp>> parse_recipe(const std::string& text) {
  std::vector<ImageOp> ops;
  for (const std::string& word : split_fields(text)) {
    HR_TRY(ops.emplace_back(), parse_word(word));
  }
  return ops;
}

}  // namespace headrace::cli
