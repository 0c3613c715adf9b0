// Web addresses: taken apart, put together, and written so that no secret shows.
// Plain values. Source: RFC 3986.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/result.h"

namespace headrace {

/// Path and query are kept as they are sent: percent-encoded.
struct Url {
  std::string scheme;  ///< "http", "https"; lower case
  std::string host;    ///< without brackets for IPv6
  uint16_t port = 0;   ///< 0: the scheme's own
  std::string path;    ///< empty or with a leading '/'
  std::string query;   ///< without the '?'

  /// Code::kUsage if `text` is no absolute http or https URL, or holds a user name or password
  /// (which would end up in logs). A fragment is left out.
  static Result<Url> parse(std::string_view text);
  /// What a Location header or link means, seen from this address.
  Result<Url> resolve(std::string_view reference) const;

  uint16_t port_number() const { return port != 0 ? port : scheme == "https" ? 443 : 80; }
  /// "host" or "host:port", as in a Host header.
  std::string authority() const;
  /// "https://host:port": connections and credentials belong to an origin.
  std::string origin() const;
  std::string to_string() const;
  /// For messages: without the query, which may be a signature or hold a token.
  std::string redacted() const { return origin() + path; }

  bool same_origin(const Url& other) const { return origin() == other.origin(); }
  bool operator==(const Url&) const = default;
};

/// Every byte that is not unreserved (A-Z a-z 0-9 - . _ ~) becomes %XX, but for those in `keep`.
std::string percent_encode(std::string_view text, std::string_view keep = "");
/// %XX become bytes; anything else stays.
std::string percent_decode(std::string_view text);

using QueryParameters = std::vector<std::pair<std::string, std::string>>;
/// name=value&…, both percent-encoded, in the order given. An empty value still has its '='.
std::string encode_query(const QueryParameters& parameters);
/// Decoded pairs, in order; '+' stays a plus.
QueryParameters decode_query(std::string_view query);

}  // namespace headrace
