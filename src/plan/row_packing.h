// Documents packed into rows of a fixed number of tokens: which tokens of which lanes each row of
// an epoch is. It needs how many tokens each lane has, which is the same in all epochs.
//
// A lane's documents, one after the other in the order of the epoch, are a stream of tokens.
//
//   lane 0   | row  row | row  row | row  row | x x x x x
//   lane 1   | row  row | row  row | row  row | x
//   lane 2   | row  row | row  row | row  row | x x x
//              step 0     step 1     step 2
//
// Step t takes the next G/L rows of every lane, as long as all lanes have them; what is left (x),
// one lane after the other, is the tail stream.
//
// The tail stream is cut into rows, and these are dealt to steps as samples are, with a lane for
// each of the G places in a step: each place has a stretch of rows of its own, which it goes on in.
// So steps are made of many lanes also where one lane is much shorter than the others.
//
//   tail stream   | place 0 | place 1 | place 2 | … | place G-1 |
//   tail step 0   | x       | x       | x       |   | x         |
//   tail step 1   |   x     |   x     |   x     |   |   x       |  …
//
// Every token of every lane is in one row, once; the last row may end before its length. The rows
// of an epoch are counted as they are delivered, so EpochSteps over rows() samples gives the steps,
// the tail, the states and the ranks' parts.
//
// Thread-safety: immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "headrace/result.h"
#include "plan/epoch_steps.h"

namespace headrace {

/// Tokens [begin, end) of a lane's stream, at token `to` of the rows that were asked for.
struct LaneStretch {
  uint64_t lane = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t to = 0;
};

class RowPacking {
 public:
  /// Code::kUsage for a length of 0 or of over 2^30, or over 2^60 tokens. Precondition: the number
  /// of lanes divides the global batch.
  static Result<RowPacking> create(const std::vector<uint64_t>& lane_tokens, uint64_t global_batch,
                                   uint64_t length);

  uint64_t length() const { return length_; }
  /// Rows of an epoch, padding left out.
  uint64_t rows() const { return full_.samples() + tail_.samples(); }
  /// Of these, rows of steps that take as many from every lane: the first ones.
  uint64_t even_rows() const { return full_.samples(); }
  uint64_t tokens() const { return tokens_; }

  /// Appends what rows [row, row + count) are, in the order of their tokens. Precondition: row +
  /// count <= rows().
  void stretches(uint64_t row, uint64_t count, std::vector<LaneStretch>& out) const;

 private:
  RowPacking(uint64_t length, uint64_t tokens, EpochSteps full, EpochSteps tail)
      : length_(length), tokens_(tokens), full_(std::move(full)), tail_(std::move(tail)) {}

  void append_tail(uint64_t row, uint64_t count, uint64_t to, std::vector<LaneStretch>& out) const;

  uint64_t length_;
  uint64_t tokens_;
  EpochSteps full_;                    ///< of even_rows() rows in the lanes
  EpochSteps tail_;                    ///< of the tail stream's rows, with a lane a place
  std::vector<uint64_t> tail_before_;  ///< tokens of the tail stream before each lane's, then all
};

}  // namespace headrace
