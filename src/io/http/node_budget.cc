#include "io/http/node_budget.h"

#include <algorithm>

namespace headrace {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook(50);
constexpr milliseconds kLookWhenShort(20);  // there is more to send than may be
constexpr milliseconds kLookWhenBusy(2);
/// Requests that may come before the next look, as the first rows of a run do.
constexpr unsigned kHeadroom = 64;
constexpr std::chrono::seconds kPatience(2);

}  // namespace

unsigned fair_share(unsigned limit, const std::vector<unsigned>& wanted, size_t me) {
  std::vector<unsigned> sorted = wanted;
  std::ranges::sort(sorted);
  auto takers = static_cast<unsigned>(sorted.size());
  for (const unsigned each : sorted) {
    if (each > limit / takers) break;
    limit -= each;
    --takers;
  }
  if (takers == 0) return wanted[me];
  const unsigned level = limit / takers;
  if (wanted[me] <= level) return wanted[me];
  // What cannot be divided goes to the first ones.
  const auto earlier = std::count_if(wanted.begin(), wanted.begin() + static_cast<long>(me),
                                     [level](unsigned each) { return each > level; });
  return level + (static_cast<unsigned>(earlier) < limit % takers ? 1 : 0);
}

NodeBudget::NodeBudget(const std::string& folder, const std::string& host, unsigned most)
    : most_(std::max(most, 1U)), file_(folder, host) {}

NodeBudget::Clock::time_point NodeBudget::next_look(unsigned wanted) const {
  const bool has_nothing_to_say = is_resting_ && wanted == 0 && !has_news_;
  if (!file_.is_usable() || has_nothing_to_say) return Clock::time_point::max();
  if (is_resting_ || has_news_) return busy_until_;
  const bool is_held_back = not_before_ > looked_;
  const bool is_short = wanted > share_ && !is_held_back;
  return std::max(busy_until_, looked_ + (is_short ? kLookWhenShort : kLook));
}

void NodeBudget::update(unsigned in_flight, unsigned wanted, Clock::time_point now) {
  peak_ = std::max(peak_, wanted);
  if (now >= next_look(wanted)) {
    const bool talked = file_.exchange(
        now, [&](const HostFile::Others& others) { return decide(others, in_flight); });
    if (talked) {
      looked_ = now;
      has_news_ = false;
      peak_ = 0;
    } else {
      busy_until_ = now + kLookWhenBusy;
    }
  }
  if (wanted == 0 || share_ > 0)
    hungry_since_.reset();
  else if (!hungry_since_)
    hungry_since_ = now;
}

HostFile::Own NodeBudget::decide(const HostFile::Others& others, unsigned in_flight) {
  unsigned free = most_;
  unsigned spare = most_ - std::min(most_, peak_);
  std::vector<unsigned> wanted;
  for (const HostUse& use : others.uses) {
    wanted.push_back(std::min(use.wanted, most_));
    spare -= std::min(spare, use.wanted);
    free -= std::min(free, use.held);
  }
  wanted.insert(wanted.begin() + static_cast<long>(others.before), peak_);
  is_resting_ = peak_ == 0;
  const auto parts = static_cast<unsigned>(wanted.size()) + 1;  // one for a process that comes new
  const unsigned headroom = is_resting_ ? 0 : std::min(kHeadroom, spare / parts);
  share_ = std::min(fair_share(most_, wanted, others.before) + headroom, free);
  not_before_ = std::max(not_before_, others.not_before);
  return {{std::max(share_, in_flight), peak_}, not_before_};
}

bool NodeBudget::may_send(unsigned in_flight, Clock::time_point now) const {
  if (!file_.is_usable()) return true;
  const bool is_starved = hungry_since_ && now - *hungry_since_ > kPatience;
  return now >= not_before_ && in_flight < std::max(share_, is_starved ? 1U : 0U);
}

void NodeBudget::hold_back(Clock::time_point until) {
  if (until <= not_before_) return;
  not_before_ = until;
  has_news_ = true;
}

}  // namespace headrace
