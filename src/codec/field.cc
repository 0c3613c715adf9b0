#include "headrace/field.h"

#include <algorithm>

namespace headrace {
namespace {

struct DTypeFacts {
  DType dtype;
  size_t size;
  const char* name;
};

constexpr std::array<DTypeFacts, 15> kDTypes = {{
    {DType::u8, 1, "uint8"},
    {DType::i8, 1, "int8"},
    {DType::u16, 2, "uint16"},
    {DType::i16, 2, "int16"},
    {DType::u32, 4, "uint32"},
    {DType::i32, 4, "int32"},
    {DType::u64, 8, "uint64"},
    {DType::i64, 8, "int64"},
    {DType::f16, 2, "float16"},
    {DType::f32, 4, "float32"},
    {DType::f64, 8, "float64"},
    {DType::bool_, 1, "bool"},
    {DType::bf16, 2, "bfloat16"},
    {DType::c64, 8, "complex64"},
    {DType::c128, 16, "complex128"},
}};

const DTypeFacts& facts(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

}  // namespace

size_t dtype_size(DType dtype) { return facts(dtype).size; }

const char* dtype_name(DType dtype) { return facts(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                  [&](const DTypeFacts& f) { return name == f.name; });
  if (found == kDTypes.end()) return std::nullopt;
  return found->dtype;
}

std::vector<std::string> parse_sources(std::string_view list) {
  std::vector<std::string> sources;
  while (!list.empty()) {
    const size_t end = std::min(list.find(';'), list.size());
    if (end > 0) sources.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return sources;
}

std::optional<PictureLink> picture_link(const FieldKind& kind) {
  if (const auto* mask = std::get_if<MaskSpec>(&kind)) return PictureLink{mask->like, mask->ops};
  if (const auto* boxes = std::get_if<BoxesSpec>(&kind))
    return PictureLink{boxes->like, boxes->ops};
  return std::nullopt;
}

}  // namespace headrace
