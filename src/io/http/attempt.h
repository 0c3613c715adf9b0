// One attempt of one request: a curl transfer, and what came of it.
//
// What is checked before the first byte of a body is taken: that a range was answered by just that
// range, that the body is not compressed, and what the call itself wants to see.
// Belongs to the fetcher's thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "io/http/curl_handles.h"
#include "io/http/fetcher.h"
#include "io/http/host_pace.h"

namespace headrace {

class Attempt {
 public:
  using Clock = std::chrono::steady_clock;

  /// `request` is signed, its range as a header, and its memory is where this attempt writes. Both
  /// outlive the attempt, as does its host's pace, which is told of what comes.
  Attempt(const FetcherOptions& options, const HttpCall& call, HttpRequest request, HostPace& pace,
          CurlHandles::Handle easy);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  CURL* handle() const { return easy_.get(); }
  const HttpRequest& request() const { return request_; }
  /// Bytes at the front of the request's memory that are right, though the attempt failed: the head
  /// was looked at and found good, then the connection broke.
  uint64_t good_bytes() const;
  Clock::time_point begin() const { return begin_; }
  /// From sending to the first byte of the answer, once there was one.
  std::optional<std::chrono::nanoseconds> first_byte() const;

  struct Outcome {
    Result<HttpResponse> result = HttpResponse{};
    bool retry = false;   ///< a fault that another attempt may not meet
    bool serving = true;  ///< false: the host was not reached, or it is known to start again
  };
  /// After the transfer ended with `code`.
  Outcome finish(CURLcode code);

 private:
  static size_t on_header(char* data, size_t size, size_t count, void* self);
  static size_t on_body(char* data, size_t size, size_t count, void* self);
  void take_header(std::string_view line);
  bool take_head();
  bool take_body(ByteView bytes);
  bool fail(Error error, bool retry);
  Status check_head() const;
  Error transport_error(CURLcode code) const;
  template <typename Value>
  void set(CURLoption option, Value value);
  void set_connection(const FetcherOptions& options);
  void set_message();

  const HttpCall& call_;
  HostPace& pace_;
  HttpRequest request_;
  HttpResponse response_;
  CurlHeaders header_list_;
  CurlHandles::Handle easy_;
  const Clock::time_point begin_ = Clock::now();
  bool head_taken_ = false;
  std::optional<Error> error_;  // why we ended the transfer ourselves
  bool error_retry_ = false;
};

}  // namespace headrace
