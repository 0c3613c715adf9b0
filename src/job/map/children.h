// The processes that `map` starts, each the first of a process group of its own, so that all it
// starts itself ends with it.
//
//   they end by themselves         wait() tells how, and ends what they left running
//   the job is stopped, or fails   kill_all(), from another thread
//   this process is killed         the kernel ends the first process of each group
//
// Thread-safety: every method from any thread. A child belongs to the thread that started it: the
// kernel takes it away when that thread ends.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headrace/result.h"

namespace headrace {

struct ChildCommand {
  std::vector<std::string> words;
  std::string folder = {};  ///< its working folder; empty: this one's
  std::vector<std::pair<std::string, std::string>> env = {};  ///< beside what this process has
  int input = -1;                                             ///< descriptors; -1: /dev/null
  int output = -1;
  int errors = -1;
};

class Children {
 public:
  /// Code::kInterrupted after kill_all().
  Result<pid_t> start(const ChildCommand& command);
  /// Until it ends. Returns "" for exit status 0, else how it ended: "exit status 3".
  std::string wait(pid_t child);
  /// Ends all there are, and no more are started.
  void kill_all();

 private:
  std::mutex mutex_;
  bool closed_ = false;
  std::set<pid_t> groups_;
};

}  // namespace headrace
