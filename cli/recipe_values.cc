#include "cli/recipe_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "codec/image_words.h"

namespace headrace::cli {
namespace {

/// False unless it is all of the text.
template <typename T>
bool parse(std::string_view text, T* into) {
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, *into);
  return problem == std::errc() && stopped == end;
}

/// "0.75" or "3/4"; finite.
bool parse_fraction(std::string_view text, double* into) {
  const size_t slash = text.find('/');
  double divisor = 1;
  if (slash != text.npos && (!parse(text.substr(slash + 1), &divisor) || divisor == 0))
    return false;
  if (!parse(text.substr(0, slash), into)) return false;
  *into /= divisor;
  return std::isfinite(*into);
}

template <typename T>
bool one(const RecipeValue& value, T* into) {
  return value.size() == 1 && parse(value[0], into);
}

bool number(const RecipeValue& value, double* into) {
  return value.size() == 1 && parse_fraction(value[0], into);
}

bool numbers(const RecipeValue& value, std::vector<double>* into) {
  into->resize(value.size());
  for (size_t i = 0; i < value.size(); ++i)
    if (!parse_fraction(value[i], &(*into)[i])) return false;
  return !value.empty();
}

bool wholes(const RecipeValue& value, std::vector<int>* into) {
  into->resize(value.size());
  for (size_t i = 0; i < value.size(); ++i)
    if (!parse(value[i], &(*into)[i])) return false;
  return !value.empty();
}

bool none(const RecipeValue& value) { return value == RecipeValue{"None"}; }

template <typename T>
using Names = std::initializer_list<std::pair<const char*, T>>;

template <typename T>
bool named(const RecipeValue& value, const Names<T>& names, T* into) {
  for (const auto& [name, meaning] : names) {
    if (value != RecipeValue{name}) continue;
    *into = meaning;
    return true;
  }
  return false;
}

/// "192x256" is the pair (192, 256).
RecipeValue without_cross(const RecipeValue& value) {
  const size_t cross = value.size() == 1 ? value[0].find('x') : std::string::npos;
  if (cross == std::string::npos) return value;
  return {value[0].substr(0, cross), value[0].substr(cross + 1)};
}

bool size(const RecipeValue& value, Size* into) {
  std::vector<int> sides;
  if (!wholes(without_cross(value), &sides) || sides.size() > 2) return false;
  *into = {.height = sides.front(), .width = sides.back()};
  return true;
}

bool kernel(const RecipeValue& value, Size* into) {
  if (!size(value, into)) return false;
  std::swap(into->width, into->height);
  return true;
}

bool padding(const RecipeValue& value, Margins* into) {
  std::vector<int> sides;
  if (!wholes(value, &sides)) return false;
  if (sides.size() == 1) sides.resize(4, sides[0]);
  if (sides.size() == 2) sides.insert(sides.end(), {sides[0], sides[1]});
  if (sides.size() != 4) return false;
  *into = {.left = sides[0], .top = sides[1], .right = sides[2], .bottom = sides[3]};
  return true;
}

bool fill(const RecipeValue& value, Fill* into) {
  std::vector<double> levels;
  if (!numbers(value, &levels)) return false;
  for (const double level : levels)
    if (!(level >= 0 && level <= 255)) return false;
  if (levels.size() == 1) levels.resize(4, levels[0]);
  if (levels.size() == 3) levels.push_back(255);
  if (levels.size() != 4) return false;
  for (size_t i = 0; i < into->size(); ++i) (*into)[i] = static_cast<uint8_t>(levels[i]);
  return true;
}

bool turns(const RecipeValue& value, std::optional<int>* into) {
  int quarters = 0;
  if (none(value)) {
    into->reset();
    return true;
  }
  if (!one(value, &quarters)) return false;
  *into = ((quarters % 4) + 4) % 4;
  return true;
}

bool pair(const RecipeValue& value, Range* into) {
  std::vector<double> ends;
  if (!numbers(value, &ends) || ends.size() != 2) return false;
  *into = {ends[0], ends[1]};
  return true;
}

bool degrees(const RecipeValue& value, Range* into) {
  double most = 0;
  if (!number(value, &most)) return pair(value, into);
  *into = {-most, most};
  return true;
}

bool sigma(const RecipeValue& value, Range* into) {
  double itself = 0;
  if (!number(value, &itself)) return pair(value, into);
  *into = {itself, itself};
  return true;
}

bool shear(const RecipeValue& value, std::array<double, 4>* into) {
  std::vector<double> angles;
  if (!numbers(value, &angles)) return false;
  if (angles.size() == 1) angles = {-angles[0], angles[0]};
  if (angles.size() == 2) angles.resize(4, 0.0);
  if (angles.size() != 4) return false;
  std::copy(angles.begin(), angles.end(), into->begin());
  return true;
}

/// One number is the range around `middle`; 0 leaves it out. No range begins below `least`.
bool around(const RecipeValue& value, double middle, double least, ColorJitter::Range* into) {
  double width = 0;
  Range range{};
  into->reset();
  if (number(value, &width)) {
    if (width != 0) *into = Range{std::max(middle - width, least), middle + width};
    return true;
  }
  if (!pair(value, &range)) return false;
  *into = range;
  return true;
}

bool factors(const RecipeValue& value, ColorJitter::Range* into) {
  return around(value, 1, 0, into);
}

bool hues(const RecipeValue& value, ColorJitter::Range* into) { return around(value, 0, -1, into); }

bool pixels_or_none(const RecipeValue& value, int* into) {
  *into = 0;
  return none(value) || one(value, into);
}

bool yes_or_no(const RecipeValue& value, bool* into) {
  return named(value, {{"True", true}, {"False", false}}, into);
}

/// One word, whose meaning `find` knows.
template <typename T>
bool word(const RecipeValue& value, std::optional<T> (*find)(std::string_view), T* into) {
  const std::optional<T> found = value.size() == 1 ? find(value[0]) : std::nullopt;
  if (found) *into = *found;
  return found.has_value();
}

bool filter(const RecipeValue& value, Interpolation* into) {
  return word(value, interpolation_of, into);
}

bool mode(const RecipeValue& value, Edge* into) { return word(value, edge_of, into); }

bool channels(const RecipeValue& value, Channels* into) { return word(value, channels_of, into); }

bool decode(const RecipeValue& value, DecodeSettings* into) {
  return named(value, {{"exact", DecodeSettings::exact}, {"fast", DecodeSettings::fast}}, into);
}

bool float_type(const RecipeValue& value, DType* into) {
  return named(value, {{"float16", DType::f16}, {"bfloat16", DType::bf16}, {"float32", DType::f32}},
               into);
}

bool layout(const RecipeValue& value, Layout* into) {
  return named(value, {{"CHW", Layout::chw}, {"HWC", Layout::hwc}, {"channels_last", Layout::hwc}},
               into);
}

}  // namespace

