// The answer to WebDAV's PROPFIND of a folder: what lies in it.
// Source: RFC 4918, section 14.16. Thread-safety: a pure function.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store.h"
#include "io/http/url.h"

namespace headrace {

struct Multistatus {
  std::vector<StoreEntry> files;     ///< paths relative to the root, not encoded
  std::vector<std::string> folders;  ///< the same; none ends in a slash
};

/// `root`: what paths are relative to; `folder`: the one that was asked for, as its path is decoded
/// and with a slash at the end. What lies outside of it is passed over. Nothing if this is no
/// multistatus.
std::optional<Multistatus> parse_multistatus(std::string_view body, const Url& root,
                                             const std::string& folder);

}  // namespace headrace
