#include "io/hf/signed_places.h"

#include <algorithm>
#include <charconv>
#include <ctime>

namespace headrace {
namespace {

using Clock = std::chrono::system_clock;

constexpr size_t kMostPlaces = 100'000;
constexpr std::chrono::minutes kWithoutExpiry(10);
constexpr std::chrono::seconds kMargin(60);

std::optional<int64_t> number(const std::string& text) {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// "20261121T200000Z"
std::optional<Clock::time_point> amazon_date(const std::string& text) {
  struct tm time = {};
  const char* end = ::strptime(text.c_str(), "%Y%m%dT%H%M%SZ", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return Clock::from_time_t(::timegm(&time));
}

}  // namespace

std::optional<Clock::time_point> expiry_of(const Url& url) {
  std::optional<int64_t> expires, lasts;
  std::optional<Clock::time_point> date;
  for (const auto& [name, value] : decode_query(url.query)) {
    if (name == "Expires") expires = number(value);
    if (name == "X-Amz-Expires") lasts = number(value);
    if (name == "X-Amz-Date") date = amazon_date(value);
  }
  if (expires) return Clock::time_point(std::chrono::seconds(*expires));
  if (date && lasts) return *date + std::chrono::seconds(*lasts);
  return std::nullopt;
}

std::optional<Url> SignedPlaces::find(const std::string& file) const {
  const std::scoped_lock lock(mutex_);
  const auto found = places_.find(file);
  if (found == places_.end() || found->second.good_until <= Clock::now()) return std::nullopt;
  return found->second.url;
}

void SignedPlaces::found(const std::string& file, const Url& url) {
  const auto now = Clock::now();
  const auto end = expiry_of(url).value_or(now + kWithoutExpiry);
  const auto margin = std::min<Clock::duration>(kMargin, (end - now) / 4);
  const std::scoped_lock lock(mutex_);
  if (places_.size() >= kMostPlaces) places_.clear();
  places_.insert_or_assign(file, Place{url, end - margin});
}

void SignedPlaces::forget(const std::string& file) {
  const std::scoped_lock lock(mutex_);
  places_.erase(file);
}

bool SignedPlaces::begin_search(const std::string& file, std::function<void()> then) {
  const std::scoped_lock lock(mutex_);
  const auto [search, first] = searches_.try_emplace(file);
  if (!first) search->second.push_back(std::move(then));
  return first;
}

void SignedPlaces::end_search(const std::string& file) {
  std::vector<std::function<void()>> waiting;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto search = searches_.find(file); search != searches_.end()) {
      waiting = std::move(search->second);
      searches_.erase(search);
    }
  }
  for (const auto& then : waiting) then();
}

}  // namespace headrace
