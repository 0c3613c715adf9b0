// What the parameters of an image recipe are, as python/headrace/image_ops.py has them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cli/recipe_text.h"
#include "headrace/field.h"

namespace headrace::cli {

using Range = std::array<double, 2>;

struct Size {
  int height = 0;
  int width = 0;
};

/// A kind of value: in words, and how it is read. False: the value is none.
template <typename T>
struct Kind {
  const char* is;
  bool (*read)(const RecipeValue& value, T* into);
};

extern const Kind<int> kWhole;
extern const Kind<int> kPixelsOrNone;
extern const Kind<uint64_t> kCount;
extern const Kind<double> kNumber;
extern const Kind<std::vector<double>> kNumbers;
extern const Kind<bool> kYesOrNo;
extern const Kind<Size> kSize;
extern const Kind<Size> kKernel;  ///< of a pair the width comes first
extern const Kind<Margins> kPadding;
extern const Kind<Fill> kFill;
extern const Kind<Interpolation> kFilter;
extern const Kind<Edge> kMode;
extern const Kind<std::optional<int>> kTurns;
extern const Kind<Range> kPair;
extern const Kind<Range> kDegrees;  ///< one number d is (-d, d)
extern const Kind<Range> kSigma;    ///< one number is itself
extern const Kind<std::array<double, 4>> kShear;
extern const Kind<ColorJitter::Range> kFactors;  ///< one number x is (1 - x, 1 + x)
extern const Kind<ColorJitter::Range> kHues;     ///< one number x is (-x, x)
extern const Kind<Channels> kChannels;
extern const Kind<DecodeSettings> kDecode;
extern const Kind<DType> kFloatType;
extern const Kind<Layout> kLayout;

}  // namespace headrace::cli
