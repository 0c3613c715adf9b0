// One line on standard error that says how far a job is, how fast, and how long it will take.
//
//   verifying  1.23 GiB of 4.56 GiB  27%  852 MiB/s  12,345 samples  4.2s left
//
// On a terminal it is redrawn ten times a second and wiped at the end; elsewhere a line comes every
// 30 seconds; with --quiet nothing. The rate is an exponentially weighted mean over about 5
// seconds. Thread-safety: create and destroy it on one thread. It watches the Progress, which must
// outlive it, from a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/command.h"

namespace headrace::cli {

/// A mean rate that forgets: what happened long ago counts for little.
class Rate {
 public:
  /// `total` since the start, `seconds` since the start.
  void update(double total, double seconds);
  double per_second() const { return rate_; }

 private:
  double rate_ = 0;
  double total_ = 0;
  double seconds_ = 0;
  bool any_ = false;
};

class ProgressLine {
 public:
  /// `verb` as "verifying"; `unit` is what the progress counts as items, as "samples".
  ProgressLine(const Context& context, std::string verb, std::string unit);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void watch();
  std::string line(double seconds);

  const Progress& progress_;
  const std::string verb_;
  const std::string unit_;
  const bool redraw_;
  const std::chrono::steady_clock::time_point start_;
  Rate bytes_;
  Rate items_;

  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace headrace::cli
