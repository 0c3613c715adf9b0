#include "format/tar_pax.h"

#include <charconv>
#include <string_view>

#include "base/try.h"

namespace headrace {
namespace {

Error malformed(std::string what, size_t offset) {
  return {Code::kCorrupt, "malformed pax header: " + std::move(what), {"", "", offset}};
}

Status set_text(std::optional<std::string>& into, std::string_view value, std::string_view key,
                size_t offset) {
  if (value.find('\0') != value.npos)
    return malformed("the value of '" + std::string(key) + "' holds a NUL byte", offset);
  into.reset();
  if (!value.empty()) into.emplace(value);
  return Status::success();
}

Status set_size(std::optional<uint64_t>& into, std::string_view value, size_t offset) {
  into.reset();
  if (value.empty()) return Status::success();
  uint64_t size = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
  if (error != std::errc{} || end != value.data() + value.size() || size >> 63)
    return malformed("'size' is not a number of 63 bits", offset);
  into = size;
  return Status::success();
}

Status set_value(std::string_view key, std::string_view value, PaxValues& values, size_t offset) {
  if (key == "path") return set_text(values.path, value, key, offset);
  if (key == "linkpath") return set_text(values.linkpath, value, key, offset);
  if (key == "size") return set_size(values.size, value, offset);
  if (key.starts_with("GNU.sparse.")) values.sparse = true;
  return Status::success();
}

}  // namespace

Status parse_pax(ByteView body, PaxValues& values) {
  const std::string_view text = as_text(body);
  size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    size_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<size_t>(end - rest.data());
    if (error != std::errc{} || digits == rest.size() || rest[digits] != ' ')
      return malformed("a record does not begin with its length and a space", at);
    if (length > rest.size()) return malformed("a record is longer than the header", at);
    if (length < digits + 4) return malformed("a record is shorter than its own length", at);
    if (rest[length - 1] != '\n') return malformed("a record does not end with a line feed", at);
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals == record.npos || equals == 0)
      return malformed("a record is not of the form key=value", at);
    HR_CHECK(set_value(record.substr(0, equals), record.substr(equals + 1), values, at));
    at += length;
  }
  return Status::success();
}

}  // namespace headrace
