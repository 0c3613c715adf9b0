#include "io/http/attempt.h"

#include <algorithm>
#include <cstring>

#include "base/try.h"

namespace headrace {
namespace {

constexpr long kReceiveBytes = 128 << 10;  // stays in the L2 cache until it is copied to its place
constexpr uint64_t kMostText = uint64_t{1} << 30;        // of an answer without a place for it
constexpr uint64_t kMostErrorText = uint64_t{64} << 10;  // of an answer that is an error

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool is_certificate_fault(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_SSL_ISSUER_ERROR;
}

/// What another attempt would meet as well.
bool is_final(CURLcode code) {
  return is_certificate_fault(code) || code == CURLE_URL_MALFORMAT ||
         code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_OUT_OF_MEMORY ||
         code == CURLE_BAD_FUNCTION_ARGUMENT || code == CURLE_UNKNOWN_OPTION;
}

bool is_unreachable(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT;
}

std::string range_text(ByteRange range) {
  return std::to_string(range.first) + "-" + std::to_string(range.last);
}

}  // namespace

Attempt::Attempt(const FetcherOptions& options, const HttpCall& call, HttpRequest request,
                 HostPace& pace, CurlHandles::Handle easy)
    : call_(call), pace_(pace), request_(std::move(request)), easy_(std::move(easy)) {
  response_.url = request_.url;
  set_connection(options);
  set_message();
}

template <typename Value>
void Attempt::set(CURLoption option, Value value) {
  curl().easy_setopt(easy_.get(), option, value);
}

void Attempt::set_connection(const FetcherOptions& options) {
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(options.slow_bytes_per_second));
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.slow_for.count()));
  set(CURLOPT_BUFFERSIZE, kReceiveBytes);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_SSL_VERIFYPEER, options.verify_tls ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, options.verify_tls ? 2L : 0L);
  if (!options.ca_file.empty()) set(CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.proxy.empty()) set(CURLOPT_PROXY, options.proxy.c_str());
}

void Attempt::set_message() {
  set(CURLOPT_URL, request_.url.to_string().c_str());
  if (request_.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else {
    set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    if (!request_.body.empty() || request_.method == "PUT" || request_.method == "POST") {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
      set(CURLOPT_POSTFIELDS, request_.body.empty() ? "" : as_text(request_.body).data());
    }
  }
  curl_slist* list = nullptr;
  const auto add = [&](const std::string& line) { list = curl().slist_append(list, line.c_str()); };
  for (const auto& [name, value] : request_.headers)
    add(value.empty() ? name + ";" : name + ": " + value);
  // What curl would add by itself. Of these the first keeps sizes true.
  if (request_.headers.find("Accept-Encoding") == nullptr) add("Accept-Encoding: identity");
  if (request_.headers.find("User-Agent") == nullptr) add("User-Agent: headrace");
  if (request_.headers.find("Content-Type") == nullptr) add("Content-Type:");
  if (request_.headers.find("Expect") == nullptr) add("Expect:");
  header_list_.reset(list);
  set(CURLOPT_HTTPHEADER, list);
  set(CURLOPT_HEADERFUNCTION, &Attempt::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &Attempt::on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_PRIVATE, this);
}

std::optional<std::chrono::nanoseconds> Attempt::first_byte() const {
  curl_off_t sent = 0, answered = 0;
  curl().easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &sent);
  curl().easy_getinfo(easy_.get(), CURLINFO_STARTTRANSFER_TIME_T, &answered);
  if (answered == 0) return std::nullopt;
  return std::chrono::microseconds(std::max<curl_off_t>(answered - sent, 0));
}

size_t Attempt::on_header(char* data, size_t size, size_t count, void* self) {
  static_cast<Attempt*>(self)->take_header({data, size * count});
  return size * count;
}

size_t Attempt::on_body(char* data, size_t size, size_t count, void* self) {
  const bool taken = static_cast<Attempt*>(self)->take_body(as_bytes({data, size * count}));
  return taken ? size * count : 0;
}

void Attempt::take_header(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // also after a 100, or the answer of a proxy
    response_.headers = {};
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  response_.headers.add(trimmed(line.substr(0, colon)),
                        std::string(trimmed(line.substr(colon + 1))));
}

bool Attempt::fail(Error error, bool retry) {
  error_ = std::move(error);
  error_retry_ = retry;
  return false;
}

