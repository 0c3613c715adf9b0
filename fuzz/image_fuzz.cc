// Any bytes as a picture, as it is stored and through one of several recipes, which together have
// every operation: rows of the promised size or an error value. The pixel limits are low, so that
// time goes into parsers and not into large pictures.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <set>

#include "codec/decoder.h"

namespace {

using namespace headrace;

constexpr uint64_t kPixelLimit = 1 << 20;
constexpr uint64_t kSlowPixelLimit = 1 << 16;  // for operations on pictures as large as they are

/// A recipe and the bytes of each of its rows; 0: as many as there are in a row without it.
struct Recipe {
  ImageSpec image;
  size_t row_bytes = 0;
};

Recipe cropped() {
  ImageSpec image;
  image.ops = {HorizontalFlip{},        Resize{Resize::By::shorter, 40, 0},
               CenterCrop{50, 36},      RandomCrop{30, 30},
               RandomResizedCrop{8, 8}, Normalize{{0.5}, {0.25}}};
  return {image, size_t{3} * 8 * 8 * 4};
}

/// Large pictures are decoded at a fraction of their size.
Recipe shrunken() {
  ImageSpec image;
  image.decode = DecodeSettings::fast;
  image.channels = Channels::gray;
  image.dtype = DType::f16;
  image.unit_range = true;
  image.ops = {Resize{Resize::By::exact, 5, 9, Interpolation::box}, RandomErasing{1.0}};
  return {image, size_t{5} * 9 * 2};
}

Recipe moved() {
  RandomAffine affine;
  affine.degrees = {-30, 30};
  affine.translate = {0.2, 0.1};
  affine.scale = {0.5, 2};
  affine.shear = {-9, 9, 0, 5};
  affine.filter = Interpolation::bilinear;
  ImageSpec image;
  image.channels = Channels::rgba;
  image.ops = {Resize{Resize::By::longer, 24, 0, Interpolation::bicubic},
               Pad{{3, 1, 4, 2}, Edge::reflect},
               VerticalFlip{},
               QuarterTurns{},
               affine,
               RandomCrop{17, 19, {2, 0, 1, 3}, true, Edge::symmetric},
               FiveCrop{9, 7}};
  return {image, size_t{5} * 4 * 9 * 7};
}

Recipe augmented() {
  ImageSpec image;
  image.pixel_limit = kSlowPixelLimit;
  image.dtype = DType::bf16;
  image.ops = {RandAugment{3, 20},      TrivialAugmentWide{31, Interpolation::bilinear},
               Pad{{1}, Edge::edge},    Resize{Resize::By::exact, 6, 11, Interpolation::lanczos},
               Normalize{{0.5}, {0.5}}, RandomErasing{}};
  return {image, size_t{3} * 6 * 11 * 2};
}

ImageSpec as_stored() {
  ImageSpec image;
  image.channels = Channels::unchanged;
  image.layout = Layout::hwc;
  return image;
}

/// Operations that leave the size as it is.
Recipe coloured() {
  using What = Adjust::What;
  ImageSpec image = as_stored();
  image.pixel_limit = kSlowPixelLimit;
  image.ops = {Adjust{What::brightness, 1.5},
               Adjust{What::contrast, 0.3},
               Adjust{What::saturation, 2},
               Adjust{What::hue, 0.3},
               Adjust{What::sharpness, 3},
               Adjust{What::posterize, 3},
               Adjust{What::solarize, 100},
               Adjust{What::autocontrast},
               Adjust{What::equalize},
               Adjust{What::invert},
               Adjust{What::grayscale},
               ColorJitter{std::array{0.5, 2.0}, std::array{0.0, 2.0}, std::array{0.0, 2.0},
                           std::array{-0.5, 0.5}},
               GaussianBlur{5, 3}};
  return {image, 0};
}

/// So that none is forgotten when there are more.
void expect_every_operation(const std::vector<Recipe>& recipes) {
  std::set<size_t> operations;
  for (const Recipe& recipe : recipes)
    for (const ImageOp& op : recipe.image.ops) operations.insert(op.index());
  if (operations.size() != std::variant_size_v<ImageOp>) std::abort();
}

std::unique_ptr<Decoder> decoder_of(ImageSpec image) {
  image.pixel_limit = std::min(image.pixel_limit, kPixelLimit);
  FieldSpec spec;
  spec.name = "column";
  spec.sources = {"field"};
  spec.kind = std::move(image);
  return std::move(make_decoder(spec)).value();
}

struct Case {
  std::unique_ptr<Decoder> decoder;
  size_t row_bytes;
};

std::vector<Case> make_cases() {
  const std::vector<Recipe> recipes = {cropped(), shrunken(), moved(), augmented(), coloured()};
  expect_every_operation(recipes);
  std::vector<Case> cases;
  for (const Recipe& recipe : recipes)
    cases.push_back({decoder_of(recipe.image), recipe.row_bytes});
  return cases;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto stored = decoder_of(as_stored());
  static const auto cases = make_cases();
  static Scratch scratch;
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  const uint64_t hash = std::hash<std::string_view>()(as_text(bytes));
  const RowKey key{1, 2, hash};

  size_t stored_bytes = 0;
  if (const auto row = stored->decode_dynamic(bytes, key, scratch); row.ok()) {
    stored_bytes = dtype_size(row->dtype);
    for (const int64_t side : row->shape) stored_bytes *= static_cast<size_t>(side);
    if (stored_bytes != row->bytes.size()) std::abort();
  }
  const auto& [decoder, row_bytes] = cases[hash % cases.size()];
  if (const auto row = decoder->decode_dynamic(bytes, key, scratch); row.ok())
    if (row->bytes.size() != (row_bytes > 0 ? row_bytes : stored_bytes)) std::abort();
  return 0;
}
