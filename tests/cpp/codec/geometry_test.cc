#include "codec/geometry.h"

#include <cmath>

#include "base/counter_rng.h"
#include "codec/support.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

Geometry plan(const std::vector<ImageOp>& ops, Size picture, RowKey key = {}) {
  auto geometry = plan_geometry(ops, picture, key);
  EXPECT_TRUE(geometry.ok());
  return *geometry;
}

TEST(CounterRng, DrawsArePinned) {
  CounterRng rng(1, 2, 3, 4);
  EXPECT_EQ(rng.bits(), 15729297420998508756u);
  EXPECT_EQ(rng.bits(), 6120335224832777194u);
  EXPECT_EQ(rng.below(1000), 835u);
  EXPECT_NE(CounterRng(1, 2, 4, 3).bits(), CounterRng(1, 2, 3, 4).bits());
}

TEST(CounterRng, IsUniformOverPositionsAndDraws) {
  // Chi-square of 16 bins, 15 degrees of freedom: above 45 has probability 8e-5.
  std::array<double, 16> first{};
  std::array<double, 16> third{};
  constexpr int kRows = 64000;
  double mean = 0;
  for (uint64_t position = 0; position < kRows; ++position) {
    CounterRng rng(7, 0, position, 0);
    mean += rng.uniform() / kRows;
    first[CounterRng(7, 1, position, 2).below(16)] += 1;
    rng.bits();
    third[rng.below(16)] += 1;
  }
  EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1.0 / 12 / kRows));
  for (const auto& bins : {first, third}) {
    double chi = 0;
    for (const double n : bins) chi += (n - kRows / 16.0) * (n - kRows / 16.0) / (kRows / 16.0);
    EXPECT_LT(chi, 45);
  }
}

TEST(Geometry, ACropAndAResizeAreOneStep) {
  const Geometry g = plan({CenterCrop{100, 60}, Resize{Resize::By::exact, 50, 30}}, {200, 160});
  ASSERT_EQ(g.count, 1u);
  EXPECT_EQ(g.steps[0].box, (Box{50, 50, 100, 60}));
  EXPECT_EQ(g.steps[0].out, (Size{50, 30}));
}

TEST(Geometry, AnOperationThatChangesNothingIsNoStep) {
  EXPECT_EQ(plan({Resize{Resize::By::shorter, 64, 0}, CenterCrop{64, 64}}, {64, 64}).count, 0u);
}

TEST(Geometry, ACropOfAPaddedPictureIsAStepOfItsOwn) {
  const Geometry g = plan({CenterCrop{10, 10}, CenterCrop{4, 4}}, {6, 6});
  ASSERT_EQ(g.count, 2u);
  EXPECT_EQ(g.steps[0].box, (Box{-2, -2, 10, 10}));
  EXPECT_EQ(g.steps[1].box, (Box{3, 3, 4, 4}));
}

TEST(Geometry, CropsAfterAFlipAreMirrored) {
  // 5 columns of 10 from the left of the mirrored picture are those on the right of the file's.
  const Geometry g = plan({HorizontalFlip{1.0}, CenterCrop{10, 7}}, {10, 10});
  EXPECT_TRUE(g.mirror);
  EXPECT_EQ(g.steps[0].box, (Box{0, 1, 10, 7}));
  EXPECT_EQ(plan({CenterCrop{10, 7}}, {10, 10}).steps[0].box, (Box{0, 2, 10, 7}));
}

TEST(Geometry, ShorterAndLongerSidesFollowTorchvision) {
  EXPECT_EQ(resized({Resize::By::shorter, 256, 0}, {375, 500}), (Size{256, 341}));
  EXPECT_EQ(resized({Resize::By::shorter, 256, 0}, {500, 375}), (Size{341, 256}));
  EXPECT_EQ(resized({Resize::By::longer, 100, 0}, {375, 500}), (Size{75, 100}));
  EXPECT_EQ(resized({Resize::By::longer, 10, 0}, {1, 500}), (Size{1, 10}));
}

