#include "engine/stats.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/units.h"

namespace headrace {
namespace {

/// Below this share of the time, waiting for batches is not worth a change.
constexpr double kWaitWorthMending = 0.05;

std::string percent(double share) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.0f %%", 100 * std::clamp(share, 0.0, 1.0));
  return text.data();
}

std::string rate(const LoaderStats& stats) {
  if (stats.seconds <= 0) return "";
  const auto per_second = [&](uint64_t n) {
    return static_cast<uint64_t>(static_cast<double>(n) / stats.seconds);
  };
  return format_count(per_second(stats.rows)) + " rows/s, " +
         format_bytes(per_second(stats.bytes_read)) + "/s";
}

struct Verdict {
  std::string limit;
  std::string advice;
};

/// What the threads did while the consumer waited.
Verdict judge(const LoaderStats& stats, const RunFacts& facts) {
  const double wait = stats.consumer_seconds / stats.seconds;
  if (wait < kWaitWorthMending)
    return {"consumer", "The consumer waited " + percent(wait) +
                            " of the time for batches: loading keeps up, nothing to change here"};
  const double capacity = stats.seconds * facts.threads;
  const double busy = stats.plan_seconds + stats.read_seconds + stats.decode_seconds;
  const std::string waited = "The consumer waited " + percent(wait) + " of the time";
  if (busy < 0.5 * capacity && facts.largest_slot * facts.depth > facts.memory_bytes)
    return {"memory", waited + " while threads had no slot to fill: raise memory= above " +
                          format_bytes(facts.largest_slot * facts.depth)};
  if (facts.is_remote && busy < 0.5 * capacity)
    return {"network", waited +
                           " while threads had nothing to do, because bytes did not come "
                           "faster: a store nearer by, cache= for the next epoch, or more "
                           "memory= to ask further ahead"};
  const double most = std::max({stats.plan_seconds, stats.read_seconds, stats.decode_seconds});
  if (stats.decode_seconds == most)
    return {"decode", waited + "; threads spent " + percent(stats.decode_seconds / busy) +
                          " of theirs decoding: more threads= (now " +
                          std::to_string(facts.threads) + "), or smaller pictures when packing"};
  if (stats.read_seconds == most)
    return {"storage", waited + "; threads spent " + percent(stats.read_seconds / busy) +
                           " of theirs reading: faster storage, or more threads= (now " +
                           std::to_string(facts.threads) + ")"};
  return {"plan", waited + "; planning took " + percent(stats.plan_seconds / busy) +
                      " of the threads' work: larger batches"};
}

}  // namespace

LoaderStats summarise(const Timers& timers, const SlotPool::Usage& pool, const RunFacts& facts) {
  LoaderStats stats;
  stats.batches = timers.batches.load();
  stats.rows = timers.rows.load();
  stats.bytes_read = timers.bytes_read.load();
  stats.read_calls = timers.read_calls.load();
  stats.rows_skipped = timers.rows_skipped.load();
  stats.slots = pool.slots;
  stats.slots_grown = pool.peak_slots > facts.depth + 1U ? pool.peak_slots - facts.depth - 1U : 0;
  stats.slot_bytes = pool.bytes;
  stats.seconds = facts.seconds;
  stats.plan_seconds = timers.plan.seconds();
  stats.read_seconds = timers.read.seconds();
  stats.decode_seconds = timers.decode.seconds();
  stats.idle_seconds = timers.idle.seconds();
  stats.consumer_seconds = timers.consumer.seconds();
  if (stats.batches == 0 || stats.seconds <= 0) {
    stats.limit = "none";
    stats.sentence = "No batch has been taken yet.";
    return stats;
  }
  const Verdict verdict = judge(stats, facts);
  stats.limit = verdict.limit;
  stats.sentence = verdict.advice + " (" + rate(stats) + ").";
  return stats;
}

}  // namespace headrace
