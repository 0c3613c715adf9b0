#include "io/s3/signature_v4.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <vector>

#include "base/digest.h"

namespace headrace {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool is_signed(std::string_view lower_name) {
  return lower_name.starts_with("x-amz-") || lower_name == "content-type" ||
         lower_name == "content-md5";
}

// Without space around it, and one space for several.
std::string trimmed(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

struct CanonicalHeaders {
  std::string lines;  // "name:value\n" each, sorted
  std::string names;  // "host;x-amz-date"
};

CanonicalHeaders canonical_headers(const HttpRequest& request) {
  std::map<std::string, std::string> values{{"host", request.url.authority()}};
  for (const auto& [name, value] : request.headers) {
    const std::string key = lower(name);
    if (!is_signed(key)) continue;
    std::string& known = values[key];
    known += (known.empty() ? "" : ",") + trimmed(value);
  }
  CanonicalHeaders out;
  for (const auto& [name, value] : values) {
    out.lines.append(name).append(":").append(value).append("\n");
    out.names.append(out.names.empty() ? "" : ";").append(name);
  }
  return out;
}

// Sorted by name, then value, as they are encoded; a name alone gets its '='.
std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    pairs.emplace_back(pair.substr(0, equals), pair.substr(std::min(equals + 1, pair.size())));
  }
  std::sort(pairs.begin(), pairs.end());
  std::string out;
  for (const auto& [name, value] : pairs)
    out.append(out.empty() ? "" : "&").append(name).append("=").append(value);
  return out;
}

std::string canonical_request(const HttpRequest& request, const CanonicalHeaders& headers,
                              std::string_view content_digest) {
  return request.method + "\n" + (request.url.path.empty() ? "/" : request.url.path) + "\n" +
         canonical_query(request.url.query) + "\n" + headers.lines + "\n" + headers.names + "\n" +
         std::string(content_digest);
}

std::string scope_text(const SigningScope& scope, std::string_view date) {
  return std::string(date.substr(0, 8)) + "/" + scope.region + "/" + scope.service +
         "/aws4_request";
}

std::string signature(const std::string& canonical, const S3Credentials& credentials,
                      const SigningScope& scope, std::string_view date) {
  const std::string text = std::string(kAlgorithm) + "\n" + std::string(date) + "\n" +
                           scope_text(scope, date) + "\n" + sha256_hex(as_bytes(canonical));
  std::string key = hmac_sha256("AWS4" + credentials.secret_key, date.substr(0, 8));
  for (const std::string_view part :
       {std::string_view(scope.region), std::string_view(scope.service),
        std::string_view("aws4_request")})
    key = hmac_sha256(key, part);
  return hex(as_bytes(hmac_sha256(key, text)));
}

}  // namespace

std::string amz_date(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts)};
}

void sign_v4(HttpRequest& request, const S3Credentials& credentials, const SigningScope& scope,
             WallTime now) {
  const std::string date = amz_date(now);
  request.headers.set("x-amz-date", date);
  request.headers.remove("x-amz-security-token");
  if (!credentials.session_token.empty())
    request.headers.set("x-amz-security-token", credentials.session_token);
  if (request.headers.find(kContentDigest) == nullptr)
    request.headers.set(kContentDigest, sha256_hex(request.body));

  const CanonicalHeaders headers = canonical_headers(request);
  const std::string canonical =
      canonical_request(request, headers, request.headers.get(kContentDigest));
  request.headers.set("Authorization",
                      std::string(kAlgorithm) + " Credential=" + credentials.access_key + "/" +
                          scope_text(scope, date) + ", SignedHeaders=" + headers.names +
                          ", Signature=" + signature(canonical, credentials, scope, date));
}

Url presign_v4(const HttpRequest& request, const S3Credentials& credentials,
               const SigningScope& scope, WallTime now, std::chrono::seconds lasts) {
  HttpRequest asked = request;
  const std::string date = amz_date(now);
  const CanonicalHeaders headers = canonical_headers(asked);
  QueryParameters added{
      {"X-Amz-Algorithm", std::string(kAlgorithm)},
      {"X-Amz-Credential", credentials.access_key + "/" + scope_text(scope, date)},
      {"X-Amz-Date", date},
      {"X-Amz-Expires", std::to_string(lasts.count())},
      {"X-Amz-SignedHeaders", headers.names}};
  if (!credentials.session_token.empty())
    added.emplace_back("X-Amz-Security-Token", credentials.session_token);
  std::string& query = asked.url.query;
  query += (query.empty() ? "" : "&") + encode_query(added);
  const std::string canonical = canonical_request(asked, headers, kUnsignedPayload);
  query += "&X-Amz-Signature=" + signature(canonical, credentials, scope, date);
  return asked.url;
}

}  // namespace headrace
