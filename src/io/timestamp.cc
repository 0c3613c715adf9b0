#include "io/timestamp.h"

#include <ctime>

namespace headrace {
namespace {

// strptime of a format in UTC; `rest` is what follows.
std::optional<std::chrono::system_clock::time_point> parse(const std::string& text,
                                                           const char* format, std::string* rest) {
  std::tm parts{};
  const char* const end = ::strptime(text.c_str(), format, &parts);
  // Years that the clock cannot hold are no times either.
  if (end == nullptr || parts.tm_year < 70 || parts.tm_year > 300) return std::nullopt;
  *rest = end;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_iso_time(const std::string& text) {
  std::string zone;
  const auto time = parse(text, "%Y-%m-%dT%H:%M:%S", &zone);
  if (zone.starts_with('.')) zone.erase(0, zone.find_first_not_of("0123456789", 1));
  const bool utc = zone.empty() || zone == "Z" || zone == "+00:00" || zone == "+0000";
  return utc ? time : std::nullopt;
}

std::optional<std::chrono::system_clock::time_point> parse_http_time(const std::string& text) {
  std::string rest;
  return parse(text, "%a, %d %b %Y %H:%M:%S", &rest);
}

}  // namespace headrace
