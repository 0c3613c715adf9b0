// What processes of a node share about a host. Each has a budget of its own and does what it is
// told, at a time that it is told: processes, locks and the file are real, nothing waits.
#include "io/http/node_budget.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/little_endian.h"
#include "child_process.h"
#include "io/file.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = NodeBudget::Clock;

constexpr unsigned kMuch = 1000;
const Clock::time_point kBegin{hours(100)};

struct Told {
  unsigned in_flight;
  unsigned wanted;
  Clock::time_point now;
  milliseconds hold_back;
};

class Process {
 public:
  Process(const TemporaryFolder& folder, unsigned limit, bool with_child = false) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
    here_ = File(ends[0]);
    process_ = in_child([&] { return serve(ends[1], folder.path(), limit, with_child); });
    ::close(ends[1]);
  }
  ~Process() { end(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// With so many requests under way, how many it may have under way now.
  unsigned may_have(unsigned in_flight, unsigned wanted, Clock::time_point now,
                    milliseconds hold_back = {}) {
    const Told told{in_flight, wanted, now, hold_back};
    unsigned answer = 0;
    EXPECT_EQ(::send(here_.get(), &told, sizeof told, 0), static_cast<ssize_t>(sizeof told));
    EXPECT_EQ(::recv(here_.get(), &answer, sizeof answer, 0), static_cast<ssize_t>(sizeof answer));
    return answer;
  }
  void send_signal(int signal) const { ::kill(process_, signal); }
  void end() {
    if (process_ == 0) return;
    send_signal(SIGKILL);
    wait_for(std::exchange(process_, 0));
  }

 private:
  static bool serve(int there, const std::string& folder, unsigned limit, bool with_child) {
    NodeBudget budget(folder, "https://host:443", limit);
    bool has_child = !with_child;
    for (Told told{}; ::recv(there, &told, sizeof told, 0) == sizeof told;) {
      if (told.hold_back.count() > 0) budget.hold_back(told.now + told.hold_back);
      budget.update(told.in_flight, told.wanted, told.now);
      unsigned most = told.in_flight;
      while (most < kMuch && budget.may_send(most, told.now)) ++most;
      // One that outlives this process, with all of its descriptors.
      if (!std::exchange(has_child, true) && ::fork() == 0) ::_exit(::usleep(2'000'000));
      if (::send(there, &most, sizeof most, 0) != sizeof most) return false;
    }
    return true;
  }

  File here_;
  pid_t process_ = 0;
};

std::string file_in(const TemporaryFolder& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder / "hosts"))
    return entry.path();
  return "";
}

TEST(FairShare, GivesWhatOthersDoNotNeed) {
  const auto all = [](unsigned limit, const std::vector<unsigned>& wanted) {
    std::vector<unsigned> shares;
    for (size_t me = 0; me < wanted.size(); ++me) shares.push_back(fair_share(limit, wanted, me));
    return shares;
  };
  using Shares = std::vector<unsigned>;
  EXPECT_EQ(all(16, {5}), (Shares{5}));
  EXPECT_EQ(all(16, {500}), (Shares{16}));
  EXPECT_EQ(all(16, {40, 40}), (Shares{8, 8}));
  EXPECT_EQ(all(16, {40, 3, 40}), (Shares{7, 3, 6}));
  EXPECT_EQ(all(16, {4, 4, 4}), (Shares{4, 4, 4}));
  EXPECT_EQ(all(16, {0, 40, 0, 40}), (Shares{0, 8, 0, 8}));
  EXPECT_EQ(all(2, {9, 9, 9}), (Shares{1, 1, 0}));
  EXPECT_EQ(all(16, {15, 2, 1}), (Shares{13, 2, 1}));
}

TEST(NodeBudget, ANewProcessGetsItsPartAsRequestsOfOthersEnd) {
  const TemporaryFolder folder;
  Process a(folder, 16), b(folder, 16);
  auto now = kBegin;
  EXPECT_EQ(a.may_have(0, 100, now), 16U);
  EXPECT_EQ(b.may_have(0, 100, now), 0U) << "all of it is held";
  now += milliseconds(60);
  EXPECT_EQ(a.may_have(16, 100, now), 16U);
  EXPECT_EQ(a.may_have(11, 100, now), 11U) << "its part is 8";
  now += milliseconds(60);
  EXPECT_EQ(a.may_have(11, 100, now), 11U);
  EXPECT_EQ(b.may_have(0, 100, now), 5U);
  now += milliseconds(60);
  EXPECT_EQ(a.may_have(3, 100, now), 8U);
  EXPECT_EQ(b.may_have(5, 100, now), 8U);
  now += milliseconds(60);
  EXPECT_EQ(b.may_have(0, 0, now), 0U) << "it wants nothing any more";
  EXPECT_EQ(a.may_have(8, 100, now), 16U);
}

