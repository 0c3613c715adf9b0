// How many requests one host gets at once of all processes of a node together, and until when it
// wants none of them.
//
// While a process wants something, it says every 20 to 50 ms how many requests it holds and wants,
// hears the same of the others (HostFile), and takes its fair share of what they do not hold:
//
//   limit 16      wanted   share
//   process A         40       7
//   process B          3       3    what B does not need is divided among the others
//   process C         40       6
//
// What all hold together is never above the limit, if all have the same: whoever has more under way
// than its share sends nothing and holds them until they have ended. Who gets nothing for 2 s takes
// one all the same, so that nothing hangs: for processes that are stopped, and more processes than
// requests.
//
// Without a file the process is alone and has all of it. Belongs to the fetcher's thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "io/http/host_file.h"

namespace headrace {

/// What of `limit` goes to number `me` of those who want so many each: all that it wants, or as
/// much as any other gets. Pure.
unsigned fair_share(unsigned limit, const std::vector<unsigned>& wanted, size_t me);

class NodeBudget {
 public:
  using Clock = HostFile::Clock;

  /// `folder`: of the node's cache; "": alone. `most`: requests of all processes.
  NodeBudget(const std::string& folder, const std::string& host, unsigned most);

  /// Tells and hears, if it is time. `wanted`: requests under way and those that would be.
  void update(unsigned in_flight, unsigned wanted, Clock::time_point now);
  bool may_send(unsigned in_flight, Clock::time_point now) const;
  /// The host wants no request until then; the others hear it too.
  void hold_back(Clock::time_point until);
  Clock::time_point not_before() const { return not_before_; }
  /// When update() will do something; for ever later if it need not.
  Clock::time_point next_look(unsigned wanted) const;

 private:
  HostFile::Own decide(const HostFile::Others& others, unsigned in_flight);

  const unsigned most_;
  HostFile file_;
  unsigned share_ = 0;
  unsigned peak_ = 0;       // most that was wanted since the last look
  bool is_resting_ = true;  // the others know that nothing is wanted here
  bool has_news_ = false;   // a new not_before_, which cannot wait
  Clock::time_point not_before_{};
  Clock::time_point looked_{};
  Clock::time_point busy_until_{};                 // another process has the file
  std::optional<Clock::time_point> hungry_since_;  // something is wanted and there is no share
};

}  // namespace headrace