/// Status and headers, before any body. False: the transfer is to end.
bool Attempt::take_head() {
  head_taken_ = true;
  long status = 0;
  curl().easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  response_.status = static_cast<int>(status);
  if (!response_.is_success()) return true;
  if (auto fault = check_head(); !fault.ok()) {
    const bool retry = fault.error().code != Code::kUsage;
    return fail(std::move(fault).error(), retry);
  }
  if (!call_.check) return true;
  auto checked = call_.check(response_);
  if (checked.ok()) return true;
  const bool retry = checked.error().code == Code::kPartial;
  return fail(std::move(checked).error(), retry);
}

Status Attempt::check_head() const {
  const auto wrong = [this](std::string message, std::string hint = "") {
    return Error{
        .message = std::move(message), .origin = {.shard = call_.object}, .hint = std::move(hint)};
  };
  const std::string_view encoding = response_.headers.get("Content-Encoding");
  if (!encoding.empty() && encoding != "identity" && request_.method == "GET")
    return wrong("the server compressed its answer with " + std::string(encoding) +
                     ", which it was not asked for",
                 "Have it send these files as they are.");
  if (!request_.range || request_.method == "HEAD") return {};
  const std::string asked = range_text(*request_.range);
  if (!response_.is_range()) {
    Error whole = wrong("the server answered bytes " + asked + " with status " +
                        std::to_string(response_.status) + " and not with this range");
    if (call_.ranges_unknown) whole.code = Code::kUsage;
    return whole;
  }
  const auto given = ContentRange::parse(response_.headers.get("Content-Range"));
  if (!given || given->range != *request_.range)
    return wrong("the server answered bytes " + asked + " with '" +
                 std::string(response_.headers.get("Content-Range").substr(0, 100)) + "'");
  return {};
}

bool Attempt::take_body(ByteView bytes) {
  if (!head_taken_ && !take_head()) return false;
  const uint64_t before = response_.body_bytes;
  response_.body_bytes += bytes.size();
  pace_.received(bytes.size());
  if (!response_.is_success()) {
    const uint64_t room = kMostErrorText - std::min(kMostErrorText, before);
    response_.body.append(as_text(bytes).substr(0, room));
    return true;
  }
  if (call_.sink) {
    auto taken = call_.sink(before, bytes);
    return taken.ok() || fail(std::move(taken).error(), false);
  }
  if (request_.into.empty()) {
    if (response_.body_bytes > kMostText)
      return fail({.message = "the answer is longer than 1 GiB", .origin = {call_.object}}, false);
    response_.body.append(as_text(bytes));
    return true;
  }
  if (bytes.size() > request_.into.size() - before)
    return fail({.message = "the answer is longer than the " +
                            std::to_string(request_.into.size()) + " bytes asked for",
                 .origin = {.shard = call_.object}},
                true);
  std::memcpy(request_.into.data() + before, bytes.data(), bytes.size());
  return true;
}

Error Attempt::transport_error(CURLcode code) const {
  Error error{
      .message = "cannot reach " + request_.url.authority() + ": " + curl().easy_strerror(code),
      .origin = {.shard = call_.object}};
  if (code == CURLE_OPERATION_TIMEDOUT)
    error.message = request_.url.authority() + " was too slow, or gave no answer in time";
  if (code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING)
    error.message = request_.url.authority() + " closed the connection after " +
                    std::to_string(response_.body_bytes) + " bytes of the answer";
  if (is_certificate_fault(code))
    error.hint = "If the certificate is by an authority of your own, name it: HEADRACE_CA_FILE.";
  else
    error.hint = "Check the address and the network.";
  return error;
}

uint64_t Attempt::good_bytes() const {
  const bool good = head_taken_ && !error_ && response_.is_success() && !request_.into.empty();
  return good ? response_.body_bytes : 0;
}

Attempt::Outcome Attempt::finish(CURLcode code) {
  if (error_) return {.result = *std::move(error_), .retry = error_retry_};
  if (code != CURLE_OK)
    return {.result = transport_error(code),
            .retry = !is_final(code),
            .serving = !is_unreachable(code)};
  if (!head_taken_ && !take_head()) return {.result = *std::move(error_), .retry = error_retry_};
  const bool has_place = response_.is_success() && !request_.into.empty();
  if (has_place && response_.body_bytes != request_.into.size())
    return {.result =
                Error{.message = "the answer ended after " + std::to_string(response_.body_bytes) +
                                 " of " + std::to_string(request_.into.size()) + " bytes",
                      .origin = {.shard = call_.object}},
            .retry = true};
  return {.result = std::move(response_)};
}

}  // namespace headrace
