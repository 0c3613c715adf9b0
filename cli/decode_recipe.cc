#include "cli/decode_recipe.h"

#include <array>
#include <vector>

#include "base/try.h"
#include "cli/recipe_text.h"
#include "cli/recipe_values.h"
#include "cli/suggest.h"

namespace headrace::cli {
namespace {

/// The arguments of a call. Whoever takes them says by that which parameters there are, in Python's
/// order; one that is not given keeps its default.
class Arguments {
 public:
  explicit Arguments(const RecipeCall& call) : call_(call), used_(call.arguments.size()) {}

  template <typename T>
  void must(const char* name, const Kind<T>& kind, T* into) {
    add_parameter(name);
    if (!take(name, places_++, kind, into)) complain("needs " + std::string(name));
  }

  template <typename T>
  void may(const char* name, const Kind<T>& kind, T* into) {
    add_parameter(name + std::string("="));
    take(name, places_++, kind, into);
  }

  /// Given by its name alone.
  template <typename T>
  void named(const char* name, const Kind<T>& kind, T* into) {
    if (!has_named_) add_parameter("*");
    has_named_ = true;
    add_parameter(name + std::string("="));
    take(name, kNoPlace, kind, into);
  }

  /// What was wrong with them, after all were taken.
  Status status() {
    for (size_t i = 0; i < used_.size(); ++i)
      if (!used_[i]) complain("does not take " + written(call_.arguments[i]));
    if (problem_.empty()) return {};
    return Error{.code = Code::kUsage,
                 .message = "--decode: " + call_.word + " " + problem_,
                 .origin = {},
                 .hint = "As in Python: " + call_.word + "(" + parameters_ + ")"};
  }

 private:
  static constexpr size_t kNoPlace = ~size_t{0};

  /// False: it was not given.
  template <typename T>
  bool take(const std::string& name, size_t place, const Kind<T>& kind, T* into) {
    for (size_t i = 0; i < used_.size(); ++i) {
      const RecipeArgument& argument = call_.arguments[i];
      if (argument.name.empty() ? i != place : argument.name != name) continue;
      used_[i] = true;
      if (!kind.read(argument.value, into))
        complain("takes as " + name + " " + kind.is + ", not " + written(argument));
      return true;
    }
    return false;
  }

  static std::string written(const RecipeArgument& argument) {
    std::string value;
    for (const std::string& part : argument.value) value += (value.empty() ? "" : ", ") + part;
    return "'" + (argument.name.empty() ? "" : argument.name + "=") + value + "'";
  }

  void add_parameter(const std::string& text) {
    parameters_ += (parameters_.empty() ? "" : ", ") + text;
  }

