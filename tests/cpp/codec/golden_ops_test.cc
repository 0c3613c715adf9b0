// Turns, pads, colours, affine pictures and blurs against torchvision v2 on uint8 tensors.
#include <map>

#include "base/digest.h"
#include "codec/affine.h"
#include "codec/erase.h"
#include "codec/golden_transforms.h"

namespace headrace {
namespace {

/// Holds a recipe of one operation to torchvision's result for every golden file of it.
template <typename Make>
void expect_within(const char* op, int least_files, int largest, double mean, Make make) {
  const int seen = for_each(op, [&](const Json& entry, const Json& p) {
    if (entry["decoded"]["dtype"] != "uint8") return false;
    const std::optional<ImageOp> made = make(p);
    if (!made) return false;
    ImageSpec spec;
    spec.ops = {*made};
    const OwnedRow row = run(entry, spec);
    std::vector<int64_t> shape = entry["decoded"]["shape"];
    if (shape.size() == 2) shape.push_back(1);
    EXPECT_EQ(row.shape, shape);
    const auto [off, average] = difference(row.bytes, expected_of(entry));
    EXPECT_LE(off, largest);
    EXPECT_LE(average, mean);
    return true;
  });
  EXPECT_GE(seen, least_files) << op;
}

std::optional<ImageOp> adjust(Adjust::What what, double value) { return Adjust{what, value, 1.0}; }

TEST(GoldenOps, FlipsAreEqual) {
  expect_within("horizontal_flip", 1, 0, 0,
                [](const Json&) { return std::optional<ImageOp>(HorizontalFlip{1.0}); });
  expect_within("vertical_flip", 1, 0, 0,
                [](const Json&) { return std::optional<ImageOp>(VerticalFlip{1.0}); });
}

TEST(GoldenOps, PadsAreEqual) {
  const std::map<std::string, Edge> edges = {{"constant", Edge::constant},
                                             {"edge", Edge::edge},
                                             {"reflect", Edge::reflect},
                                             {"symmetric", Edge::symmetric}};
  expect_within("pad", 4, 0, 0, [&](const Json& p) {
    const auto sides = p["padding_ltrb"].get<std::vector<int>>();
    const auto side = [&](size_t i) { return sides.size() == 1 ? sides[0] : sides[i]; };
    const auto fill = p["fill"].get<uint8_t>();
    return std::optional<ImageOp>(
        Pad{{side(0), side(1), side(2), side(3)}, edges.at(p["mode"]), {fill, fill, fill, fill}});
  });
}

TEST(GoldenOps, QuarterTurnsAreEqual) {
  expect_within("rotate", 3, 0, 0, [](const Json& p) -> std::optional<ImageOp> {
    const double angle = p["angle_ccw"];
    if (std::fmod(angle, 90) != 0) return std::nullopt;
    return QuarterTurns{static_cast<int>(angle) / 90};
  });
}

TEST(GoldenOps, RotationsByAnyAngleAreWithinOne) {
  expect_within("rotate", 1, 1, 0.01, [](const Json& p) -> std::optional<ImageOp> {
    const double angle = p["angle_ccw"];
    if (std::fmod(angle, 90) == 0 || p["expand"]) return std::nullopt;
    const auto fill = p["fill"].get<uint8_t>();
    RandomAffine affine;
    affine.degrees = {-angle, -angle};
    affine.filter =
        p["interpolation"] == "bilinear" ? Interpolation::bilinear : Interpolation::nearest;
    affine.fill = {fill, fill, fill, fill};
    return affine;
  });
}

TEST(GoldenOps, FiveCropsAreEqual) {
  const std::map<std::string, size_t> parts = {
      {"top_left", 0}, {"top_right", 1}, {"bottom_left", 2}, {"bottom_right", 3}, {"center", 4}};
  const int seen = for_each("five_crop", [&](const Json& entry, const Json& p) {
    ImageSpec spec;
    spec.ops = {FiveCrop{p["size_hw"][0], p["size_hw"][1]}};
    const OwnedRow row = run(entry, spec);
    const std::string expected = expected_of(entry);
    EXPECT_EQ(row.shape[0], 5);
    EXPECT_EQ(row.bytes.size(), 5 * expected.size());
    EXPECT_EQ(row.bytes.substr(parts.at(p["part"]) * expected.size(), expected.size()), expected);
    return true;
  });
  EXPECT_GE(seen, 4);
}

TEST(GoldenOps, ValuesAreWithinOneOfTorchvision) {
  using What = Adjust::What;
  const auto factor = [](What what) {
    return [what](const Json& p) { return adjust(what, p["factor"]); };
  };
  expect_within("adjust_brightness", 4, 1, 0.01, factor(What::brightness));
  expect_within("adjust_contrast", 4, 1, 0.02, factor(What::contrast));
  expect_within("adjust_saturation", 4, 1, 0.02, factor(What::saturation));
  expect_within("adjust_sharpness", 4, 1, 0.02, factor(What::sharpness));
  expect_within("autocontrast", 1, 1, 0.02,
                [](const Json&) { return adjust(What::autocontrast, 0); });
  expect_within("grayscale", 1, 1, 0.02, [](const Json& p) -> std::optional<ImageOp> {
    if (p["channels"] != 3) return std::nullopt;
    return adjust(What::grayscale, 0);
  });
}

TEST(GoldenOps, HueIsWithinTwo) {
  expect_within("adjust_hue", 4, 2, 0.02,
                [](const Json& p) { return adjust(Adjust::What::hue, p["factor"]); });
}

TEST(GoldenOps, WholeNumberOperationsAreEqual) {
  using What = Adjust::What;
  expect_within("posterize", 1, 0, 0,
                [](const Json& p) { return adjust(What::posterize, p["bits"]); });
  expect_within("solarize", 1, 0, 0,
                [](const Json& p) { return adjust(What::solarize, p["threshold"]); });
  expect_within("equalize", 1, 0, 0, [](const Json&) { return adjust(What::equalize, 0); });
  expect_within("invert", 1, 0, 0, [](const Json&) { return adjust(What::invert, 0); });
}

TEST(GoldenOps, AffinePicturesAreWithinOne) {
  const int seen = for_each("affine", [](const Json& entry, const Json& p) {
    const bool around_corner = p["center_xy"] == Json{0, 0};
    if (entry["decoded"]["dtype"] != "uint8") return false;
    if (!p["center_xy"].is_null() && !around_corner) return false;
    const OwnedRow whole = run(entry, ImageSpec{});
    const int width = static_cast<int>(whole.shape[1]);
    const Picture picture{reinterpret_cast<const uint8_t*>(whole.bytes.data()), width,
                          static_cast<int>(whole.shape[0]), 3, 3 * static_cast<size_t>(width)};
    Affine affine;
    affine.degrees = p["angle"];
    affine.move_x = p["translate_xy"][0];
    affine.move_y = p["translate_xy"][1];
    affine.scale = p["scale"];
    affine.shear_x = p["shear_xy_degrees"][0];
    affine.shear_y = p["shear_xy_degrees"][1];
    affine.around_corner = around_corner;
    affine.filter =
        p["interpolation"] == "bilinear" ? Interpolation::bilinear : Interpolation::nearest;
    ReusedBuffer memory;
    const Picture out = warped(picture, affine, memory);
    const auto [largest, mean] =
        difference(std::string_view(reinterpret_cast<const char*>(out.pixels), whole.bytes.size()),
                   expected_of(entry));
    EXPECT_LE(largest, 1);
    EXPECT_LE(mean, 0.01);
    return true;
  });
  EXPECT_GE(seen, 3);
}

TEST(GoldenOps, BlursAreWithinOne) {
  expect_within("gaussian_blur", 2, 1, 0.01, [](const Json& p) -> std::optional<ImageOp> {
    if (p["sigma_xy"][0] != p["sigma_xy"][1]) return std::nullopt;
    const double sigma = p["sigma_xy"][0];
    return GaussianBlur{p["kernel_xy"][0], p["kernel_xy"][1], {sigma, sigma}, 1.0};
  });
}

TEST(GoldenOps, ErasedBoxesAreEqual) {
  const int seen = for_each("erase", [](const Json& entry, const Json& p) {
    OwnedRow row = run(entry, ImageSpec{});
    erase_box(reinterpret_cast<std::byte*>(row.bytes.data()), DType::u8, Layout::hwc,
              {static_cast<int>(row.shape[0]), static_cast<int>(row.shape[1])}, 3,
              {p["i"], p["j"], p["h"], p["w"]}, p["v"].get<std::vector<double>>());
    EXPECT_EQ(sha256_hex(as_bytes(row.bytes)), entry["decoded"]["sha256"]);
    return true;
  });
  EXPECT_GE(seen, 1);
}

}  // namespace
}  // namespace headrace
