// The operations of an image recipe: plain data, in the order in which the user wrote them.
//
// What is drawn is a pure function of (seed, epoch, position, number of the operation). Where an
// operation has the name of one of torchvision's transforms it has its parameters and its
// distribution; values follow torchvision on uint8 tensors.
//
// Thread-safety: plain values. `make_decoder` (codec/decoder.h) checks them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace headrace {

/// How pixels are made from others. All but `nearest` are antialiased: as wide as the reduction.
/// The pixels are those of Pillow's filter of that name; `nearest` takes the pixel whose area holds
/// the centre. Averaging whole areas ("area" in other libraries) is `box`.
enum class Interpolation : uint8_t { nearest, box, bilinear, bicubic, lanczos };

/// What lies over the edge of a picture:
///
///   constant  0 0 0 | a b c d | 0 0 0        reflect    d c b | a b c d | c b a
///   edge      a a a | a b c d | d d d        symmetric  c b a | a b c d | d c b
enum class Edge : uint8_t { constant, edge, reflect, symmetric };

/// Values of the pixels that are made up, 0 to 255; the same number of a channel is repeated.
using Fill = std::array<uint8_t, 4>;

/// Pixels around a picture.
struct Margins {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
  bool operator==(const Margins&) const = default;
};

/// Scales the picture.
///
///   exact    height x width, whatever the shape was
///   shorter  the shorter side becomes `height`, the other follows (rounded down); if that makes
///            the longer one more than max_side, it becomes max_side and the shorter one follows
///   longer   the longer side becomes `height`, the other follows (rounded down, at least 1)
struct Resize {
  enum class By : uint8_t { exact, shorter, longer };
  By by = By::exact;
  int height = 0;
  int width = 0;  ///< By::exact only
  Interpolation filter = Interpolation::bilinear;
  int max_side = 0;  ///< By::shorter only; 0: no limit
  bool operator==(const Resize&) const = default;
};

/// Puts pixels around the picture.
struct Pad {
  Margins margins;
  Edge edge = Edge::constant;
  Fill fill = {};
  bool operator==(const Pad&) const = default;
};

/// Cuts height x width from the middle; where the picture is smaller, zeros are put around it.
struct CenterCrop {
  int height = 0;
  int width = 0;
  bool operator==(const CenterCrop&) const = default;
};

/// Pads, then cuts height x width at a place drawn uniformly. A picture that is still smaller is an
/// error, or with `pad_if_needed` padded on both sides by what is missing.
struct RandomCrop {
  int height = 0;
  int width = 0;
  Margins padding = {};
  bool pad_if_needed = false;
  Edge edge = Edge::constant;
  Fill fill = {};
  bool operator==(const RandomCrop&) const = default;
};

/// Cuts height x width five times: top left, top right, bottom left, bottom right, centre. A row
/// then has one dimension more, of 5, in front. No operation but Normalize may follow.
struct FiveCrop {
  int height = 0;
  int width = 0;
  bool operator==(const FiveCrop&) const = default;
};

/// Cuts a box whose area (a share of the picture's) and aspect ratio are drawn, then scales it to
/// height x width: the distribution of torchvision's RandomResizedCrop.
struct RandomResizedCrop {
  int height = 0;
  int width = 0;
  std::array<double, 2> scale = {0.08, 1.0};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
  Interpolation filter = Interpolation::bilinear;
  bool operator==(const RandomResizedCrop&) const = default;
};

/// Mirrors left and right with probability p.
struct HorizontalFlip {
  double p = 0.5;
  bool operator==(const HorizontalFlip&) const = default;
};

/// Mirrors top and bottom with probability p.
struct VerticalFlip {
  double p = 0.5;
  bool operator==(const VerticalFlip&) const = default;
};

/// Turns by so many quarter turns, counter-clockwise, 0 to 3; nothing: a number drawn from these.
struct QuarterTurns {
  std::optional<int> turns;
  bool operator==(const QuarterTurns&) const = default;
};

/// Turns, moves, scales and shears around the centre, each by a draw from its range, as
/// torchvision's RandomAffine does; the picture keeps its size.
struct RandomAffine {
  std::array<double, 2> degrees = {};    ///< clockwise
  std::array<double, 2> translate = {};  ///< largest share of width and of height
  std::array<double, 2> scale = {1.0, 1.0};
  std::array<double, 4> shear = {};               ///< degrees along x from, to; along y from, to
  Interpolation filter = Interpolation::nearest;  ///< or bilinear
  Fill fill = {};
  double p = 1.0;
  bool operator==(const RandomAffine&) const = default;
};

/// One operation on the pixels' values, with probability p. `value` is torchvision's parameter of
/// the operation of the same name: a factor (1 changes nothing), for hue a share of the circle from
/// -0.5 to 0.5, bits for posterize, a threshold from 0 to 255 for solarize.
struct Adjust {
  enum class What : uint8_t {
    brightness,
    contrast,
    saturation,
    hue,
    sharpness,
    posterize,
    solarize,
    autocontrast,
    equalize,
    invert,
    grayscale,
  };
  What what = What::brightness;
  double value = 0;
  double p = 0.5;
  bool operator==(const Adjust&) const = default;
};

/// Brightness, contrast, saturation and hue, each by a draw from its range and in an order drawn,
/// as torchvision's ColorJitter; with probability p. An empty range leaves that one out.
struct ColorJitter {
  using Range = std::optional<std::array<double, 2>>;
  Range brightness;
  Range contrast;
  Range saturation;
  Range hue;
  double p = 1.0;
  bool operator==(const ColorJitter&) const = default;
};

/// Blurs by a Gaussian whose sigma (pixels) is drawn; kernel sides are odd.
struct GaussianBlur {
  int kernel_width = 3;
  int kernel_height = 3;
  std::array<double, 2> sigma = {0.1, 2.0};
  double p = 1.0;
  bool operator==(const GaussianBlur&) const = default;
};

/// So many operations, drawn from torchvision's fourteen, each with the same magnitude.
struct RandAugment {
  int operations = 2;  ///< at most 8
  int magnitude = 9;
  int magnitudes = 31;
  Interpolation filter = Interpolation::nearest;
  Fill fill = {};
  bool operator==(const RandAugment&) const = default;
};

/// One operation with one magnitude, both drawn, from torchvision's wide ranges.
struct TrivialAugmentWide {
  int magnitudes = 31;
  Interpolation filter = Interpolation::nearest;
  Fill fill = {};
  bool operator==(const TrivialAugmentWide&) const = default;
};

/// (value / 255 - mean) / std for each channel; one number serves all channels. Only RandomErasing
/// may follow.
struct Normalize {
  std::vector<double> mean;
  std::vector<double> std;
  bool operator==(const Normalize&) const = default;
};

/// Overwrites a box of the finished row whose area (a share) and aspect ratio are drawn, with
/// probability p. `value` is in the row's own numbers: after Normalize, 0 is the mean. Last.
struct RandomErasing {
  double p = 0.5;
  std::array<double, 2> scale = {0.02, 0.33};
  std::array<double, 2> ratio = {0.3, 3.3};
  std::vector<double> value = {0.0};  ///< one number, or one a channel
  bool operator==(const RandomErasing&) const = default;
};

using ImageOp =
    std::variant<Resize, Pad, CenterCrop, RandomCrop, FiveCrop, RandomResizedCrop, HorizontalFlip,
                 VerticalFlip, QuarterTurns, RandomAffine, Adjust, ColorJitter, GaussianBlur,
                 RandAugment, TrivialAugmentWide, Normalize, RandomErasing>;

}  // namespace headrace
