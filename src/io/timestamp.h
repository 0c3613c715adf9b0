// Times as servers write them. Thread-safety: pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace headrace {

/// "2026-11-21T20:00:00.123Z"; nothing for what is no time, or none that the clock can hold.
std::optional<std::chrono::system_clock::time_point> parse_iso_time(const std::string& text);
/// "Sat, 21 Nov 2026 20:00:00 GMT", of HTTP.
std::optional<std::chrono::system_clock::time_point> parse_http_time(const std::string& text);

}  // namespace headrace
