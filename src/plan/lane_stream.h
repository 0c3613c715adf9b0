// The documents of one lane in one epoch as a stream of tokens: which documents a stretch of it is.
//
//   documents, 4 a block   |a a|b|c c c|d d|e e e e|f|g|h h|i i i i i|j| …
//   tokens before blocks   0               8               16
//   known                  |-- read from the front --> …  <-- read from the end --|
//
// Where a document begins follows from the lengths of those before it, or after it, as the lane's
// sum is known. Sums are kept for every kBlock documents that were read so far, from both ends:
// lanes of this rank are read from the front; what others leave for the tail is found from the end.
//
// Memory: 8 bytes a block. Thread-safety: belongs to one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headrace/packing.h"
#include "plan/epoch_lane.h"
#include "plan/row_packing.h"

namespace headrace {

/// The lengths of the documents at lane offsets begin, begin + 1 …
using ReadLaneLengths = std::function<void(uint64_t begin, std::span<uint32_t> lengths)>;

class LaneStream {
 public:
  static constexpr uint64_t kBlock = 64;

  LaneStream(uint64_t documents, uint64_t tokens);

  /// Appends a piece for each document of the stretch and returns their offsets. An empty document
  /// belongs to the stretch with the token after it, at the lane's end with the last one.
  /// Precondition: the stretch is of this lane and not empty.
  OffsetRange cut(const LaneStretch& stretch, const ReadLaneLengths& read,
                  std::vector<TokenPiece>& out);

 private:
  uint64_t block_size(uint64_t block) const {
    return std::min(kBlock, documents_ - block * kBlock);
  }
  std::span<const uint32_t> read_block(uint64_t block, const ReadLaneLengths& read);
  uint64_t tokens_of(uint64_t block, const ReadLaneLengths& read);
  struct Place {
    uint64_t block = 0;
    uint64_t before = 0;  ///< tokens before it
  };
  Place last_block_before(uint64_t token, const ReadLaneLengths& read);

  uint64_t documents_;
  uint64_t tokens_;
  uint64_t blocks_;
  std::vector<uint64_t> front_;    ///< tokens before blocks 0, 1 …
  std::vector<uint64_t> back_;     ///< tokens before the end, then before the last block …
  std::vector<uint32_t> lengths_;  ///< of the block read last
};

}  // namespace headrace
