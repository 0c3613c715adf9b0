// The small file in which the processes of a node tell each other what they do with one host:
// CACHE/hosts/<digest of the host>, whose bytes docs/cache.md has.
//
// Each process has a place in the file, with the requests it holds and wants and the time at which
// it said so, and a lock on that place, which is how others know that it lives: the lock belongs to
// the process (F_SETLK), so it ends with it in whatever way, and children do not inherit it. The
// first byte is locked while the file is read and changed, never waiting: a process that is stopped
// there must not stop the others.
//
// Nothing in the file is trusted: numbers are bounded by who uses them, times that cannot be are
// passed over. It is read and not mapped, so that whoever cuts it does no harm.
//
// One of a host and process, because closing one gives up the locks of both. Belongs to one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/file.h"

namespace headrace {

/// Requests of one process.
struct HostUse {
  unsigned held = 0;    ///< nobody else may have these under way
  unsigned wanted = 0;  ///< under way and waiting
};

class HostFile {
 public:
  using Clock = std::chrono::steady_clock;  // one for all processes of a machine

  /// What the living others say.
  struct Others {
    std::vector<HostUse> uses = {};     ///< in the order of their places
    size_t before = 0;                  ///< so many of them come before this process
    Clock::time_point not_before = {};  ///< the host wants no request until then
  };
  struct Own {
    HostUse use;
    Clock::time_point not_before;
  };

  /// `folder`: of the node's cache, made if need be; "": there is no file.
  HostFile(const std::string& folder, const std::string& host);

  /// False: no folder, no right to write, no locks, no place left, another machine's file.
  bool is_usable() const { return file_.is_open(); }
  /// Reads what the others say and writes what `decide` makes of it. False, and nothing was done:
  /// another process has the file at this moment, or it is not usable any more.
  bool exchange(Clock::time_point now, const std::function<Own(const Others&)>& decide);

 private:
  bool talk(Clock::time_point now, const std::function<Own(const Others&)>& decide);
  bool begin_file();
  bool find_place();
  Others read_others(ByteView bytes, Clock::time_point now) const;
  bool lives(uint64_t offset, int64_t age) const;
  bool write(uint64_t offset, ByteView bytes) const;

  File file_;
  std::optional<uint64_t> place_;  // its offset
};

}  // namespace headrace
