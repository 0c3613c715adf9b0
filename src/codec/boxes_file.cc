#include "codec/boxes_file.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/try.h"
#include "codec/npy.h"
#include "codec/text.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

Error wrong(std::string what) { return {Code::kCorrupt, "boxes: " + std::move(what), {}, {}}; }

/// What the path leads to, of each element of the lists on the way.
Status follow(const Json& from, std::string_view path, std::vector<const Json*>& found) {
  if (path.empty()) {
    found.push_back(&from);
    return Status();
  }
  if (from.is_array()) {
    for (const Json& each : from) HR_CHECK(follow(each, path, found));
    return Status();
  }
  const size_t end = std::min(path.find('.'), path.size());
  const std::string name(path.substr(0, end));
  if (!from.is_object() || !from.contains(name)) return wrong("there is no '" + name + "'");
  return follow(from[name], path.substr(std::min(end + 1, path.size())), found);
}

/// The elements of the one list that a path led to, or what it led to in the elements of lists.
Result<std::vector<const Json*>> elements(const Json& document, const std::string& path,
                                          bool of_lists) {
  std::vector<const Json*> found;
  HR_CHECK(follow(document, path, found));
  const bool one = found.size() == 1 && found[0]->is_array() &&
                   (found[0]->empty() || found[0]->front().is_array() == of_lists);
  if (!one) return found;
  std::vector<const Json*> inner;
  for (const Json& each : *found[0]) inner.push_back(&each);
  return inner;
}

Status read_json(ByteView file, const BoxPaths& paths, std::vector<double>& numbers) {
  HR_CHECK(check_json(file));
  const std::string_view text = as_text(file);
  const Json document = Json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) return wrong("a number of the JSON document is out of range");
  HR_TRY(const auto boxes, elements(document, paths.at, true));
  std::vector<const Json*> labels;
  if (!paths.labels.empty()) {
    HR_TRY(labels, elements(document, paths.labels, false));
    if (labels.size() != boxes.size())
      return wrong("there are " + std::to_string(boxes.size()) + ", and " +
                   std::to_string(labels.size()) + " labels");
  }
  const size_t stored = paths.numbers - (paths.labels.empty() ? 0 : 1);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const Json& box = *boxes[i];
    if (!box.is_array() || box.size() != stored)
      return wrong("number " + std::to_string(i) + " is no list of " + std::to_string(stored) +
                   " numbers");
    for (const Json& value : box) {
      if (!value.is_number())
        return wrong("number " + std::to_string(i) + " has what is no number");
      numbers.push_back(value.get<double>());
    }
    if (labels.empty()) continue;
    if (!labels[i]->is_number()) return wrong("label " + std::to_string(i) + " is no number");
    numbers.push_back(labels[i]->get<double>());
  }
  return Status();
}

template <typename T>
void append(const std::byte* from, size_t count, std::vector<double>& numbers) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    numbers.push_back(static_cast<double>(value));
  }
}

Status append_as(DType dtype, const std::byte* from, size_t count, std::vector<double>& numbers) {
  switch (dtype) {
    case DType::u8:
      append<uint8_t>(from, count, numbers);
      break;
    case DType::u16:
      append<uint16_t>(from, count, numbers);
      break;
    case DType::i16:
      append<int16_t>(from, count, numbers);
      break;
    case DType::i32:
      append<int32_t>(from, count, numbers);
      break;
    case DType::i64:
      append<int64_t>(from, count, numbers);
      break;
    case DType::f32:
      append<float>(from, count, numbers);
      break;
    case DType::f64:
      append<double>(from, count, numbers);
      break;
    default:
      return wrong(std::string("numpy arrays of ") + dtype_name(dtype) + " are not read");
  }
  return Status();
}

Status read_npy(ByteView file, const BoxPaths& paths, std::vector<double>& numbers) {
  std::vector<int64_t> shape;
  HR_TRY(const NpyArray array, parse_npy(file, shape));
  if (!paths.labels.empty()) return wrong("labels= is for JSON; the field is a numpy array");
  if (shape.size() != 2 || (shape[0] > 0 && shape[1] != static_cast<int64_t>(paths.numbers)))
    return wrong("the numpy array has not the shape (boxes, " + std::to_string(paths.numbers) +
                 ")");
  std::vector<std::byte> plain(array.data.size());
  copy_plain(array, shape, plain);
  return append_as(array.dtype, plain.data(), plain.size() / dtype_size(array.dtype), numbers);
}

}  // namespace

Status read_boxes(ByteView file, const BoxPaths& paths, std::vector<double>& numbers) {
  numbers.clear();
  if (as_text(file).starts_with("\x93NUMPY")) return read_npy(file, paths, numbers);
  return read_json(file, paths, numbers);
}

}  // namespace headrace