TEST(NodeBudget, ANewProcessFindsSomethingAtOnceIfThereIsEnough) {
  const TemporaryFolder folder;
  Process a(folder, 100), b(folder, 100), c(folder, 100);
  EXPECT_EQ(a.may_have(0, 10, kBegin), 55U);
  EXPECT_EQ(b.may_have(0, 10, kBegin), 36U);
  EXPECT_EQ(c.may_have(0, 9, kBegin), 9U);
}

TEST(NodeBudget, OneAloneIsNotSlowedDown) {
  const TemporaryFolder folder;
  Process a(folder, 256);
  EXPECT_EQ(a.may_have(0, 1, kBegin), 65U) << "more may come before the next look";
  EXPECT_EQ(a.may_have(1, 256, kBegin + milliseconds(25)), 256U);
}

// Whatever they want and whenever their requests end.
TEST(NodeBudget, AllTogetherNeverHaveMoreThanTheLimit) {
  constexpr unsigned kLimit = 24;
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<Process>> processes(5);
  for (auto& process : processes) process = std::make_unique<Process>(folder, kLimit);
  std::vector<unsigned> in_flight(processes.size()), wanted(processes.size());
  std::mt19937 random(7);
  const auto below = [&random](size_t most) { return static_cast<unsigned>(random() % most); };
  auto now = kBegin;
  uint64_t used = 0, busy_steps = 0;
  for (int step = 0; step < 2000; ++step, now += milliseconds(below(20))) {
    const size_t i = below(processes.size());
    if (below(16) == 0) wanted[i] = below(4) == 0 ? 0 : below(40);
    in_flight[i] -= below(3) == 0 ? below(in_flight[i] + 1) : 0;
    const unsigned could =
        processes[i]->may_have(in_flight[i], std::max(wanted[i], in_flight[i]), now);
    in_flight[i] = std::max(in_flight[i], std::min(could, wanted[i]));
    const auto sum = [](const std::vector<unsigned>& all) {
      return std::accumulate(all.begin(), all.end(), 0U);
    };
    ASSERT_LE(sum(in_flight), kLimit) << "step " << step;
    if (sum(wanted) < 2 * kLimit) continue;
    used += sum(in_flight);
    ++busy_steps;
  }
  EXPECT_GT(static_cast<double>(used), 0.7 * kLimit * static_cast<double>(busy_steps));
}

// It ends with its process although a child of it still has its descriptors.
TEST(NodeBudget, AKilledProcessGivesBackItsPart) {
  const TemporaryFolder folder;
  Process a(folder, 16, true), b(folder, 16);
  EXPECT_EQ(a.may_have(0, 16, kBegin), 16U);
  EXPECT_EQ(b.may_have(0, 16, kBegin), 0U);
  a.end();
  EXPECT_EQ(b.may_have(0, 16, kBegin + milliseconds(300)), 16U);
}

TEST(NodeBudget, AStoppedProcessKeepsItsPartForAWhile) {
  const TemporaryFolder folder;
  Process a(folder, 16), b(folder, 16);
  EXPECT_EQ(a.may_have(0, 16, kBegin), 16U);
  a.send_signal(SIGSTOP);
  EXPECT_EQ(b.may_have(0, 16, kBegin + seconds(1)), 0U);
  EXPECT_EQ(b.may_have(0, 16, kBegin + seconds(4)), 1U) << "nothing hangs";
  EXPECT_EQ(b.may_have(1, 16, kBegin + seconds(5)), 1U);
  EXPECT_EQ(b.may_have(1, 16, kBegin + seconds(31)), 16U);
}

TEST(NodeBudget, MoreProcessesThanRequestsGetOneEach) {
  const TemporaryFolder folder;
  Process a(folder, 2), b(folder, 2), c(folder, 2);
  auto now = kBegin;
  EXPECT_EQ(a.may_have(0, 9, now), 2U);
  EXPECT_EQ(b.may_have(0, 9, now), 0U);
  now += milliseconds(60);
  EXPECT_EQ(a.may_have(1, 9, now), 1U);
  EXPECT_EQ(b.may_have(0, 9, now), 1U);
  for (const auto end = now + seconds(3); now < end; now += milliseconds(100)) {
    EXPECT_EQ(a.may_have(1, 9, now), 1U);
    EXPECT_EQ(b.may_have(1, 9, now), 1U);
    EXPECT_EQ(c.may_have(0, 9, now), now > kBegin + milliseconds(2100) ? 1U : 0U);
  }
}

