#include "plan/lane_stream.h"

#include <algorithm>
#include <numeric>

#include "plan/arithmetic.h"

namespace headrace {
namespace {

/// What of the document with tokens [begin, end) of the lane is in the stretch.
TokenPiece piece_of(const LaneStretch& stretch, uint64_t begin, uint64_t end) {
  const uint64_t first = std::max(begin, stretch.begin);
  const uint64_t last = std::max(std::min(end, stretch.end), first);
  return {.length = end - begin,
          .from = first - begin,
          .count = last - first,
          .to = stretch.to + (first - stretch.begin)};
}

}  // namespace

LaneStream::LaneStream(uint64_t documents, uint64_t tokens)
    : documents_(documents),
      tokens_(tokens),
      blocks_(divide_up(documents, kBlock)),
      front_{0},
      back_{tokens} {}

std::span<const uint32_t> LaneStream::read_block(uint64_t block, const ReadLaneLengths& read) {
  lengths_.resize(block_size(block));
  read(block * kBlock, lengths_);
  return lengths_;
}

uint64_t LaneStream::tokens_of(uint64_t block, const ReadLaneLengths& read) {
  const auto lengths = read_block(block, read);
  return std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
}

/// Reads on from whichever end is nearer until a block is known that begins before `token` and
/// whose follower does not; the first block, if none begins before it.
LaneStream::Place LaneStream::last_block_before(uint64_t token, const ReadLaneLengths& read) {
  const auto have_met = [this] { return front_.size() + back_.size() >= blocks_ + 2; };
  while (front_.back() < token && back_.back() >= token && !have_met()) {
    if (token - front_.back() <= back_.back() - token)
      front_.push_back(front_.back() + tokens_of(front_.size() - 1, read));
    else
      back_.push_back(back_.back() - tokens_of(blocks_ - back_.size(), read));
  }
  if (front_.back() >= token) {
    const auto found = std::ranges::lower_bound(front_, token);
    const auto after = static_cast<uint64_t>(found - front_.begin());
    const uint64_t block = after == 0 ? 0 : after - 1;
    return {block, front_[block]};
  }
  const auto found =
      std::ranges::partition_point(back_, [&](uint64_t before) { return before >= token; });
  if (found == back_.end()) return {front_.size() - 1, front_.back()};
  return {blocks_ - static_cast<uint64_t>(found - back_.begin()), *found};
}

OffsetRange LaneStream::cut(const LaneStretch& stretch, const ReadLaneLengths& read,
                            std::vector<TokenPiece>& out) {
  const Place place = last_block_before(stretch.begin, read);
  OffsetRange found;
  const bool to_the_end = stretch.end == tokens_;
  uint64_t begin = place.before;
  for (uint64_t block = place.block; block < blocks_; ++block) {
    uint64_t offset = block * kBlock;
    for (const uint32_t length : read_block(block, read)) {
      if (begin >= stretch.end && !to_the_end) return found;
      const uint64_t end = begin + length;
      const bool is_before = begin < stretch.begin && end <= stretch.begin;
      if (!is_before) {
        if (found.size() == 0) found.begin = offset;
        found.end = offset + 1;
        out.push_back(piece_of(stretch, begin, end));
      }
      begin = end;
      ++offset;
    }
    if (front_.size() == block + 1) front_.push_back(begin);
  }
  return found;
}

}  // namespace headrace
