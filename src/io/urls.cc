#include "io/urls.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/try.h"
#include "io/file.h"
#include "io/http/url.h"
#include "io/system_error.h"

namespace headrace {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_web_address(std::string_view location) {
  return location.starts_with("http://") || location.starts_with("https://");
}

Error too_many(std::string_view text) {
  return {.code = Code::kUsage,
          .message = "'" + std::string(text) + "' stands for more than " +
                     std::to_string(kMaxLocations) + " names",
          .origin = {}};
}

// The matching '}' of the '{' at `open`, or npos.
size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// "3..12" or "3..12..2" -> the numbers, zero padded when an end is; nothing if it is no range.
Result<std::optional<std::vector<std::string>>> range(std::string_view inside) {
  std::array<std::string_view, 3> part;
  size_t parts = 0;
  for (std::string_view rest = inside; parts < 3;) {
    const size_t dots = rest.find("..");
    part[parts++] = rest.substr(0, dots);
    if (dots == std::string_view::npos) break;
    rest = rest.substr(dots + 2);
  }
  if (parts < 2 || !std::all_of(part.begin(), part.begin() + static_cast<long>(parts), is_digits))
    return std::optional<std::vector<std::string>>();
  std::array<uint64_t, 3> number{0, 0, 1};
  for (size_t i = 0; i < parts; ++i)
    if (std::from_chars(part[i].data(), part[i].data() + part[i].size(), number[i]).ec !=
        std::errc())
      return too_many(inside);
  const auto [first, last, step] = number;
  if (last < first || step == 0)
    return Error{.code = Code::kUsage,
                 .message = "the range {" + std::string(inside) + "} does not go up",
                 .origin = {}};
  if ((last - first) / step >= kMaxLocations) return too_many(inside);
  const bool padded = part[0].starts_with('0') || part[1].starts_with('0');
  const size_t width = padded ? std::max(part[0].size(), part[1].size()) : 0;
  std::vector<std::string> names;
  for (uint64_t i = first;; i += step) {
    std::string digits = std::to_string(i);
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    names.push_back(std::move(digits));
    if (last - i < step) break;
  }
  return std::optional(std::move(names));
}

// "a,b{1,2},c" -> its parts at depth 0; one part: no list.
std::vector<std::string_view> alternatives(std::string_view inside) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= inside.size(); ++i) {
    if (i < inside.size() && inside[i] == '{') ++depth;
    if (i < inside.size() && inside[i] == '}') --depth;
    if (i == inside.size() || (inside[i] == ',' && depth == 0)) {
      parts.push_back(inside.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return parts;
}

Result<std::vector<std::string>> expand(std::string_view text) {
  for (size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const size_t close = closing(text, open);
    if (close == std::string_view::npos) break;
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    HR_TRY(auto numbers, range(inside));
    std::vector<std::string> middles;
    if (numbers) {
      middles = std::move(*numbers);
    } else {
      const auto parts = alternatives(inside);
      if (parts.size() < 2) continue;
      for (const std::string_view part : parts) {
        HR_TRY(const auto expanded, expand(part));
        middles.insert(middles.end(), expanded.begin(), expanded.end());
      }
    }
    HR_TRY(const auto tails, expand(text.substr(close + 1)));
    if (middles.size() > kMaxLocations / std::max<size_t>(tails.size(), 1)) return too_many(text);
    std::vector<std::string> names;
    names.reserve(middles.size() * tails.size());
    for (const std::string& middle : middles)
      for (const std::string& tail : tails)
        names.emplace_back(text.substr(0, open)).append(middle).append(tail);
    return names;
  }
  return std::vector<std::string>{std::string(text)};
}

bool path_exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

Status glob_into(const std::string& pattern, std::vector<std::string>* out) {
  glob_t found{};
  const int answer = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  const size_t begin = out->size();
  if (answer == 0) out->insert(out->end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (answer == GLOB_NOSPACE) throw std::bad_alloc();
  if (answer != 0)
    return Error{.code = Code::kNotFound,
                 .message = "nothing matches '" + pattern + "'",
                 .origin = {},
                 .hint = "Check the pattern and the folder."};
  std::sort(out->begin() + static_cast<long>(begin), out->end());
  return {};
}

Status expand_one(const std::string& location, std::vector<std::string>* out) {
  if (path_exists(location)) {
    out->push_back(location);
    return {};
  }
  HR_TRY(const auto names, expand_braces(location));
  for (const std::string& name : names) {
    const bool pattern = name.find_first_of("*?[") != std::string::npos;
    if (pattern && url_scheme(name).empty() && !path_exists(name))
      HR_CHECK(glob_into(name, out));
    else
      out->push_back(name);
    if (out->size() > kMaxLocations) return too_many(without_query(location));
  }
  return {};
}

Result<std::string> read_descriptor(int descriptor, const std::string& name) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", name, errno);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

}  // namespace

std::string url_scheme(std::string_view location) {
  const size_t colon = location.find(':');
  if (colon == std::string_view::npos || colon < 2) return "";
  for (const char c : location.substr(0, colon))
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-')) return "";
  return std::string(location.substr(0, colon));
}

std::string local_path(std::string_view location) {
  if (url_scheme(location) != "file") return std::string(location);
  std::string_view rest = location.substr(5);
  if (rest.starts_with("//localhost/"))
    rest.remove_prefix(11);
  else if (rest.starts_with("///"))
    rest.remove_prefix(2);
  return percent_decode(rest);
}

std::string_view without_query(std::string_view location) {
  return is_web_address(location) ? location.substr(0, location.find('?')) : location;
}

bool is_remote_location(std::string_view location) {
  const std::string scheme = url_scheme(location);
  return !scheme.empty() && scheme != "file" && scheme != "mem";
}

ObjectPlace split_location(const std::string& location) {
  const std::string object(without_query(location));
  const size_t slash = object.rfind('/');
  if (slash == std::string::npos) return {".", object};
  ObjectPlace place{object.substr(0, slash + 1), object.substr(slash + 1)};
  if (is_web_address(object)) place.name = percent_decode(place.name);
  return place;
}

Result<std::vector<std::string>> expand_braces(std::string_view text) {
  const std::string_view object = without_query(text);
  HR_TRY(auto names, expand(object));
  for (std::string& name : names) name += text.substr(object.size());
  return names;
}

std::vector<std::string> split_list(std::string_view text) {
  const char separator = text.find('\0') != std::string_view::npos ? '\0' : '\n';
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    std::string_view line = text.substr(0, end);
    if (separator == '\n' && line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<std::string> read_standard_input() {
  return read_descriptor(STDIN_FILENO, "standard input");
}

Result<std::vector<std::string>> expand_locations(const std::vector<std::string>& locations) {
  std::vector<std::string> out;
  for (const std::string& location : locations) {
    if (location.size() < 2 || location.front() != '@' || path_exists(location)) {
      HR_CHECK(expand_one(location, &out));
      continue;
    }
    const std::string path = location.substr(1);
    const File file = open_file(AT_FDCWD, path.c_str(), O_RDONLY);
    if (!file.is_open()) return system_error("read list", path, errno);
    HR_TRY(const std::string text, read_descriptor(file.get(), path));
    for (const std::string& line : split_list(text)) HR_CHECK(expand_one(line, &out));
  }
  return out;
}

}  // namespace headrace
