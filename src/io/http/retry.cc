#include "io/http/retry.h"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "io/http/curl.h"

namespace headrace {
namespace {

std::optional<int64_t> number_after(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t number = 0;
  const char* begin = text.data() + at + name.size();
  if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

std::chrono::milliseconds seconds(int64_t count) {
  return std::chrono::seconds(std::clamp<int64_t>(count, 0, kLongestAskedDelay.count()));
}

}  // namespace

bool is_worth_another_attempt(int status) {
  return status == 408 || status == 425 || status == 500 || status == 502 || status == 504 ||
         is_throttling(status);
}

bool is_throttling(int status) { return status == 429 || status == 503; }

std::optional<std::chrono::milliseconds> asked_delay(const HttpResponse& response) {
  if (const std::string* after = response.headers.find("Retry-After")) {
    if (const auto count = number_after(*after, "")) return seconds(*count);
    if (const time_t date = curl().getdate(after->c_str(), nullptr); date >= 0)
      return seconds(date - std::time(nullptr));
  }
  const std::string_view limit = response.headers.get("RateLimit");
  if (number_after(limit, ";r=") == 0)
    if (const auto reset = number_after(limit, ";t=")) return seconds(*reset);
  return std::nullopt;
}

std::chrono::milliseconds jittered_delay(const FetcherOptions& options, unsigned attempt,
                                         std::mt19937_64& random) {
  const unsigned doublings = std::min(attempt - 1, 20U);
  const int64_t longest =
      std::min<int64_t>(options.first_delay.count() << doublings, options.longest_delay.count());
  return std::chrono::milliseconds(
      std::uniform_int_distribution<int64_t>(1, std::max<int64_t>(longest, 1))(random));
}

}  // namespace headrace
