// Scaling, crops and normalising against Pillow and torchvision.
#include <map>
#include <set>

#include "base/digest.h"
#include "codec/finish.h"
#include "codec/golden_transforms.h"
#include "codec/picture.h"
#include "codec/resample.h"
#include "codec/scratch.h"

namespace headrace {
namespace {

/// Entries of an operation with a filter that we have: antialiased, and not Hamming's.
template <typename Run>
int for_each_filtered(const char* op, Run run) {
  return for_each(op, [&](const Json& entry, const Json& p) {
    return p.value("antialias", true) && p.value("filter", "") != "hamming" && run(entry, p);
  });
}

/// The whole picture, upright, in three colours.
OwnedRow colours_of(const Json& entry) {
  auto row = decode(*decoder_of(lines_of(Channels::rgb)), source_of(entry));
  EXPECT_TRUE(row.ok());
  return row.ok() ? std::move(*row) : OwnedRow();
}

/// A box of a picture, scaled. The result lies in `scratch`.
Picture scaled_box(const OwnedRow& whole, const Box& box, Size size, Interpolation filter,
                   Scratch& scratch) {
  const int width = static_cast<int>(whole.shape[1]);
  const Picture all{reinterpret_cast<const uint8_t*>(whole.bytes.data()), width,
                    static_cast<int>(whole.shape[0]), 3, static_cast<size_t>(width) * 3};
  return resize(cut(all, box), {}, {box.size(), size, {0, 0, size.height, size.width}, filter},
                scratch.buffers().resized[0], scratch.buffers());
}

std::string bytes_of(const Picture& picture) {
  std::string bytes;
  for (int y = 0; y < picture.height; ++y)
    bytes.append(reinterpret_cast<const char*>(picture.line(y)),
                 static_cast<size_t>(picture.width) * static_cast<size_t>(picture.channels));
  return bytes;
}

Box crop_of(const Json& p) { return {p["top"], p["left"], p["height"], p["width"]}; }

Size size_of(const Json& height_and_width) { return {height_and_width[0], height_and_width[1]}; }

Interpolation filter_of(const Json& p) {
  const std::string name = p.value("interpolation", p.value("filter", "bilinear"));
  return name == "nearest" || name == "nearest_exact" ? Interpolation::nearest
         : name == "box"                              ? Interpolation::box
         : name == "bicubic"                          ? Interpolation::bicubic
         : name == "lanczos"                          ? Interpolation::lanczos
                                                      : Interpolation::bilinear;
}

/// Pillow 13 runs the vertical pass first in these, which moves the last rounding.
const std::set<std::string> kOtherPassFirst = {"037", "038", "039", "041", "042",
                                               "043", "044", "093", "094", "158"};

TEST(GoldenTransforms, ResizeEqualsPillowToTheByte) {
  const int seen = for_each_filtered("pillow_resize", [](const Json& entry, const Json& p) {
    // Pillow multiplies colours by alpha around a resize; we scale all channels alike.
    if (!p["box"].is_null() || !p["reducing_gap"].is_null()) return false;
    if (entry["source"] == "transforms/src_m.png") return false;
    ImageSpec spec;
    spec.ops = {Resize{Resize::By::exact, p["size_wh"][1], p["size_wh"][0], filter_of(p)}};
    const OwnedRow row = run(entry, spec);
    const std::string number = entry["file"].get<std::string>().substr(25, 3);
    if (kOtherPassFirst.contains(number)) {
      // Filters that overshoot are clipped between the passes, so more may differ.
      const bool overshoots = p["filter"] == "bicubic" || p["filter"] == "lanczos";
      const auto [largest, mean] = difference(row.bytes, expected_of(entry));
      EXPECT_LE(largest, overshoots ? 4 : 1);
      EXPECT_LE(mean, 0.35);
    } else {
      EXPECT_EQ(sha256_hex(as_bytes(row.bytes)), entry["decoded"]["sha256"]);
    }
    return true;
  });
  EXPECT_GE(seen, 43);
}

/// Every fourth byte from `first` on.
std::string one_of_four(std::string_view bytes, size_t first) {
  std::string out;
  for (size_t i = first; i < bytes.size(); i += 4) out.push_back(bytes[i]);
  return out;
}

TEST(GoldenTransforms, ResizedAlphaIsPillowsAndColoursAreNotMultipliedByIt) {
  const int seen = for_each("pillow_resize", [](const Json& entry, const Json& p) {
    if (entry["source"] != "transforms/src_m.png") return false;
    if (filter_of(p) == Interpolation::nearest) return false;
    ImageSpec spec;
    spec.ops = {Resize{Resize::By::exact, p["size_wh"][1], p["size_wh"][0], filter_of(p)}};
    const OwnedRow row = run(entry, spec);
    const std::string expected = expected_of(entry);
    EXPECT_EQ(one_of_four(row.bytes, 3), one_of_four(expected, 3));
    EXPECT_TRUE(row.bytes != expected);
    return true;
  });
  EXPECT_GE(seen, 2);
}

/// Pillow's `box` lets the filter look past its edges, a crop does not: what lies one area of the
/// filter away from them is the same. `reach` is that area in pixels of the result.
int largest_inside(const Picture& ours, std::string_view theirs, int reach_x, int reach_y) {
  const size_t line = static_cast<size_t>(ours.width) * 3;
  int largest = 0;
  for (int y = reach_y; y < ours.height - reach_y; ++y)
    for (int x = reach_x * 3; x < (ours.width - reach_x) * 3; ++x) {
      const char other = theirs[static_cast<size_t>(y) * line + static_cast<size_t>(x)];
      largest = std::max(largest, std::abs(ours.line(y)[x] - static_cast<uint8_t>(other)));
    }
  return largest;
}

int reach(int from, int to) { return std::max(1, (to + 2 * from - 1) / (2 * from)); }

TEST(GoldenTransforms, ACropThatIsResizedIsPillowsBoxAwayFromItsEdges) {
  const int seen = for_each_filtered("pillow_resize", [](const Json& entry, const Json& p) {
    if (p["box"].is_null() || filter_of(p) != Interpolation::bilinear) return false;
    const auto sides = p["box"].get<std::vector<double>>();
    for (const double side : sides)
      if (side != std::floor(side)) return false;  // we have no parts of pixels
    const auto side = [&](size_t i) { return static_cast<int>(sides[i]); };
    const Box box{side(1), side(0), side(3) - side(1), side(2) - side(0)};
    const Size size{p["size_wh"][1], p["size_wh"][0]};
    Scratch scratch;
    const Picture out = scaled_box(colours_of(entry), box, size, filter_of(p), scratch);
    EXPECT_LE(largest_inside(out, expected_of(entry), reach(box.width, size.width),
                             reach(box.height, size.height)),
              1);  // Pillow went down the columns first
    return true;
  });
  EXPECT_GE(seen, 3);
}

TEST(GoldenTransforms, NearestIsTorchvisionsNearestExact) {
  const int seen = for_each("resize", [](const Json& entry, const Json& p) {
    if (p["interpolation"] != "nearest_exact") return false;
    // A pixel's centre lies between two pixels there, and torch's float32 takes the one before.
    if (entry["source"] == "transforms/src_l.png") return false;
    ImageSpec spec;
    spec.ops = {
        Resize{Resize::By::exact, p["size_hw"][0], p["size_hw"][1], Interpolation::nearest}};
    EXPECT_EQ(sha256_hex(as_bytes(run(entry, spec).bytes)), entry["decoded"]["sha256"]);
    return true;
  });
  EXPECT_GE(seen, 2);
}

TEST(GoldenTransforms, ResizeOfTheShorterSideIsTorchvisionsWithinOne) {
  const int seen = for_each_filtered("resize_shorter", [](const Json& entry, const Json& p) {
    ImageSpec spec;
    const int limit = p["max_size"].is_null() ? 0 : p["max_size"].get<int>();
    spec.ops = {Resize{Resize::By::shorter, p["size"], 0, filter_of(p), limit}};
    const OwnedRow row = run(entry, spec);
    EXPECT_EQ(row.shape, entry["decoded"]["shape"].get<std::vector<int64_t>>());
    const auto [largest, mean] = difference(row.bytes, expected_of(entry));
    EXPECT_LE(largest, 1);
    EXPECT_LE(mean, 0.01);
    return true;
  });
  EXPECT_GE(seen, 4);
}

TEST(GoldenTransforms, CentreCropEqualsTorchvisionAlsoWhereItPads) {
  const int seen = for_each("center_crop", [](const Json& entry, const Json& p) {
    ImageSpec spec;
    spec.ops = {CenterCrop{p["size_hw"][0], p["size_hw"][1]}};
    EXPECT_EQ(sha256_hex(as_bytes(run(entry, spec).bytes)), entry["decoded"]["sha256"]);
    return true;
  });
  EXPECT_GE(seen, 6);
}

TEST(GoldenTransforms, CropAndResizeUsesNoPixelOutsideOfTheCrop) {
  const int seen = for_each_filtered("resized_crop", [](const Json& entry, const Json& p) {
    if (entry["decoded"]["dtype"] != "uint8") return false;
    // torchvision's "nearest" takes the pixel at the corner of the area, not at its centre.
    if (p["interpolation"] == "nearest") return false;
    Scratch scratch;
    const Picture out =
        scaled_box(colours_of(entry), crop_of(p), size_of(p["size_hw"]), filter_of(p), scratch);
    const auto [largest, mean] = difference(bytes_of(out), expected_of(entry));
    EXPECT_LE(largest, 1);
    EXPECT_LE(mean, 0.03);  // torchvision on tensors; on Pillow's pictures it differs by 0.19
    return true;
  });
  EXPECT_GE(seen, 7);
}

TEST(GoldenTransforms, NormaliseEqualsTorchToTheBit) {
  const int seen = for_each("normalize", [](const Json& entry, const Json& p) {
    const std::map<std::string, DType> types = {
        {"float32", DType::f32}, {"float16", DType::f16}, {"bfloat16", DType::bf16}};
    ImageSpec spec;
    spec.dtype = types.at(p["dtype"]);
    spec.ops = {CenterCrop{p["size_hw"][0], p["size_hw"][1]}, Normalize{p["mean"], p["std"]}};
    const OwnedRow row = run(entry, spec);
    EXPECT_EQ(row.dtype, spec.dtype);
    EXPECT_EQ(row.shape, entry["decoded"]["shape"].get<std::vector<int64_t>>());
    EXPECT_EQ(sha256_hex(as_bytes(row.bytes)), entry["decoded"]["sha256"]);
    return true;
  });
  EXPECT_GE(seen, 14);
}

/// A number of a row of floats per level of 255, at most: 1 / (255 x the smallest std).
constexpr double kLevel = 1 / (255 * 0.224);

TEST(GoldenTransforms, TheTrainingRecipeIsTorchvisionsWithinOneLevel) {
  const int seen = for_each("recipe", [](const Json& entry, const Json& p) {
    if (p["steps"].size() != 4) return false;
    Scratch scratch;
    const Picture out =
        scaled_box(colours_of(entry), crop_of(p), size_of(p["size_hw"]), filter_of(p), scratch);
    const bool mirror = p["steps"][1] == "horizontal_flip";
    std::vector<float> row(static_cast<size_t>(out.width) * static_cast<size_t>(out.height) * 3);
    write_row(out, {DType::f32, Layout::chw, mirror, false},
              PixelScale::normalized({p["mean"], p["std"]}),
              reinterpret_cast<std::byte*>(row.data()));
    const std::string expected = expected_of(entry);
    EXPECT_EQ(expected.size(), row.size() * sizeof(float));
    std::vector<float> theirs(row.size());
    std::memcpy(theirs.data(), expected.data(), std::min(expected.size(), row.size() * 4));
    double sum = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      EXPECT_NEAR(row[i], theirs[i], 1.001 * kLevel);
      sum += std::abs(row[i] - theirs[i]);
    }
    EXPECT_LE(sum / static_cast<double>(row.size()), 0.03 * kLevel);
    return true;
  });
  EXPECT_GE(seen, 3);
}

TEST(GoldenTransforms, TheValidationRecipeIsTorchvisionsWithinOne) {
  const int seen = for_each("recipe", [](const Json& entry, const Json& p) {
    if (p["steps"] != Json{"resize_shorter 256", "center_crop 224"}) return false;
    ImageSpec spec;
    spec.ops = {Resize{Resize::By::shorter, 256, 0, filter_of(p)}, CenterCrop{224, 224}};
    const auto [largest, mean] = difference(run(entry, spec).bytes, expected_of(entry));
    EXPECT_LE(largest, 1);
    EXPECT_LE(mean, 0.03);
    return true;
  });
  EXPECT_GE(seen, 1);
}

TEST(GoldenTransforms, GrayIsPillowsLuma) {
  const int seen = for_each("grayscale", [](const Json& entry, const Json& p) {
    if (p["channels"] != 1) return false;
    auto row = decode(*decoder_of(lines_of(Channels::gray)), source_of(entry));
    const auto [largest, mean] = difference(row->bytes, expected_of(entry));
    EXPECT_LE(largest, 1);  // torchvision truncates where Pillow rounds
    return true;
  });
  EXPECT_GE(seen, 1);
}

}  // namespace
}  // namespace headrace