TEST(Geometry, SizesThatDoNotDependOnThePictureAreKnownBeforehand) {
  EXPECT_EQ(fixed_size({Resize{Resize::By::shorter, 256, 0}}), std::nullopt);
  EXPECT_EQ(fixed_size({Resize{Resize::By::shorter, 256, 0}, CenterCrop{224, 200}}),
            (Size{224, 200}));
  EXPECT_EQ(
      fixed_size({RandomResizedCrop{64, 96}, HorizontalFlip{}, Resize{Resize::By::shorter, 32, 0}}),
      (Size{32, 48}));
}

TEST(Geometry, ARandomCropLargerThanThePictureIsAnError) {
  const auto g = plan_geometry({RandomCrop{10, 10}}, {9, 20}, {});
  ASSERT_FALSE(g.ok());
  EXPECT_EQ(g.error().code, Code::kCorrupt);
}

TEST(Geometry, RandomnessIsAFunctionOfSeedEpochPositionAndOperation) {
  const std::vector<ImageOp> ops = {RandomResizedCrop{8, 8}, HorizontalFlip{}};
  const RowKey key{1, 2, 3};
  EXPECT_EQ(plan(ops, {100, 100}, key).steps[0].box, plan(ops, {100, 100}, key).steps[0].box);
  for (const RowKey& other : {RowKey{2, 2, 3}, RowKey{1, 3, 3}, RowKey{1, 2, 4}})
    EXPECT_FALSE(plan(ops, {100, 100}, key).steps[0].box ==
                 plan(ops, {100, 100}, other).steps[0].box);
}

TEST(Geometry, FlipsComeWithTheirProbability) {
  int flips = 0;
  constexpr int kRows = 10000;
  for (uint64_t position = 0; position < kRows; ++position)
    flips += plan({HorizontalFlip{0.3}}, {4, 4}, {5, 0, position}).mirror ? 1 : 0;
  EXPECT_NEAR(flips, 0.3 * kRows, 5 * std::sqrt(0.3 * 0.7 * kRows));
}

/// Mean and standard deviation of what a draw gives, against torchvision's 100,000 draws.
class Moments {
 public:
  void add(double value) {
    sum_ += value;
    squares_ += value * value;
    ++count_;
  }
  void expect_like(const Json& expected, double draws) const {
    const double mean = sum_ / count_;
    const double std = std::sqrt(std::max(0.0, squares_ / count_ - mean * mean));
    const double error = expected["std"].get<double>() * std::sqrt(1 / draws + 1 / count_);
    EXPECT_NEAR(mean, expected["mean"].get<double>(), 5 * error + 1e-12);
    EXPECT_NEAR(std, expected["std"].get<double>(), 5 * error + 1e-12);
  }

 private:
  double sum_ = 0;
  double squares_ = 0;
  double count_ = 0;
};

TEST(Geometry, RandomResizedCropHasTorchvisionsDistribution) {
  const Json sets =
      Json::parse(read_file(TEST_DATA "/codec/transforms/random_resized_crop_stats.json"));
  for (const Json& set : sets) {
    SCOPED_TRACE(set["size_wh"].dump());
    const Size picture{set["size_wh"][1], set["size_wh"][0]};
    RandomResizedCrop crop;
    crop.scale = set["scale"];
    crop.ratio = set["ratio"];
    Moments area;
    Moments aspect;
    Moments top;
    Moments left;
    for (uint64_t position = 0; position < 40000; ++position) {
      const Box box = random_resized_box(crop, picture, {11, 0, position}, 0);
      ASSERT_TRUE(box.inside(picture));
      area.add(static_cast<double>(box.height) * box.width / picture.height / picture.width);
      aspect.add(std::log(static_cast<double>(box.width) / box.height));
      if (picture.height > box.height)
        top.add(static_cast<double>(box.top) / (picture.height - box.height));
      if (picture.width > box.width)
        left.add(static_cast<double>(box.left) / (picture.width - box.width));
    }
    const double draws = set["draws"];
    area.expect_like(set["area_fraction"], draws);
    aspect.expect_like(set["log_aspect"], draws);
    if (!set["top_over_room"].is_null()) top.expect_like(set["top_over_room"], draws);
    if (!set["left_over_room"].is_null()) left.expect_like(set["left_over_room"], draws);
  }
}

}  // namespace
}  // namespace headrace
