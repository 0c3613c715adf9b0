#include "cli/decode_recipe.h"

#include <utility>
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
void take_size(Arguments& a, Op& op) {
  Size size;
  a.must("size", kSize, &size);
  op.height = size.height;
  op.width = size.width;
}

template <typename Op>
void take_filling(Arguments& a, Op& op) {
  a.named("fill", kFill, &op.fill);
  a.named("mode", kMode, &op.edge);
}

template <typename Op>
void take_box(Arguments& a, Op& op) {
  a.named("scale", kPair, &op.scale);
  a.named("ratio", kPair, &op.ratio);
}

template <typename Op>
void take_sampling(Arguments& a, Op& op) {
  a.named("filter", kFilter, &op.filter);
  a.named("fill", kFill, &op.fill);
}

// --- The arguments of each operation, in Python's order ------------------------------------------

void take(Arguments& a, Pad& op) {
  a.must("padding", kPadding, &op.margins);
  take_filling(a, op);
}

void take(Arguments& a, CenterCrop& op) { take_size(a, op); }

void take(Arguments& a, FiveCrop& op) { take_size(a, op); }

void take(Arguments& a, RandomCrop& op) {
  take_size(a, op);
  a.named("padding", kPadding, &op.padding);
  a.named("pad_if_needed", kYesOrNo, &op.pad_if_needed);
  take_filling(a, op);
}

void take(Arguments& a, RandomResizedCrop& op) {
  take_size(a, op);
  take_box(a, op);
  a.named("filter", kFilter, &op.filter);
}

void take(Arguments& a, HorizontalFlip& op) { a.may("p", kNumber, &op.p); }

void take(Arguments& a, VerticalFlip& op) { a.may("p", kNumber, &op.p); }

void take(Arguments& a, QuarterTurns& op) { a.may("turns", kTurns, &op.turns); }

void take(Arguments& a, RandomAffine& op) {
  a.must("degrees", kDegrees, &op.degrees);
  a.named("translate", kPair, &op.translate);
  a.named("scale", kPair, &op.scale);
  a.named("shear", kShear, &op.shear);
  take_sampling(a, op);
  a.named("p", kNumber, &op.p);
}

void take(Arguments& a, ColorJitter& op) {
  a.may("brightness", kFactors, &op.brightness);
  a.may("contrast", kFactors, &op.contrast);
  a.may("saturation", kFactors, &op.saturation);
  a.may("hue", kHues, &op.hue);
  a.named("p", kNumber, &op.p);
}

void take(Arguments& a, GaussianBlur& op) {
  Size kernel;
  a.must("kernel", kKernel, &kernel);
  a.may("sigma", kSigma, &op.sigma);
  a.named("p", kNumber, &op.p);
  op.kernel_width = kernel.width;
  op.kernel_height = kernel.height;
}

void take(Arguments& a, RandAugment& op) {
  a.may("operations", kWhole, &op.operations);
  a.may("magnitude", kWhole, &op.magnitude);
  a.named("magnitudes", kWhole, &op.magnitudes);
  take_sampling(a, op);
}

void take(Arguments& a, TrivialAugmentWide& op) {
  a.named("magnitudes", kWhole, &op.magnitudes);
  take_sampling(a, op);
}

void take(Arguments& a, Normalize& op) {
  DType narrow = DType::f32;
  a.must("mean", kNumbers, &op.mean);
  a.must("std", kNumbers, &op.std);
  a.may("dtype", kFloatType, &narrow);
}

void take(Arguments& a, RandomErasing& op) {
  a.may("p", kNumber, &op.p);
  take_box(a, op);
  a.named("value", kNumbers, &op.value);
}

void take(Arguments& a, Resize& op) {
  if (op.by == Resize::By::exact)
    take_size(a, op);
  else
    a.must("pixels", kWhole, &op.height);
  if (op.by == Resize::By::shorter) a.named("max_size", kPixelsOrNone, &op.max_side);
  a.named("filter", kFilter, &op.filter);
}

/// `value`: what Python calls the operation's value; nullptr: it has none.
void take(Arguments& a, Adjust& op, const char* value) {
  if (value != nullptr) a.must(value, kNumber, &op.value);
  a.may("p", kNumber, &op.p);
}

// --- Words ---------------------------------------------------------------------------------------

struct Word {
  const char* name;
  void (*add)(Arguments& a, ImageSpec& to);
};

template <typename Op>
void add(Arguments& a, ImageSpec& to) {
  Op op;
  take(a, op);
  to.ops.emplace_back(std::move(op));
}

template <Resize::By by>
void add_resize(Arguments& a, ImageSpec& to) {
  Resize op{.by = by};
  take(a, op);
  to.ops.emplace_back(op);
}

void add_adjust(Arguments& a, ImageSpec& to, Adjust op, const char* value = nullptr) {
  take(a, op, value);
  to.ops.emplace_back(op);
}

using What = Adjust::What;

constexpr Word kWords[] = {
    {"resize", add_resize<Resize::By::exact>},
    {"resize_shorter", add_resize<Resize::By::shorter>},
    {"resize_longer", add_resize<Resize::By::longer>},
    {"pad", add<Pad>},
    {"center_crop", add<CenterCrop>},
    {"five_crop", add<FiveCrop>},
    {"random_crop", add<RandomCrop>},
    {"random_resized_crop", add<RandomResizedCrop>},
    {"flip", add<HorizontalFlip>},
    {"vertical_flip", add<VerticalFlip>},
    {"rotate90", add<QuarterTurns>},
    {"random_affine", add<RandomAffine>},
    {"color_jitter", add<ColorJitter>},
    {"random_grayscale",
     [](auto& a, auto& to) { add_adjust(a, to, {.what = What::grayscale, .p = 0.1}); }},
    {"sharpness",
     [](auto& a, auto& to) { add_adjust(a, to, {.what = What::sharpness}, "factor"); }},
    {"posterize", [](auto& a, auto& to) { add_adjust(a, to, {.what = What::posterize}, "bits"); }},
    {"solarize",
     [](auto& a, auto& to) { add_adjust(a, to, {.what = What::solarize}, "threshold"); }},
    {"autocontrast", [](auto& a, auto& to) { add_adjust(a, to, {.what = What::autocontrast}); }},
    {"equalize", [](auto& a, auto& to) { add_adjust(a, to, {.what = What::equalize}); }},
    {"invert", [](auto& a, auto& to) { add_adjust(a, to, {.what = What::invert}); }},
    {"gaussian_blur", add<GaussianBlur>},
    {"rand_augment", add<RandAugment>},
    {"trivial_augment_wide", add<TrivialAugmentWide>},
    {"normalize", add<Normalize>},
    {"random_erasing", add<RandomErasing>},
    {"to_float",
     [](auto& a, auto& to) {
       DType narrow = DType::f32;
       a.may("dtype", kFloatType, &narrow);
       to.dtype = DType::f32;
       to.unit_range = true;
     }},
    {"layout",
     [](auto& a, auto&) {
       Layout layout = Layout::hwc;
       a.must("layout", kLayout, &layout);
     }},
    {"gray", [](auto&, auto& to) { to.channels = Channels::gray; }},
    {"channels", [](auto& a, auto& to) { a.must("channels", kChannels, &to.channels); }},
    // Parameters of hr.image itself.
    {"decode", [](auto& a, auto& to) { a.must("decode", kDecode, &to.decode); }},
    {"upright", [](auto& a, auto& to) { a.must("upright", kYesOrNo, &to.upright); }},
    {"pixel_limit", [](auto& a, auto& to) { a.must("pixel_limit", kCount, &to.pixel_limit); }},
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
