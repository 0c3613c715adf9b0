// When a request is tried again, and after how long.
// Pure but for the random numbers. Source of full jitter: "Exponential Backoff And Jitter",
// AWS Architecture Blog, 2015: independent clients spread out instead of coming back together.
#pragma once

#include <chrono>
#include <optional>
#include <random>

#include "io/http/fetcher.h"

namespace headrace {

/// A server that asks for more time is not obeyed any longer than this.
inline constexpr std::chrono::seconds kLongestAskedDelay(3600);

/// 408, 425, 429, 500, 502, 503, 504: the same request may succeed later.
bool is_worth_another_attempt(int status);

/// 429 and 503: the server asks for fewer requests.
bool is_throttling(int status);

/// Retry-After, in seconds or as a date; of a server with rate-limit headers whose quota is used up
/// (RateLimit: "…";r=0;t=SECONDS), that time. Nothing if neither is there.
std::optional<std::chrono::milliseconds> asked_delay(const HttpResponse& response);

/// Before attempt number `attempt` (1: the first repeat): uniform in (0, first * 2^(attempt-1)],
/// at most the longest delay.
std::chrono::milliseconds jittered_delay(const FetcherOptions& options, unsigned attempt,
                                         std::mt19937_64& random);

}  // namespace headrace
