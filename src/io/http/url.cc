#include "io/http/url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "io/http/curl.h"

namespace headrace {
namespace {

/// Paths stay as they are written: "a//b" and "a/../b" are names of objects.
constexpr unsigned kParseFlags = CURLU_PATH_AS_IS;

Error not_an_address(std::string_view text, std::string_view why) {
  const std::string shown(text.substr(0, text.find_first_of("?#")));
  return {.code = Code::kUsage,
          .message = "'" + shown + "' is no web address: " + std::string(why)};
}

std::string part(CURLU* url, CURLUPart which) {
  char* text = nullptr;
  if (curl().url_get(url, which, &text, 0) != CURLUE_OK) return "";
  std::string copy(text);
  curl().free(text);
  return copy;
}

Result<Url> take_apart(CURLU* parsed, std::string_view text) {
  Url url;
  url.scheme = part(parsed, CURLUPART_SCHEME);
  if (url.scheme != "http" && url.scheme != "https")
    return not_an_address(text, "it begins with neither http:// nor https://");
  if (!part(parsed, CURLUPART_USER).empty() || !part(parsed, CURLUPART_PASSWORD).empty())
    return not_an_address(part(parsed, CURLUPART_HOST),
                          "it holds a user name or password, which would end up in logs");
  url.host = part(parsed, CURLUPART_HOST);
  if (url.host.starts_with('[')) url.host = url.host.substr(1, url.host.size() - 2);
  const std::string port = part(parsed, CURLUPART_PORT);
  std::from_chars(port.data(), port.data() + port.size(), url.port);
  url.path = part(parsed, CURLUPART_PATH);
  url.query = part(parsed, CURLUPART_QUERY);
  return url;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  const CurlUrl parsed = make_curl_url();
  const std::string copy(text);
  if (const auto code = curl().url_set(parsed.get(), CURLUPART_URL, copy.c_str(), kParseFlags);
      code != CURLUE_OK)
    return not_an_address(text, curl().url_strerror(code));
  return take_apart(parsed.get(), text);
}

Result<Url> Url::resolve(std::string_view reference) const {
  const CurlUrl parsed = make_curl_url();
  const std::string copy(reference);
  auto code = curl().url_set(parsed.get(), CURLUPART_URL, to_string().c_str(), kParseFlags);
  if (code == CURLUE_OK)
    code = curl().url_set(parsed.get(), CURLUPART_URL, copy.c_str(), kParseFlags);
  if (code != CURLUE_OK) return not_an_address(reference, curl().url_strerror(code));
  return take_apart(parsed.get(), reference);
}

std::string Url::authority() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  const std::string name = ipv6 ? "[" + host + "]" : host;
  const bool usual = port == 0 || port == (scheme == "https" ? 443 : 80);
  return usual ? name : name + ":" + std::to_string(port);
}

std::string Url::origin() const { return scheme + "://" + authority(); }

std::string Url::to_string() const {
  const std::string address = origin() + (path.empty() ? "/" : path);
  return query.empty() ? address : address + "?" + query;
}

std::string percent_encode(std::string_view text, std::string_view keep) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || keep.find(c) != std::string_view::npos) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return encoded;
}

std::string percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    decoded +=
        escape ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return decoded;
}

std::string encode_query(const QueryParameters& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (!query.empty()) query += '&';
    query += percent_encode(name) + "=" + percent_encode(value);
  }
  return query;
}

QueryParameters decode_query(std::string_view query) {
  QueryParameters parameters;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty())
      parameters.emplace_back(percent_decode(pair.substr(0, equals)),
                              percent_decode(pair.substr(std::min(equals + 1, pair.size()))));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return parameters;
}

}  // namespace headrace
