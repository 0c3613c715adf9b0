#include <algorithm>
#include <string>

#include "headrace/order.h"
#include "plan/arithmetic.h"

namespace headrace {
namespace {

constexpr uint64_t kLanesPerRank = 16;

/// The largest divisor of `n` that is at most `limit`; 1 divides everything.
uint64_t largest_divisor(uint64_t n, uint64_t limit) {
  uint64_t divisor = std::min(n, limit);
  while (n % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

const char* tail_name(Tail tail) {
  switch (tail) {
    case Tail::kPad:
      return "pad";
    case Tail::kShort:
      return "short";
    case Tail::kDrop:
      return "drop";
  }
  return "?";
}

Result<Tail> parse_tail(std::string_view name) {
  for (const Tail tail : {Tail::kPad, Tail::kShort, Tail::kDrop})
    if (name == tail_name(tail)) return tail;
  return Error{.code = Code::kUsage,
               .message = "unknown tail \"" + std::string(name) + "\"",
               .hint = "Use pad, short or drop."};
}

uint64_t default_lanes(uint64_t world, uint64_t global_batch) {
  if (global_batch % world == 0)
    return world * largest_divisor(global_batch / world, kLanesPerRank);
  const uint64_t below = largest_divisor(global_batch, multiply_divide(world, kLanesPerRank, 1));
  if (below >= world || global_batch < world) return below;
  uint64_t above = world;
  while (global_batch % above != 0) ++above;
  return above;
}

RowRange rank_rows(uint64_t rows, uint64_t rank, uint64_t world) {
  return {multiply_divide(rank, rows, world), multiply_divide(rank + 1, rows, world)};
}

}  // namespace headrace
