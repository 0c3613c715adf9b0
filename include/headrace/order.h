// The choices that fix the order of a run, and the rows of a step that a rank takes.
//
// The content of every global batch is a pure function of (data set, kOrderVersion, OrderOptions,
// epoch). The world size is not in it. docs/order.md has the mathematics.
// Thread-safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/result.h"

namespace headrace {

/// Raised whenever the same options would give another order.
inline constexpr uint32_t kOrderVersion = 1;

/// What becomes of the samples left after the last full step of an epoch.
enum class Tail : uint8_t {
  kPad,    ///< one more step, filled up with the epoch's first rows, which are marked
  kShort,  ///< one more step of what there is; a rank may get no row of it
  kDrop,   ///< they are left out
};

/// "pad", "short", "drop".
const char* tail_name(Tail tail);
Result<Tail> parse_tail(std::string_view name);

struct OrderOptions {
  bool shuffle = true;
  uint64_t seed = 0;
  uint64_t global_batch = 0;  ///< G: rows of a step over all ranks
  uint64_t lanes = 0;         ///< L: divides G; 1 without shuffle; see default_lanes
  uint64_t window_bytes = uint64_t{32} << 20;  ///< of a lane, in which samples are mixed
  Tail tail = Tail::kPad;
  uint64_t bucket_steps = 0;  ///< whose samples are dealt to them by length; 0: no buckets
  std::string bucket_by;      ///< what a sample's length is, as "txt;json" or "jpg:pixels"
  uint64_t pack_length = 0;   ///< tokens of a row that documents are packed into; 0: no packing
  std::string pack_by;        ///< what a document's tokens are, as "npy:tokens"
};

/// Lanes for a run that begins on `world` ranks: 16 a rank or the largest divisor of the rank's
/// batch below that. Where the world does not divide the batch: the largest divisor of the batch
/// up to 16 a rank, or, if that is less than one a rank, the smallest divisor that is more.
/// Preconditions: both at least 1.
uint64_t default_lanes(uint64_t world, uint64_t global_batch);

/// Rows [begin, end) of a step.
struct RowRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

/// The rows that rank `rank` of `world` takes of a step of `rows`: [floor(rank rows / world),
/// floor((rank + 1) rows / world)). Precondition: rank < world.
RowRange rank_rows(uint64_t rows, uint64_t rank, uint64_t world);

}  // namespace headrace
