#include "job/name_template.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/safe_path.h"
#include "base/try.h"
#include "dataset/containers.h"

namespace headrace {
namespace {

constexpr uint64_t kNoLimit = ~uint64_t{0};

Error bad(std::string_view text, const std::string& why) {
  return {.code = Code::kUsage,
          .message = "the shard name '" + std::string(text) + "' " + why,
          .origin = {},
          .hint = "Write it as train-%06d.tar, train-{000..127}.tar or train-@0099.tar."};
}

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

std::optional<uint64_t> number(std::string_view digits) {
  uint64_t value = 0;
  const auto [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc() || stop != digits.data() + digits.size() || value >= uint64_t{1} << 62)
    return std::nullopt;
  return value;
}

}  // namespace

Result<NameTemplate> NameTemplate::parse(std::string_view text,
                                         std::optional<Container> container) {
  if (container) HR_CHECK(check_is_written(*container));
  if (!container || container_of(text) != container)
    return bad(text, "does not end in " +
                         std::string(container_suffix(container.value_or(Container::kTar))));
  if (text.starts_with('/') || text.starts_with("_headrace/") || text.starts_with("./") ||
      ("/" + std::string(text) + "/").find("/../") != std::string::npos ||
      text.find("//") != std::string_view::npos)
    return bad(text, "leaves the destination or lies in a folder that Headrace keeps for itself");

  NameTemplate names;
  std::string literal;
  bool printf_seen = false;
  for (size_t i = 0; i < text.size();) {
    Range range;
    if (text[i] == '%' && i + 1 < text.size() && text[i + 1] == '%') {
      literal += '%';
      i += 2;
      continue;
    }
    if (text[i] == '%') {
      const size_t width = digits_at(text, i + 1);
      const std::string_view digits = text.substr(i + 1, width);
      if (i + 1 + width >= text.size() || text[i + 1 + width] != 'd' || width > 3 ||
          (width > 0 && digits[0] != '0') || printf_seen)
        return bad(text, "has a % that is not the one %06d");
      printf_seen = true;
      range = {.first = 0, .count = kNoLimit, .width = width ? *number(digits) : 0};
      i += width + 2;
    } else if (text[i] == '@' && digits_at(text, i + 1) > 0) {
      const size_t width = digits_at(text, i + 1);
      const auto last = number(text.substr(i + 1, width));
      if (!last) return bad(text, "has a number that is too large");
      range = {.first = 0, .count = *last + 1, .width = width};
      i += width + 1;
    } else if (text[i] == '{') {
      const size_t first_width = digits_at(text, i + 1);
      size_t at = i + 1 + first_width;
      if (first_width == 0 || text.substr(at, 2) != "..")
        return bad(text, "has a { without a range");
      const size_t last_width = digits_at(text, at + 2);
      const auto first = number(text.substr(i + 1, first_width));
      const auto last = number(text.substr(at + 2, last_width));
      at += 2 + last_width;
      std::optional<uint64_t> step = 1;
      if (text.substr(at, 2) == "..") {
        const size_t step_width = digits_at(text, at + 2);
        step = number(text.substr(at + 2, step_width));
        at += 2 + step_width;
      }
      if (!first || !last || !step || *step == 0 || *last < *first || at >= text.size() ||
          text[at] != '}')
        return bad(text, "has a { without a range that goes up");
      const bool padded = text[i + 1] == '0' || text[at - last_width] == '0';
      range = {.first = *first,
               .count = (*last - *first) / *step + 1,
               .step = *step,
               .width = padded ? std::max(first_width, last_width) : 0};
      i = at + 1;
    } else {
      literal += text[i++];
      continue;
    }
    if (!names.ranges_.empty() && (range.count == kNoLimit || names.limit_ == kNoLimit))
      return bad(text, "mixes %d with ranges");
    names.text_.push_back(std::move(literal));
    literal.clear();
    if (names.limit_ > kNoLimit / range.count) return bad(text, "stands for too many names");
    names.limit_ *= range.count;
    names.ranges_.push_back(range);
  }
  names.text_.push_back(std::move(literal));
  if (names.ranges_.empty()) return bad(text, "has no place for the shard's number");
  if (!is_safe_path(names.name(names.limit_ - 1)))
    return bad(text, "is no path of a file in the destination");
  return names;
}

std::string NameTemplate::name(uint64_t number) const {
  std::vector<std::string> digits(ranges_.size());
  for (size_t i = ranges_.size(); i-- > 0;) {
    const Range& range = ranges_[i];
    digits[i] = std::to_string(range.first + number % range.count * range.step);
    if (digits[i].size() < range.width) digits[i].insert(0, range.width - digits[i].size(), '0');
    number /= range.count;
  }
  std::string name;
  for (size_t i = 0; i < ranges_.size(); ++i) name += text_[i] + digits[i];
  return name + text_.back();
}

}  // namespace headrace
