// Where the tokens of a document go when documents are packed into rows of a fixed length.
//
//   document      |. . . . . . . . .|            length 9
//   piece               |x x x x x|              from 3, count 5
//   packed rows   |. . . . . .|. . x x x x|x . . . . .| …       to 8: tokens of all rows, counted
//                                                                through
// Thread-safety: a plain value.
#pragma once

#include <cstdint>

namespace headrace {

/// Tokens [from, from + count) of a document of `length` tokens. A document that the end of a step
/// cuts has a piece in each of its steps; an empty one has a piece without tokens.
struct TokenPiece {
  uint64_t length = 0;
  uint64_t from = 0;
  uint64_t count = 0;
  uint64_t to = 0;

  bool begins() const { return from == 0; }
  bool ends() const { return from + count == length; }
  bool operator==(const TokenPiece&) const = default;
};

}  // namespace headrace
