#include "base/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

namespace headrace {
namespace {

/// Standard deviations that a chi-square of `freedom` degrees lies above its mean.
double deviations(double chi_square, double freedom) {
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

TEST(Permutation, IsABijectionWithAnInverseForEverySmallSize) {
  for (uint64_t n = 0; n <= 300; ++n)
    for (const uint64_t key : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      const Permutation permutation(n, key);
      ASSERT_EQ(permutation.size(), n);
      std::vector<bool> seen(n, false);
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t image = permutation(i);
        ASSERT_LT(image, n);
        ASSERT_FALSE(seen[image]) << "n " << n;
        seen[image] = true;
        ASSERT_EQ(permutation.inverse(image), i);
      }
    }
}

TEST(Permutation, InvertsHugeSizes) {
  for (const uint64_t n :
       {uint64_t{1} << 20, (uint64_t{1} << 32) - 5, uint64_t{1} << 32, (uint64_t{1} << 32) + 1,
        uint64_t{1'000'000'000'000}, (uint64_t{1} << 62) + 7, (uint64_t{1} << 63) - 1}) {
    const Permutation permutation(n, 42);
    for (uint64_t k = 0; k < 2000; ++k)
      for (const uint64_t i : {k, n - 1 - k, mix(k, n) % n}) {
        const uint64_t image = permutation(i);
        ASSERT_LT(image, n);
        ASSERT_EQ(permutation.inverse(image), i) << "n " << n;
      }
  }
}

TEST(Permutation, GivesTheSameOrderForEver) {
  EXPECT_EQ(mix(0, 0), uint64_t{16899028431761561291u});
  EXPECT_EQ(mix(1, 2), uint64_t{4260464434883945380u});
  const auto first = [](uint64_t n, uint64_t key) {
    const Permutation permutation(n, key);
    return std::array{permutation(0), permutation(1), permutation(2)};
  };
  EXPECT_EQ(first(10, 7), (std::array<uint64_t, 3>{4, 0, 5}));
  EXPECT_EQ(first(312, 7), (std::array<uint64_t, 3>{105, 206, 178}));
  EXPECT_EQ(first(1'000'000'000'000, 7),
            (std::array<uint64_t, 3>{137933584522, 201587852418, 708923561959}));
}

TEST(Permutation, ReachesEveryOrderOfAFewElementsEquallyOften) {
  for (const uint64_t n : {2, 3, 4, 5, 6}) {
    constexpr int kKeys = 100'000;
    std::map<std::vector<uint64_t>, int> seen;
    for (uint64_t key = 0; key < kKeys; ++key) {
      const Permutation permutation(n, mix(key, n));
      std::vector<uint64_t> order;
      for (uint64_t i = 0; i < n; ++i) order.push_back(permutation(i));
      ++seen[order];
    }
    const double orders = std::tgamma(static_cast<double>(n) + 1);
    ASSERT_EQ(static_cast<double>(seen.size()), orders);
    const double expected = kKeys / orders;
    double chi_square = 0;
    for (const auto& [order, count] : seen)
      chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(deviations(chi_square, orders - 1), 4) << "n " << n;
  }
}

TEST(Permutation, PutsEveryElementEverywhereAndNextToEveryOther) {
  for (const uint64_t n : {8, 17, 31, 64, 65, 66, 100, 127, 200, 300}) {
    std::vector<double> places(n * n, 0), pairs(n * n, 0);
    const uint64_t keys = 50 * n;
    for (uint64_t key = 0; key < keys; ++key) {
      const Permutation permutation(n, mix(key, 1000 + n));
      uint64_t previous = 0;
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t image = permutation(i);
        ++places[i * n + image];
        if (i % 2 == 1) ++pairs[previous * n + image];
        previous = image;
      }
    }
    const auto size = static_cast<double>(n);
    double chi_square = 0;
    for (const double count : places) chi_square += (count - 50) * (count - 50) / 50;
    EXPECT_LT(deviations(chi_square, (size - 1) * (size - 1)), 4) << "n " << n;

    const double expected =
        static_cast<double>(keys) * static_cast<double>(n / 2) / (size * (size - 1));
    chi_square = 0;
    for (uint64_t i = 0; i < n * n; ++i)
      if (i / n != i % n) chi_square += (pairs[i] - expected) * (pairs[i] - expected) / expected;
    EXPECT_LT(deviations(chi_square, size * (size - 1) - 1), 4) << "n " << n;
  }
}

}  // namespace
}  // namespace headrace
