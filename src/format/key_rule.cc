#include "format/key_rule.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "base/try.h"

namespace headrace {
namespace {

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};

using Code8 = std::unique_ptr<pcre2_code, Free<pcre2_code_free>>;
using Context8 = std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>>;
using MatchData8 = std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>>;

// Enough for any path and any sane pattern; milliseconds at most for a hostile one.
constexpr uint32_t kMatchLimit = 200'000;
constexpr uint32_t kDepthLimit = 20'000;
constexpr uint32_t kHeapLimitKiB = 4096;
constexpr size_t kLongestPattern = 4096;

std::string pcre2_text(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

/// PCRE2 of before 10.40 takes a null pointer for an error, even of no bytes.
PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.empty() ? "" : text.data());
}

void set_field(std::string& field, std::string_view text) {
  field.assign(text);
  for (char& c : field)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
}

/// Whether the first part of the path is `__x__`.
bool is_metadata(std::string_view path) {
  const std::string_view first = path.substr(0, path.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

/// Where the dot between key and field is, by webdataset's rule, dot files in folders aside.
std::optional<size_t> first_dot(std::string_view path) {
  const size_t base = path.rfind('/') + 1;  // npos + 1 == 0
  const size_t dot = path.find('.', base);
  if (dot == path.npos || dot == base) return std::nullopt;
  return dot;
}

/// The dot of `d/.x`, where the pattern of webdataset takes the folder `d/` as the key.
std::optional<size_t> dot_file_dot(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos || slash + 1 == path.size() || path[slash + 1] != '.') return std::nullopt;
  const std::string_view folder = path.substr(0, slash);
  const std::string_view last = folder.substr(folder.rfind('/') + 1);
  if (last.find('.') != last.npos) return std::nullopt;
  return slash + 1;
}

std::optional<size_t> last_dot(std::string_view path) {
  const size_t base = path.rfind('/') + 1;
  const size_t dot = path.rfind('.');
  if (dot == path.npos || dot <= base) return std::nullopt;
  return dot;
}

}  // namespace

struct KeyRule::Regex {
  Code8 code;
  Context8 context;
  uint32_t key = 0;
  uint32_t field = 0;

  static Result<std::shared_ptr<const Regex>> compile(std::string_view pattern);
  Result<bool> split(std::string_view path, KeyField& out) const;
};

Result<std::shared_ptr<const KeyRule::Regex>> KeyRule::Regex::compile(std::string_view pattern) {
  const std::string quoted = "'" + std::string(pattern) + "'";
  if (pattern.size() > kLongestPattern)
    return Error{Code::kUsage, "the key pattern is longer than 4096 bytes"};
  auto regex = std::make_shared<Regex>();
  int error = 0;
  PCRE2_SIZE at = 0;
  regex->code.reset(pcre2_compile(units(pattern), pattern.size(),
                                  PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C,
                                  &error, &at, nullptr));
  if (!regex->code)
    return Error{Code::kUsage, "the key pattern " + quoted + " is wrong at character " +
                                   std::to_string(at) + ": " + pcre2_text(error)};
  regex->context.reset(pcre2_match_context_create(nullptr));
  if (!regex->context) throw std::bad_alloc();
  pcre2_set_match_limit(regex->context.get(), kMatchLimit);
  pcre2_set_depth_limit(regex->context.get(), kDepthLimit);
  pcre2_set_heap_limit(regex->context.get(), kHeapLimitKiB);

  const int key =
      pcre2_substring_number_from_name(regex->code.get(), reinterpret_cast<PCRE2_SPTR>("key"));
  const int field =
      pcre2_substring_number_from_name(regex->code.get(), reinterpret_cast<PCRE2_SPTR>("field"));
  if (key <= 0 || field <= 0)
    return Error{
        Code::kUsage,
        "the key pattern " + quoted + " has no group named " + (key <= 0 ? "'key'" : "'field'"),
        {},
        "Write it as (?<key>...)_(?<field>...)"};
  regex->key = static_cast<uint32_t>(key);
  regex->field = static_cast<uint32_t>(field);
  // Where the processor has no JIT the interpreter matches instead: slower, the same answers.
  pcre2_jit_compile(regex->code.get(), PCRE2_JIT_COMPLETE);
  return std::shared_ptr<const Regex>(std::move(regex));
}

Result<bool> KeyRule::Regex::split(std::string_view path, KeyField& out) const {
  const MatchData8 match(pcre2_match_data_create_from_pattern(code.get(), nullptr));
  if (!match) throw std::bad_alloc();
  const auto run = [&](uint32_t options) {
    return pcre2_match(code.get(), units(path), path.size(), 0, options, match.get(),
                       context.get());
  };
  int found = run(0);
  // The JIT's stack is small; the interpreter has the heap limit instead.
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = run(PCRE2_NO_JIT);
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0)
    return Error{Code::kUsage,
                 "the key pattern gave up on a path: " + pcre2_text(found),
                 {"", std::string(path)},
                 "Write the pattern with fewer nested repeats"};
  const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(match.get());
  const auto group = [&](uint32_t number) -> std::optional<std::string_view> {
    const PCRE2_SIZE begin = ends[2 * number];
    const PCRE2_SIZE end = ends[2 * number + 1];
    if (begin == PCRE2_UNSET || end < begin)
      return std::nullopt;  // \K in a look-around: end < begin
    return path.substr(begin, end - begin);
  };
  const auto key_text = group(key);
  const auto field_text = group(field);
  if (!key_text || key_text->empty() || !field_text) return false;
  out.key.assign(*key_text);
  set_field(out.field, *field_text);
  return true;
}

Result<KeyRule> KeyRule::parse(std::string_view text) {
  constexpr std::pair<std::string_view, Kind> kNames[] = {
      {"webdataset", Kind::kWebdataset},
      {"base", Kind::kBase},
      {"path", Kind::kPath},
      {"flat", Kind::kFlat},
  };
  KeyRule rule;
  rule.text_ = text;
  for (const auto& [name, kind] : kNames) {
    rule.kind_ = kind;
    if (text == name) return rule;
  }
  if (text.find('(') == text.npos)
    return Error{Code::kUsage,
                 "'" + std::string(text) + "' is no key rule",
                 {},
                 "Use webdataset, base, path, flat or a regular expression with the groups key and "
                 "field, as (?<key>[a-z]+)_(?<field>.*)"};
  rule.kind_ = Kind::kRegex;
  HR_TRY(rule.regex_, Regex::compile(text));
  return rule;
}

Result<bool> KeyRule::split(std::string_view path, KeyField& out) const {
  if (kind_ == Kind::kRegex) return regex_->split(path, out);
  return !is_metadata(path) && split_named(path, out);
}

bool KeyRule::split_named(std::string_view path, KeyField& out) const {
  if (kind_ == Kind::kBase) path = path.substr(path.rfind('/') + 1);
  if (kind_ == Kind::kFlat)
    while (path.starts_with("/") || path.starts_with("./"))
      path.remove_prefix(path[0] == '/' ? 1 : 2);

  auto dot = kind_ == Kind::kPath ? last_dot(path) : first_dot(path);
  if (!dot && kind_ == Kind::kWebdataset) dot = dot_file_dot(path);
  if (!dot) return false;
  out.key.assign(path.substr(0, *dot));
  set_field(out.field, path.substr(*dot + 1));
  if (kind_ == Kind::kFlat) std::replace(out.key.begin(), out.key.end(), '/', '_');
  return true;
}

}  // namespace headrace
