// headrace/field.h: recipes, from the dicts of headrace/recipes.py.
#include "headrace/field.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "codec/decoder.h"
#include "codec/image_words.h"
#include "image_ops.h"

namespace headrace::python {
namespace {

template <typename T>
T get(const nb::dict& recipe, const char* key) {
  return nb::cast<T>(recipe[key]);
}

DType dtype_of(const nb::dict& recipe) {
  const auto name = get<std::string>(recipe, "dtype");
  const auto dtype = parse_dtype(name);
  if (!dtype) raise_usage("there is no dtype '" + name + "'");
  return *dtype;
}

std::vector<ImageOp> ops_of(const nb::dict& recipe) {
  std::vector<ImageOp> ops;
  for (nb::handle op : get<nb::list>(recipe, "ops"))
    ops.push_back(image_op_of(nb::cast<nb::dict>(op)));
  return ops;
}

MaskSpec mask_spec(const nb::dict& recipe) {
  MaskSpec mask;
  mask.like = get<std::string>(recipe, "like");
  mask.ops = ops_of(recipe);
  mask.dtype = dtype_of(recipe);
  mask.fill = get<uint32_t>(recipe, "fill");
  mask.pixel_limit = get<uint64_t>(recipe, "pixel_limit");
  return mask;
}

BoxesSpec boxes_spec(const nb::dict& recipe) {
  BoxesSpec boxes;
  boxes.like = get<std::string>(recipe, "like");
  boxes.ops = ops_of(recipe);
  const auto format = get<std::string>(recipe, "format");
  boxes.format = format == "xywh"     ? BoxFormat::xywh
                 : format == "cxcywh" ? BoxFormat::cxcywh
                                      : BoxFormat::xyxy;
  boxes.at = get<std::string>(recipe, "at");
  boxes.labels = get<std::string>(recipe, "labels");
  boxes.extra = get<int>(recipe, "extra");
  boxes.min_visible = get<double>(recipe, "min_visible");
  return boxes;
}

ImageSpec image_spec(const nb::dict& recipe) {
  ImageSpec image;
  image.channels = channels_of(get<std::string>(recipe, "channels")).value();
  image.ops = ops_of(recipe);
  image.dtype = dtype_of(recipe);
  image.unit_range = get<bool>(recipe, "unit_range");
  image.layout = get<std::string>(recipe, "layout") == "CHW" ? Layout::chw : Layout::hwc;
  image.decode =
      get<std::string>(recipe, "decode") == "fast" ? DecodeSettings::fast : DecodeSettings::exact;
  image.upright = get<bool>(recipe, "upright");
  image.pixel_limit = get<uint64_t>(recipe, "pixel_limit");
  return image;
}

FieldKind field_kind(const nb::dict& recipe) {
  const auto kind = get<std::string>(recipe, "kind");
  if (kind == "image") return image_spec(recipe);
  if (kind == "mask") return mask_spec(recipe);
  if (kind == "boxes") return boxes_spec(recipe);
  if (kind == "integer") return IntegerSpec{dtype_of(recipe)};
  if (kind == "float") return FloatSpec{dtype_of(recipe)};
  if (kind == "text") return TextSpec{};
  if (kind == "json") return JsonSpec{};
  if (kind == "npy") return NpySpec{};
  return BytesSpec{};
}

}  // namespace

FieldSpec field_spec(const std::string& name, const nb::dict& recipe) {
  FieldSpec spec;
  spec.name = name;
  spec.sources = parse_sources(get<std::string>(recipe, "sources"));
  spec.kind = field_kind(recipe);
  if (!recipe["default"].is_none()) {
    const auto fallback = get<nb::bytes>(recipe, "default");
    spec.fallback = std::string(fallback.c_str(), fallback.size());
  }
  return spec;
}

void bind_field(nb::module_& module) {
  module.def("check_field", [](const std::string& name, const nb::dict& recipe) {
    unwrap(make_decoder(field_spec(name, recipe)));
  });
  module.attr("PIXEL_LIMIT") = ImageSpec::kDefaultPixelLimit;
}

}  // namespace headrace::python