  void complain(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  const RecipeCall& call_;
  std::vector<bool> used_;
  size_t places_ = 0;
  bool has_named_ = false;
  std::string parameters_;
  std::string problem_;
};

/// Takes the size of an operation that has a height and a width.
template <typename Op>
void take_size(Arguments& a, Op* op) {
  Size size;
  a.must("size", kSize, &size);
  op->height = size.height;
  op->width = size.width;
}

Adjust take_chance(Arguments& a, Adjust op) {
  a.may("p", kNumber, &op.p);
  return op;
}

Adjust take_value(Arguments& a, const char* name, Adjust::What what) {
  Adjust op{.what = what};
  a.must(name, kNumber, &op.value);
  return take_chance(a, op);
}

template <typename Op>
void take_filling(Arguments& a, Op* op) {
  a.named("fill", kFill, &op->fill);
  a.named("mode", kMode, &op->edge);
}

template <typename Op>
void take_box(Arguments& a, Op* op) {
  a.named("scale", kPair, &op->scale);
  a.named("ratio", kPair, &op->ratio);
}

template <typename Op>
void take_sampling(Arguments& a, Op* op) {
  a.named("filter", kFilter, &op->filter);
  a.named("fill", kFill, &op->fill);
}

struct Word {
  const char* name;
  void (*add)(Arguments& a, ImageSpec& to);
};

/// The word for an operation that `make`, which has no state, makes from its arguments.
template <typename Make>
constexpr Word operation(const char* name, Make) {
  return {name, [](Arguments& a, ImageSpec& to) { to.ops.emplace_back(Make()(a)); }};
}

constexpr std::array kWords = {
    operation("resize",
              [](Arguments& a) {
                Resize op;
                take_size(a, &op);
                a.named("filter", kFilter, &op.filter);
                return op;
              }),
    operation("resize_shorter",
              [](Arguments& a) {
                Resize op{.by = Resize::By::shorter};
                a.must("pixels", kWhole, &op.height);
                a.named("max_size", kPixelsOrNone, &op.max_side);
                a.named("filter", kFilter, &op.filter);
                return op;
              }),
    operation("resize_longer",
              [](Arguments& a) {
                Resize op{.by = Resize::By::longer};
                a.must("pixels", kWhole, &op.height);
                a.named("filter", kFilter, &op.filter);
                return op;
              }),
    operation("pad",
              [](Arguments& a) {
                Pad op;
                a.must("padding", kPadding, &op.margins);
                take_filling(a, &op);
                return op;
              }),
    operation("center_crop",
              [](Arguments& a) {
                CenterCrop op;
                take_size(a, &op);
                return op;
              }),
    operation("five_crop",
              [](Arguments& a) {
                FiveCrop op;
                take_size(a, &op);
                return op;
              }),
    operation("random_crop",
              [](Arguments& a) {
                RandomCrop op;
                take_size(a, &op);
                a.named("padding", kPadding, &op.padding);
                a.named("pad_if_needed", kYesOrNo, &op.pad_if_needed);
                take_filling(a, &op);
                return op;
              }),
    operation("random_resized_crop",
              [](Arguments& a) {
                RandomResizedCrop op;
                take_size(a, &op);
                take_box(a, &op);
                a.named("filter", kFilter, &op.filter);
                return op;
              }),
    operation("flip",
              [](Arguments& a) {
                HorizontalFlip op;
                a.may("p", kNumber, &op.p);
                return op;
              }),
    operation("vertical_flip",
              [](Arguments& a) {
                VerticalFlip op;
                a.may("p", kNumber, &op.p);
                return op;
              }),
    operation("rotate90",
              [](Arguments& a) {
                QuarterTurns op;
                a.may("turns", kTurns, &op.turns);
                return op;
              }),
    operation("random_affine",
              [](Arguments& a) {
                RandomAffine op;
                a.must("degrees", kDegrees, &op.degrees);
                a.named("translate", kPair, &op.translate);
                a.named("scale", kPair, &op.scale);
                a.named("shear", kShear, &op.shear);
                take_sampling(a, &op);
                a.named("p", kNumber, &op.p);
                return op;
              }),
    operation("color_jitter",
              [](Arguments& a) {
                ColorJitter op;
                a.may("brightness", kFactors, &op.brightness);
                a.may("contrast", kFactors, &op.contrast);
                a.may("saturation", kFactors, &op.saturation);
                a.may("hue", kHues, &op.hue);
                a.named("p", kNumber, &op.p);
                return op;
              }),
    operation(
        "random_grayscale",
        [](Arguments& a) { return take_chance(a, {.what = Adjust::What::grayscale, .p = 0.1}); }),
    operation("sharpness",
              [](Arguments& a) { return take_value(a, "factor", Adjust::What::sharpness); }),
    operation("posterize",
              [](Arguments& a) { return take_value(a, "bits", Adjust::What::posterize); }),
    operation("solarize",
              [](Arguments& a) { return take_value(a, "threshold", Adjust::What::solarize); }),
    operation("autocontrast",
              [](Arguments& a) { return take_chance(a, {.what = Adjust::What::autocontrast}); }),
    operation("equalize",
              [](Arguments& a) { return take_chance(a, {.what = Adjust::What::equalize}); }),
    operation("invert",
              [](Arguments& a) { return take_chance(a, {.what = Adjust::What::invert}); }),
    operation("gaussian_blur",
              [](Arguments& a) {
                GaussianBlur op;
                Size kernel;
                a.must("kernel", kKernel, &kernel);
                a.may("sigma", kSigma, &op.sigma);
                a.named("p", kNumber, &op.p);
                op.kernel_width = kernel.width;
                op.kernel_height = kernel.height;
                return op;
              }),
    operation("rand_augment",
              [](Arguments& a) {
                RandAugment op;
                a.may("operations", kWhole, &op.operations);
                a.may("magnitude", kWhole, &op.magnitude);
                a.named("magnitudes", kWhole, &op.magnitudes);
                take_sampling(a, &op);
                return op;
              }),
    operation("trivial_augment_wide",
              [](Arguments& a) {
                TrivialAugmentWide op;
                a.named("magnitudes", kWhole, &op.magnitudes);
                take_sampling(a, &op);
                return op;
              }),
    operation("normalize",
              [](Arguments& a) {
                Normalize op;
                DType narrow = DType::f32;
                a.must("mean", kNumbers, &op.mean);
                a.must("std", kNumbers, &op.std);
                a.may("dtype", kFloatType, &narrow);
                return op;
              }),
    operation("random_erasing",
              [](Arguments& a) {
                RandomErasing op;
                a.may("p", kNumber, &op.p);
                take_box(a, &op);
                a.named("value", kNumbers, &op.value);
                return op;
              }),
    Word{"to_float",
         [](Arguments& a, ImageSpec& to) {
           DType narrow = DType::f32;
           a.may("dtype", kFloatType, &narrow);
           to.dtype = DType::f32;
           to.unit_range = true;
         }},
    Word{"layout",
         [](Arguments& a, ImageSpec&) {
           Layout layout = Layout::hwc;
           a.must("layout", kLayout, &layout);
         }},
    Word{"gray", [](Arguments&, ImageSpec& to) { to.channels = Channels::gray; }},
    Word{"channels",
         [](Arguments& a, ImageSpec& to) { a.must("channels", kChannels, &to.channels); }},
    // Parameters of hr.image itself.
    Word{"decode", [](Arguments& a, ImageSpec& to) { a.must("decode", kDecode, &to.decode); }},
    Word{"upright", [](Arguments& a, ImageSpec& to) { a.must("upright", kYesOrNo, &to.upright); }},
    Word{"pixel_limit",
         [](Arguments& a, ImageSpec& to) { a.must("pixel_limit", kCount, &to.pixel_limit); }},
};

Error unknown(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const Word& word : kWords) {
    names.emplace_back(word.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const std::string near = nearest(name, names);
  return {.code = Code::kUsage,
          .message = "--decode knows no '" + name + "'",
          .origin = {},
          .hint = (near.empty() ? "" : "Did you mean " + near + "? ") + "Words: " + list + "."};
}

Status add_call(const RecipeCall& call, ImageSpec& to) {
  for (const Word& word : kWords) {
    if (call.word != word.name) continue;
    Arguments arguments(call);
    word.add(arguments, to);
    return arguments.status();
  }
  return unknown(call.word);
}

}  // namespace

Result<ImageSpec> parse_recipe(const std::string& text) {
  ImageSpec spec;
  spec.layout = Layout::hwc;
  HR_TRY(const std::vector<RecipeCall> calls, parse_calls(text));
  for (const RecipeCall& call : calls) HR_CHECK(add_call(call, spec));
  return spec;
}

}  // namespace headrace::cli