TEST(NodeBudget, SlowDownIsHeardByAll) {
  const TemporaryFolder folder;
  Process a(folder, 64), b(folder, 64);
  auto now = kBegin;
  EXPECT_EQ(a.may_have(0, 4, now), 34U);
  EXPECT_EQ(a.may_have(0, 0, now + milliseconds(1), seconds(10)), 0U);
  now += milliseconds(60);
  EXPECT_EQ(b.may_have(0, 4, now), 0U);
  now += milliseconds(60);
  EXPECT_EQ(b.may_have(0, 4, now, seconds(1)), 0U) << "a shorter one does not shorten it";
  EXPECT_EQ(a.may_have(0, 4, kBegin + milliseconds(9900)), 0U);
  EXPECT_EQ(b.may_have(0, 4, kBegin + milliseconds(9900)), 0U);
  EXPECT_GT(b.may_have(0, 4, kBegin + milliseconds(10'002)), 0U);
}

TEST(NodeBudget, HostsHaveNothingToDoWithEachOther) {
  const TemporaryFolder folder;
  NodeBudget one(folder.path(), "https://one", 4), other(folder.path(), "https://other", 4);
  one.hold_back(kBegin + seconds(10));
  one.update(0, 4, kBegin);
  other.update(0, 4, kBegin);
  EXPECT_FALSE(one.may_send(0, kBegin));
  EXPECT_TRUE(other.may_send(3, kBegin));
}

TEST(NodeBudget, WhereThereIsNoFileTheProcessIsAlone) {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  for (const std::string& place : {std::string(), folder / "file"}) {
    NodeBudget budget(place, "https://host", 4);
    budget.update(0, 100, kBegin);
    EXPECT_TRUE(budget.may_send(99, kBegin)) << place;
    EXPECT_EQ(budget.next_look(100), Clock::time_point::max());
  }
}

// Whatever others have written there: nobody is held back for longer than a server may ask for, and
// a file that is not ours is made anew.
TEST(NodeBudget, DamagedFilesDoNoHarm) {
  const TemporaryFolder folder;
  Process(folder, 16).may_have(0, 1, kBegin);
  const std::string path = file_in(folder);
  std::string good(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary)
      .read(good.data(), static_cast<std::streamsize>(good.size()));
  ASSERT_EQ(good.size(), 48U);
  const auto with = [&](size_t offset, const std::string& bytes) {
    return std::string(good).replace(offset, bytes.size(), bytes);
  };
  const std::string ones(16, '\xff'), largest("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  std::string soon;
  append_le(soon, std::chrono::nanoseconds((kBegin + seconds(600)).time_since_epoch()).count());
  const std::vector<std::pair<std::string, std::string>> table = {
      {"empty", ""},
      {"cut header", good.substr(0, 20)},
      {"cut record", good.substr(0, 40)},
      {"another magic", with(0, "HRHOSTS2")},
      {"another machine", with(8, ones.substr(8))},
      {"held back before the machine was started anew", with(8, ones.substr(8) + soon)},
      {"zeros", std::string(48, '\0')},
      {"ones", std::string(100'000, '\xff')},
      {"held back for ever", with(16, largest)},
      {"held back since ever", with(16, ones.substr(8))},
      {"a record of the future", with(32, largest + ones.substr(8))},
      {"a record of long ago", with(32, ones)},
      {"too long", good + std::string(100'000, '\xff')},
  };
  for (const auto& [name, bytes] : table) {
    write_file(path, bytes);
    Process a(folder, 16), b(folder, 16);
    EXPECT_EQ(a.may_have(0, 16, kBegin + seconds(1)), 16U) << name;
    EXPECT_EQ(b.may_have(0, 16, kBegin + seconds(1)), 0U) << name;
  }
}

TEST(NodeBudget, AFileThatIsCutWhileItIsUsedDoesNoHarm) {
  const TemporaryFolder folder;
  Process a(folder, 16), b(folder, 16);
  EXPECT_EQ(a.may_have(0, 16, kBegin), 16U);
  EXPECT_EQ(b.may_have(0, 16, kBegin), 0U);
  std::filesystem::resize_file(file_in(folder), 0);
  EXPECT_EQ(a.may_have(4, 16, kBegin + seconds(1)), kMuch) << "others live there: it goes alone";
  EXPECT_EQ(b.may_have(0, 16, kBegin + seconds(1)), 16U);
}

}  // namespace
}  // namespace headrace
