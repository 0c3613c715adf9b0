// A secret that is lent for some time: got when first needed, and again before it ends, while the
// old one is still in use.
//
// Owns a thread while it renews. Thread-safe.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "headrace/result.h"

namespace headrace {

using WallTime = std::chrono::system_clock::time_point;

/// T has a member `std::optional<WallTime> expires`.
template <typename T>
class Renewed {
 public:
  using Fetch = std::function<Result<T>()>;

  explicit Renewed(Fetch fetch) : fetch_(std::move(fetch)) {}
  ~Renewed() { end_thread(); }
  Renewed(const Renewed&) = delete;
  Renewed& operator=(const Renewed&) = delete;

  /// Waits only if there is none, or none that is still good.
  Result<std::shared_ptr<const T>> get() {
    const std::lock_guard one(fetching_);  // the others wait for the first, and take what it got
    if (auto value = held(); value && !is_over(*value)) return value;
    auto fetched = fetch_();
    if (!fetched.ok()) return std::move(fetched).error();
    return keep(std::move(*fetched));
  }

  /// What there is, never waiting; nullptr before the first get(). Close to its end it is renewed
  /// in the background.
  std::shared_ptr<const T> latest() {
    const std::lock_guard lock(mutex_);
    if (value_ && value_->expires && now() >= renew_at_ && !renewing_) start_renewal();
    return value_;
  }

 private:
  static constexpr auto kAhead = std::chrono::minutes(5);
  static constexpr auto kAgain = std::chrono::seconds(20);  // after a renewal that failed

  static WallTime now() { return std::chrono::system_clock::now(); }
  static bool is_over(const T& value) { return value.expires && now() >= *value.expires; }

  std::shared_ptr<const T> held() {
    const std::lock_guard lock(mutex_);
    return value_;
  }

  std::shared_ptr<const T> keep(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::make_shared<const T>(std::move(value));
    if (value_->expires) {
      const auto life = *value_->expires - now();
      renew_at_ =
          *value_->expires - std::min<std::chrono::system_clock::duration>(kAhead, life / 2);
    }
    return value_;
  }

  // With mutex_ held.
  void start_renewal() {
    end_thread();
    renewing_ = true;
    thread_ = std::thread([this] {
      auto fetched = fetch_();
      if (fetched.ok()) keep(std::move(*fetched));
      const std::lock_guard lock(mutex_);
      if (!fetched.ok()) renew_at_ = now() + kAgain;
      renewing_ = false;
    });
    process_ = ::getpid();
  }

  // A child of fork() has the object, but not the thread.
  void end_thread() {
    if (!thread_.joinable()) return;
    if (process_ == ::getpid())
      thread_.join();
    else
      thread_.detach();
  }

  const Fetch fetch_;
  std::mutex fetching_;
  std::mutex mutex_;
  std::shared_ptr<const T> value_;
  WallTime renew_at_;
  bool renewing_ = false;
  std::thread thread_;
  pid_t process_ = 0;
};

}  // namespace headrace
