#include "io/bucket/bearer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/try.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr auto kPatience = std::chrono::seconds(20);
constexpr int64_t kLongestLife = 366 * 24 * 3600;  // in seconds

// Azure's metadata service writes numbers as text.
std::optional<int64_t> seconds_of(const json& answer) {
  const json value = answer.value("expires_in", json());
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_string()) return std::atoll(value.get_ref<const std::string&>().c_str());
  return std::nullopt;
}

}  // namespace

Result<BearerToken> parse_token(const HttpResponse& answer, const std::string& where) {
  const json body = json::parse(answer.body, nullptr, false);
  const json token = body.is_object() ? body.value("access_token", json()) : json();
  if (!answer.is_success() || !token.is_string()) {
    HttpResponse shown;
    shown.status = answer.status;
    if (body.is_object() && body.contains("error") && body["error"].is_string())
      shown.body = body["error"];
    Error error = http_error("get an access token", where, shown);
    error.code = Code::kDenied;
    return error;
  }
  BearerToken lent{token.get<std::string>()};
  if (const auto seconds = seconds_of(body); seconds)
    lent.expires = std::chrono::system_clock::now() +
                   std::chrono::seconds(std::clamp<int64_t>(*seconds, 0, kLongestLife));
  return lent;
}

Result<BearerToken> ask_for_token(Fetcher& fetcher, const std::string& address,
                                  const QueryParameters& form) {
  HttpCall call;
  HR_TRY(call.request.url, Url::parse(address));
  call.object = call.request.url.origin();
  call.patience = kPatience;
  call.request.method = "POST";
  const auto body = std::make_shared<const std::string>(encode_query(form));
  call.request.body = as_bytes(*body);
  call.request.body_owner = body;
  call.request.headers.set("Content-Type", "application/x-www-form-urlencoded");
  const std::string where = call.object;
  HR_TRY(const HttpResponse answer, fetcher.send(std::move(call)));
  return parse_token(answer, where);
}

Status BearerSigner::sign(HttpRequest& request) const {
  const auto token = tokens_->latest();
  if (!token)
    return Error{.code = Code::kDenied, .message = "there is no access token yet", .origin = {}};
  request.headers.set("Authorization", "Bearer " + token->token);
  return {};
}

Status BearerSigner::ready() const {
  HR_TRY(const auto token, tokens_->get());
  static_cast<void>(token);
  return {};
}

}  // namespace headrace
