#include "io/ais/ais_error.h"

#include "io/json_fields.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr size_t kMostWords = 300;

json details(const HttpResponse& answer) {
  const std::string_view header = answer.headers.get("Hdr-Error");
  return json::parse(header.empty() ? std::string_view(answer.body) : header, nullptr, false);
}

}  // namespace

bool is_missing_bucket(const HttpResponse& answer) {
  return answer.status == 404 && text_of(details(answer), "tcode") == "ErrBckNotFound";
}

Error ais_error(std::string_view action, const std::string& object, const HttpResponse& answer) {
  Error error = http_error(action, object, answer);
  const std::string words = text_of(details(answer), "message").substr(0, kMostWords);
  if (!words.empty())
    error.message = "cannot " + std::string(action) + " the object: AIStore says '" + words + "'";
  if (is_missing_bucket(answer))
    error.hint = "Create the bucket, or check its name and AIS_ENDPOINT.";
  if (error.code == Code::kDenied)
    error.hint = "Give a token in AIS_AUTHN_TOKEN or AIS_AUTHN_TOKEN_FILE.";
  return error;
}

}  // namespace headrace
