#include "io/http/http_message.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

namespace headrace {
namespace {

constexpr size_t kMostWords = 200;

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

/// Takes a number off the front.
std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

Code code_of(int status) {
  switch (status) {
    case 401:
    case 403:
      return Code::kDenied;
    case 404:
    case 410:
      return Code::kNotFound;
    case 412:
      return Code::kChanged;
    case 507:
      return Code::kNoSpace;
    default:
      return Code::kFailure;
  }
}

}  // namespace

void HttpHeaders::set(std::string_view name, std::string value) {
  remove(name);
  add(name, std::move(value));
}

void HttpHeaders::add(std::string_view name, std::string value) {
  fields_.push_back({std::string(name), std::move(value)});
}

void HttpHeaders::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return same_name(field.name, name); });
}

const std::string* HttpHeaders::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      fields_, [&](const Field& field) { return same_name(field.name, name); });
  return found == fields_.end() ? nullptr : &found->value;
}

std::string_view HttpHeaders::get(std::string_view name) const {
  const std::string* value = find(name);
  return value != nullptr ? std::string_view(*value) : std::string_view();
}

std::optional<ContentRange> ContentRange::parse(std::string_view value) {
  if (!take(value, "bytes ")) return std::nullopt;
  const auto first = take_number(value);
  if (!first || !take(value, "-")) return std::nullopt;
  const auto last = take_number(value);
  if (!last || *last < *first || !take(value, "/")) return std::nullopt;
  ContentRange parsed{.range = {*first, *last}, .total = std::nullopt};
  if (value == "*") return parsed;
  parsed.total = take_number(value);
  if (!parsed.total || !value.empty() || *parsed.total <= *last) return std::nullopt;
  return parsed;
}

std::string HttpResponse::etag() const {
  std::string_view tag = headers.get("ETag");
  take(tag, "W/");
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"')
    tag = tag.substr(1, tag.size() - 2);
  return std::string(tag);
}

std::optional<uint64_t> HttpResponse::total_bytes() const {
  if (const std::string* text = headers.find("Content-Range"); text != nullptr || status == 206) {
    const auto range = ContentRange::parse(text != nullptr ? *text : "");
    return range ? range->total : std::nullopt;
  }
  std::string_view length = headers.get("Content-Length");
  const auto bytes = take_number(length);
  return length.empty() ? bytes : std::nullopt;
}

Error http_error(std::string_view action, const std::string& object, const HttpResponse& response) {
  const std::string words = server_words(response.body);
  Error error{.code = code_of(response.status),
              .message = "cannot " + std::string(action) + ": the server answered " +
                         std::to_string(response.status) +
                         (words.empty() ? "" : " (" + words + ")"),
              .origin = {.shard = object}};
  if (error.code == Code::kDenied)
    error.hint = "Check the credentials, and that they may " + std::string(action) + " this.";
  if (error.code == Code::kNotFound) error.hint = "Check the name.";
  return error;
}

std::string server_words(std::string_view body) {
  std::string words;
  bool in_tag = false;
  for (const char c : body) {
    if (words.size() >= kMostWords) break;
    if (c == '<') in_tag = true;
    const bool space = in_tag || static_cast<unsigned char>(c) <= ' ';
    if (c == '>') in_tag = false;
    if (!space)
      words += c;
    else if (!words.empty() && words.back() != ' ')
      words += ' ';
  }
  if (words.ends_with(' ')) words.pop_back();
  return words;
}

}  // namespace headrace