const Kind<int> kWhole{"a whole number", one<int>};
const Kind<int> kPixelsOrNone{"a number of pixels, or None", pixels_or_none};
const Kind<uint64_t> kCount{"a whole number, not below zero", one<uint64_t>};
const Kind<double> kNumber{"a number", number};
const Kind<std::vector<double>> kNumbers{"a number, or one a channel", numbers};
const Kind<bool> kYesOrNo{"True or False", yes_or_no};
const Kind<Size> kSize{"a number of pixels, HEIGHTxWIDTH or (height, width)", size};
const Kind<Size> kKernel{"a number of pixels, or (width, height)", kernel};
const Kind<Margins> kPadding{"one, two or four numbers of pixels", padding};
const Kind<Fill> kFill{"one number from 0 to 255, or one a channel", fill};
const Kind<Interpolation> kFilter{"nearest, box, bilinear, bicubic or lanczos", filter};
const Kind<Edge> kMode{"constant, edge, reflect or symmetric", mode};
const Kind<std::optional<int>> kTurns{"a number of quarter turns, or None", turns};
const Kind<Range> kPair{"a pair of numbers", pair};
const Kind<Range> kDegrees{"a number, or a pair of them", degrees};
const Kind<Range> kSigma{"a number, or a pair of them", sigma};
const Kind<std::array<double, 4>> kShear{"one, two or four numbers", shear};
const Kind<ColorJitter::Range> kFactors{"a number, or a pair of them", factors};
const Kind<ColorJitter::Range> kHues{"a number, or a pair of them", hues};
const Kind<Channels> kChannels{"rgb, gray, rgba or unchanged", channels};
const Kind<DecodeSettings> kDecode{"exact or fast", decode};
const Kind<DType> kFloatType{"float16, bfloat16 or float32", float_type};
const Kind<Layout> kLayout{"CHW, HWC or channels_last", layout};

}  // namespace headrace::cli
