// What this process asked of remote stores, by host.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace headrace {

/// Of one host, since this process first asked it.
struct HostCounters {
  uint64_t requests = 0;  ///< attempts that were sent
  uint64_t retries = 0;
  uint64_t hedges = 0;  ///< second requests beside slow ones
  uint64_t redirects = 0;
  uint64_t throttled = 0;         ///< answers 429 and 503
  uint64_t bytes_needed = 0;      ///< of bodies that were delivered
  uint64_t bytes_asked = 0;       ///< of bodies that came over the wire
  double first_byte_seconds = 0;  ///< from sending to the first byte, summed over answers
  unsigned depth = 0;  ///< requests of 1 MiB or more at once that fill the link, as found so far
};

/// By origin, as "https://host:port"; empty if nothing remote was opened.
std::map<std::string, HostCounters> network_counters();

}  // namespace headrace
