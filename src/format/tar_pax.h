// The body of a pax extended header: records "LENGTH KEY=VALUE\n", of which a reader of payloads
// needs path, linkpath and size.
//
// Format: POSIX.1-2017, pax, "pax Extended Header". Thread-safety: plain values, pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// What extended headers say about a member. Nothing: the ustar header counts.
struct PaxValues {
  std::optional<std::string> path;
  std::optional<std::string> linkpath;
  std::optional<uint64_t> size;
  bool sparse = false;  ///< a GNU.sparse.* record was there

  bool operator==(const PaxValues&) const = default;
};

/// Puts the records of `body` over `values`. An empty value takes an earlier one away. A record
/// that breaks the format is an error (Code::kCorrupt) with its offset in the body; `values` is
/// then unspecified.
Status parse_pax(ByteView body, PaxValues& values);

}  // namespace headrace
