// Waits until transfers of a curl multi handle can go on, and lets those go on: only the sockets
// that have something are looked at, however many there are.
//
// Thread-safety: wake() from any thread; all else belongs to the one that waits.
#pragma once

#include <chrono>
#include <optional>

#include "headrace/result.h"
#include "io/file.h"
#include "io/http/curl.h"

namespace headrace {

class TransferEvents {
 public:
  using Clock = std::chrono::steady_clock;

  /// `multi` outlives this.
  explicit TransferEvents(CURLM* multi);
  /// Curl calls nothing here any more, also while `multi` is cleaned up.
  ~TransferEvents();
  TransferEvents(const TransferEvents&) = delete;
  TransferEvents& operator=(const TransferEvents&) = delete;

  /// An error: the process has no descriptors left, and nothing else may be called.
  const Status& status() const { return status_; }
  /// Until some transfer went on, wake() was called or `until` has come.
  void wait(Clock::time_point until);
  void wake();

 private:
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void* unused);
  static int on_timer(CURLM* multi, long milliseconds, void* self);
  void act(curl_socket_t socket, int what);

  CURLM* const multi_;
  const File epoll_;
  const File wake_;
  Status status_;
  std::optional<Clock::time_point> timer_;  // when curl wants to be called without an event
};

}  // namespace headrace
