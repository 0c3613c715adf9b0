#include "io/az/shared_key.h"

#include <array>
#include <ctime>
#include <map>

#include "base/base64.h"
#include "base/digest.h"

namespace headrace {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string range_of(const HttpRequest& request) {
  if (!request.range) return std::string(request.headers.get("Range"));
  return "bytes=" + std::to_string(request.range->first) + "-" +
         std::to_string(request.range->last);
}

std::string canonical_headers(const HttpRequest& request) {
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : request.headers)
    if (const std::string key = lower(name); key.starts_with("x-ms-")) values[key] = value;
  std::string lines;
  for (const auto& [name, value] : values)
    lines.append(name).append(":").append(value).append("\n");
  return lines;
}

std::string canonical_resource(const HttpRequest& request, const std::string& account) {
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : decode_query(request.url.query)) {
    std::string& known = values[lower(name)];
    known += (known.empty() ? "" : ",") + value;
  }
  std::string lines = "/" + account + request.url.path;
  for (const auto& [name, value] : values)
    lines.append("\n").append(name).append(":").append(value);
  return lines;
}

}  // namespace

std::string http_date(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  return {text.data(),
          std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

void sign_shared_key(HttpRequest& request, const AzureAccount& account, WallTime now) {
  request.headers.set("x-ms-date", http_date(now));
  const std::string length = request.body.empty() ? "" : std::to_string(request.body.size());
  std::string text = request.method;
  const auto header = [&](const char* name) { return std::string(request.headers.get(name)); };
  for (const std::string& value :
       {header("Content-Encoding"), header("Content-Language"), length, header("Content-MD5"),
        header("Content-Type"), std::string(), header("If-Modified-Since"), header("If-Match"),
        header("If-None-Match"), header("If-Unmodified-Since"), range_of(request)})
    text += "\n" + value;
  text += "\n" + canonical_headers(request) + canonical_resource(request, account.name);
  request.headers.set("Authorization",
                      "SharedKey " + account.name + ":" + base64(hmac_sha256(account.key, text)));
}

}  // namespace headrace
