#include "plan/row_packing.h"

#include <algorithm>
#include <string>

#include "base/try.h"
#include "plan/arithmetic.h"

namespace headrace {
namespace {

constexpr uint64_t kMostLength = uint64_t{1} << 30;
constexpr uint64_t kMostTokens = uint64_t{1} << 60;

Error usage(std::string message) {
  return {.code = Code::kUsage, .message = std::move(message), .origin = {}, .hint = {}};
}

Result<uint64_t> sum_of(const std::vector<uint64_t>& lane_tokens) {
  uint64_t sum = 0;
  for (const uint64_t tokens : lane_tokens)
    if (tokens > kMostTokens || (sum += tokens) > kMostTokens)
      return usage("documents of over 2^60 tokens");
  return sum;
}

/// One stretch with the one before it, if it goes on there.
void append(LaneStretch stretch, std::vector<LaneStretch>& out) {
  if (!out.empty()) {
    LaneStretch& last = out.back();
    const bool goes_on = last.lane == stretch.lane && last.end == stretch.begin &&
                         last.to + (last.end - last.begin) == stretch.to;
    if (goes_on) {
      last.end = stretch.end;
      return;
    }
  }
  out.push_back(stretch);
}

}  // namespace

Result<RowPacking> RowPacking::create(const std::vector<uint64_t>& lane_tokens,
                                      uint64_t global_batch, uint64_t length) {
  if (length == 0 || length > kMostLength)
    return usage("rows of " + std::to_string(length) + " tokens; they may have 1 to 2^30");
  HR_TRY(const uint64_t tokens, sum_of(lane_tokens));
  const uint64_t lanes = lane_tokens.size();
  const uint64_t lane_rows = global_batch / lanes;  // of one step
  const uint64_t full_steps = *std::ranges::min_element(lane_tokens) / (lane_rows * length);
  const uint64_t even_tokens = full_steps * lane_rows * length;  // of one lane
  const uint64_t tail_rows = divide_up(tokens - lanes * even_tokens, length);
  HR_TRY(EpochSteps full, EpochSteps::create(full_steps * global_batch, lanes, Tail::kDrop,
                                             {{.from = 0, .total = global_batch}}));
  HR_TRY(EpochSteps tail, EpochSteps::create(tail_rows, global_batch, Tail::kShort,
                                             {{.from = 0, .total = global_batch}}));
  RowPacking packing(length, tokens, std::move(full), std::move(tail));
  packing.tail_before_.reserve(lanes + 1);
  packing.tail_before_.push_back(0);
  for (const uint64_t lane : lane_tokens)
    packing.tail_before_.push_back(packing.tail_before_.back() + (lane - even_tokens));
  return packing;
}

void RowPacking::stretches(uint64_t row, uint64_t count, std::vector<LaneStretch>& out) const {
  uint64_t to = 0;
  for (const uint64_t end = row + count; row < end;) {
    const bool is_tail = row >= even_rows();
    LaneRun run = is_tail ? tail_.run(row - even_rows()) : full_.run(row);
    run.count = std::min(run.count, end - row);
    if (is_tail) {
      const uint64_t places_begin = multiply_divide(run.lane, tail_.samples(), tail_.lanes());
      append_tail(places_begin + run.offset, run.count, to, out);
    } else {
      const uint64_t begin = run.offset * length_;
      append({run.lane, begin, begin + run.count * length_, to}, out);
    }
    row += run.count;
    to += run.count * length_;
  }
}

void RowPacking::append_tail(uint64_t row, uint64_t count, uint64_t to,
                             std::vector<LaneStretch>& out) const {
  const uint64_t even_tokens = even_rows() / full_.lanes() * length_;
  uint64_t at = row * length_;
  const uint64_t end = std::min((row + count) * length_, tail_before_.back());
  auto after = std::upper_bound(tail_before_.begin(), tail_before_.end(), at);
  for (; at < end; ++after) {
    const uint64_t lane_begin = *(after - 1), lane_end = std::min(*after, end);
    if (lane_end <= at) continue;  // nothing is left of this lane
    const auto lane = static_cast<uint64_t>(after - tail_before_.begin()) - 1;
    append({lane, even_tokens + at - lane_begin, even_tokens + lane_end - lane_begin, to}, out);
    to += lane_end - at;
    at = lane_end;
  }
}

}  // namespace headrace
