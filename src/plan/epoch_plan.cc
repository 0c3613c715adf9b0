#include "plan/epoch_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/try.h"
#include "plan/length_buckets.h"
#include "plan/order_keys.h"

namespace headrace {
namespace {

// Of which something is kept. More than a rank reads in turn; beyond it (an audit over all ranks)
// all is made anew.
constexpr size_t kMostLanes = 65536;

Error usage(std::string message, std::string hint) {
  return {
      .code = Code::kUsage, .message = std::move(message), .origin = {}, .hint = std::move(hint)};
}

}  // namespace

Result<EpochPlan> EpochPlan::create(std::shared_ptr<const Schedule> schedule, uint64_t epoch,
                                    std::vector<BatchSegment> batches) {
  const OrderOptions& order = schedule->options().order;
  if (schedule->is_mixture() && epoch > kMostEpochSamples / (schedule->epoch_samples() + 1))
    return usage("epoch " + std::to_string(epoch) + " of a mixture", "Give a smaller epoch.");
  const std::vector<BatchSegment> whole{{0, order.global_batch}};
  if (batches.empty()) batches = whole;
  if (schedule->is_packed() && batches != whole)
    return usage("an epoch of packed rows has one global batch",
                 "Change it at the start of an epoch.");
  HR_TRY(EpochSteps steps,
         EpochSteps::create(schedule->epoch_rows(), order.lanes, order.tail, batches));
  HR_TRY(EpochSteps positions, EpochSteps::create(schedule->epoch_samples(), order.lanes,
                                                  order.tail, std::move(batches)));
  return EpochPlan(std::move(schedule), epoch, std::move(steps), std::move(positions));
}

const EpochPlan::Dealt& EpochPlan::dealt(uint64_t lane, uint64_t offset) {
  Dealt& dealt = dealt_[lane];
  if (offset >= dealt.bucket.begin && offset < dealt.bucket.end) return dealt;
  if (dealt_.size() > kMostLanes) {
    dealt_.clear();
    return this->dealt(lane, offset);
  }
  const OrderOptions& order = schedule_->options().order;
  const StepBucket bucket = steps_.bucket(offset, order.bucket_steps);
  std::vector<Row> rows(bucket.end - bucket.begin);
  lane_rows_.read({lane, bucket.begin, rows.size()}, rows);
  std::vector<uint64_t> lengths(rows.size());
  read_lengths_(rows, lengths);
  dealt.bucket = bucket;
  dealt.rows.clear();
  for (const uint32_t at :
       deal_by_length(lengths, bucket.share, bucket_key(order.seed, epoch_, bucket.begin))) {
    dealt.rows.push_back(rows[at]);
    dealt.rows.back().offset = bucket.begin + at;
  }
  return dealt;
}

void EpochPlan::read_bucketed(LaneRun run, std::span<Row> out) {
  const uint64_t full = steps_.offset_before(steps_.full_steps());
  if (run.offset >= full) return lane_rows_.read(run, out);  // the tail step: no bucket
  for (size_t i = 0; i < out.size(); ++i) {
    const Dealt& bucket = dealt(run.lane, run.offset + i);
    const Row& from = bucket.rows[run.offset + i - bucket.bucket.begin];
    out[i].offset = from.offset;
    out[i].set = from.set;
    out[i].shard = from.shard;
    out[i].sample = from.sample;
  }
}

void EpochPlan::append(uint64_t position, uint64_t count, bool padded, std::vector<Row>& out) {
  for (const uint64_t end = position + count; position < end;) {
    LaneRun run = positions_.run(position);
    run.count = std::min(run.count, end - position);
    const size_t first = out.size();
    out.resize(first + run.count);
    const std::span<Row> added(out.data() + first, run.count);
    for (size_t i = 0; i < added.size(); ++i)
      added[i] = {.position = position + i,
                  .offset = run.offset + i,
                  .lane = static_cast<uint32_t>(run.lane),
                  .padded = padded};
    if (schedule_->options().order.bucket_steps > 0)
      read_bucketed(run, added);
    else
      lane_rows_.read(run, added);
    position += run.count;
  }
}

/// Calls append(row of the step, its position, how many go on together, whether they are padding).
template <typename Append>
void EpochPlan::for_each_part(uint64_t t, RowRange range, Append append) const {
  const Step step = steps_.step(t);
  const uint64_t real_end = std::min(range.end, step.samples);
  if (range.begin < real_end)
    append(range.begin, step.first_position + range.begin, real_end - range.begin, false);
  for (uint64_t row = std::max(range.begin, step.samples); row < range.end;) {
    const uint64_t position = (row - step.samples) % steps_.samples();
    const uint64_t count = std::min(range.end - row, steps_.samples() - position);
    append(row, position, count, true);
    row += count;
  }
}

void EpochPlan::rows(uint64_t t, RowRange range, std::vector<Row>& out) {
  for_each_part(t, range, [&](uint64_t, uint64_t position, uint64_t count, bool padded) {
    append(position, count, padded, out);
  });
}

bool EpochPlan::is_even(uint64_t t) const {
  if (!schedule_->is_packed()) return t < steps_.full_steps();
  return steps_.step(t).first_position < schedule_->packing().even_rows();
}

void EpochPlan::packed_rows(uint64_t t, RowRange range, std::vector<Row>& documents,
                            std::vector<TokenPiece>& pieces) {
  const RowPacking& packing = schedule_->packing();
  for_each_part(t, range, [&](uint64_t row, uint64_t first, uint64_t count, bool padded) {
    stretches_.clear();
    packing.stretches(first, count, stretches_);
    for (LaneStretch stretch : stretches_) {
      stretch.to += (row - range.begin) * packing.length();
      append_documents(stretch, padded, documents, pieces);
    }
  });
}

void EpochPlan::append_documents(const LaneStretch& stretch, bool padded,
                                 std::vector<Row>& documents, std::vector<TokenPiece>& pieces) {
  const uint64_t lane = stretch.lane;
  const OffsetRange found = stream(lane).cut(
      stretch,
      [&](uint64_t begin, std::span<uint32_t> out) { read_lane_lengths(lane, begin, out); },
      pieces);
  const size_t first = documents.size();
  documents.resize(first + found.size());
  const std::span<Row> added(documents.data() + first, found.size());
  for (size_t i = 0; i < added.size(); ++i)
    added[i] = {.position = positions_.position(lane, found.begin + i),
                .offset = found.begin + i,
                .lane = static_cast<uint32_t>(lane),
                .padded = padded};
  lane_rows_.read({lane, found.begin, found.size()}, added);
}

LaneStream& EpochPlan::stream(uint64_t lane) {
  if (const auto found = streams_.find(lane); found != streams_.end()) return found->second;
  if (streams_.size() >= kMostLanes) streams_.clear();
  return streams_
      .emplace(lane, LaneStream(schedule_->order(0)->lane_samples(lane),
                                schedule_->lengths()->lane_tokens()[lane]))
      .first->second;
}

/// From memory where they are kept, else as buckets get them.
void EpochPlan::read_lane_lengths(uint64_t lane, uint64_t begin, std::span<uint32_t> out) {
  if (schedule_->lengths()->keeps(lane)) {
    samples_.resize(out.size());
    lane_rows_.read_samples(lane, begin, samples_);
    for (size_t i = 0; i < out.size(); ++i) out[i] = schedule_->lengths()->length(samples_[i]);
    return;
  }
  std::vector<Row> rows(out.size());
  std::vector<uint64_t> lengths(out.size());
  lane_rows_.read({lane, begin, out.size()}, rows);
  read_lengths_(rows, lengths);
  std::ranges::transform(lengths, out.begin(),
                         [](uint64_t length) { return static_cast<uint32_t>(length); });
}

Row EpochPlan::row_at(uint64_t position) {
  std::vector<Row> row;
  append(position, 1, false, row);
  return row.front();
}

uint64_t EpochPlan::position(SampleRef sample) {
  const Order& order = *schedule_->order(0);
  const uint64_t lane = order.lane_of(order.place_of(sample));
  return positions_.position(lane, lane_rows_.offset(lane, sample));
}

}  // namespace headrace
