#include "image_ops.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "codec/image_words.h"

namespace headrace::python {
namespace {

template <typename T>
T get(const nb::dict& op, const char* key) {
  return nb::cast<T>(op[key]);
}

double number(const nb::dict& op, const char* key) { return get<double>(op, key); }
int whole(const nb::dict& op, const char* key) { return get<int>(op, key); }

using Range = std::array<double, 2>;
Range range(const nb::dict& op, const char* key) { return get<Range>(op, key); }

Interpolation filter(const nb::dict& op) {
  return interpolation_of(get<std::string>(op, "filter")).value();
}

Edge edge(const nb::dict& op) { return edge_of(get<std::string>(op, "mode")).value(); }

Fill fill(const nb::dict& op) { return get<Fill>(op, "fill"); }

Margins margins(const nb::dict& op) {
  const auto sides = get<std::array<int, 4>>(op, "padding");
  return {sides[0], sides[1], sides[2], sides[3]};
}

ColorJitter::Range maybe_range(const nb::dict& op, const char* key) {
  return get<ColorJitter::Range>(op, key);
}

Adjust::What adjusted(const std::string& name) {
  using What = Adjust::What;
  static const std::map<std::string, What> kNames = {
      {"brightness", What::brightness}, {"contrast", What::contrast},
      {"saturation", What::saturation}, {"hue", What::hue},
      {"sharpness", What::sharpness},   {"posterize", What::posterize},
      {"solarize", What::solarize},     {"autocontrast", What::autocontrast},
      {"equalize", What::equalize},     {"invert", What::invert},
      {"grayscale", What::grayscale},
  };
  return kNames.at(name);
}

using Maker = ImageOp (*)(const nb::dict&);

Resize resize(const nb::dict& op, Resize::By by) {
  return {by, whole(op, "height"), whole(op, "width"), filter(op), whole(op, "max_side")};
}

const std::map<std::string, Maker>& makers() {
  using Op = const nb::dict&;
  static const std::map<std::string, Maker> kMakers = {
      {"resize", [](Op op) -> ImageOp { return resize(op, Resize::By::exact); }},
      {"resize_shorter", [](Op op) -> ImageOp { return resize(op, Resize::By::shorter); }},
      {"resize_longer", [](Op op) -> ImageOp { return resize(op, Resize::By::longer); }},
      {"pad",
       [](Op op) -> ImageOp {
         return Pad{margins(op), edge(op), fill(op)};
       }},
      {"center_crop",
       [](Op op) -> ImageOp {
         return CenterCrop{whole(op, "height"), whole(op, "width")};
       }},
      {"random_crop",
       [](Op op) -> ImageOp {
         return RandomCrop{whole(op, "height"),
                           whole(op, "width"),
                           margins(op),
                           get<bool>(op, "pad_if_needed"),
                           edge(op),
                           fill(op)};
       }},
      {"five_crop",
       [](Op op) -> ImageOp {
         return FiveCrop{whole(op, "height"), whole(op, "width")};
       }},
      {"random_resized_crop",
       [](Op op) -> ImageOp {
         return RandomResizedCrop{whole(op, "height"), whole(op, "width"), range(op, "scale"),
                                  range(op, "ratio"), filter(op)};
       }},
      {"flip", [](Op op) -> ImageOp { return HorizontalFlip{number(op, "p")}; }},
      {"vertical_flip", [](Op op) -> ImageOp { return VerticalFlip{number(op, "p")}; }},
      {"rotate90",
       [](Op op) -> ImageOp { return QuarterTurns{get<std::optional<int>>(op, "turns")}; }},
      {"random_affine",
       [](Op op) -> ImageOp {
         return RandomAffine{range(op, "degrees"), range(op, "translate"),
                             range(op, "scale"),   get<std::array<double, 4>>(op, "shear"),
                             filter(op),           fill(op),
                             number(op, "p")};
       }},
      {"adjust",
       [](Op op) -> ImageOp {
         return Adjust{adjusted(get<std::string>(op, "what")), number(op, "value"),
                       number(op, "p")};
       }},
      {"color_jitter",
       [](Op op) -> ImageOp {
         return ColorJitter{maybe_range(op, "brightness"), maybe_range(op, "contrast"),
                            maybe_range(op, "saturation"), maybe_range(op, "hue"), number(op, "p")};
       }},
      {"gaussian_blur",
       [](Op op) -> ImageOp {
         return GaussianBlur{whole(op, "kernel_width"), whole(op, "kernel_height"),
                             range(op, "sigma"), number(op, "p")};
       }},
      {"rand_augment",
       [](Op op) -> ImageOp {
         return RandAugment{whole(op, "operations"), whole(op, "magnitude"),
                            whole(op, "magnitudes"), filter(op), fill(op)};
       }},
      {"trivial_augment_wide",
       [](Op op) -> ImageOp {
         return TrivialAugmentWide{whole(op, "magnitudes"), filter(op), fill(op)};
       }},
      {"normalize",
       [](Op op) -> ImageOp {
         return Normalize{get<std::vector<double>>(op, "mean"),
                          get<std::vector<double>>(op, "std")};
       }},
      {"random_erasing",
       [](Op op) -> ImageOp {
         return RandomErasing{number(op, "p"), range(op, "scale"), range(op, "ratio"),
                              get<std::vector<double>>(op, "value")};
       }},
  };
  return kMakers;
}

}  // namespace

ImageOp image_op_of(const nb::dict& op) { return makers().at(get<std::string>(op, "op"))(op); }

}  // namespace headrace::python
