#include "plan/schedule.h"

#include <algorithm>
#include <string>

#include "base/try.h"
#include "plan/length_buckets.h"
#include "plan/order_keys.h"

namespace headrace {
namespace {

constexpr uint64_t kMostEpochSamples = uint64_t{1} << 60;
// More than a rank reads in turn; beyond it (an audit over all ranks) readers are made anew.
constexpr size_t kMostReaders = 65536;

Error usage(std::string message, std::string hint) {
  return {
      .code = Code::kUsage, .message = std::move(message), .origin = {}, .hint = std::move(hint)};
}

/// `repeats` copies of the shards that hold samples.
ShardTable repeated(const ShardTable& table, uint64_t repeats, std::vector<uint32_t>& shards) {
  ShardTable filled;
  for (uint64_t copy = 0; copy < repeats; ++copy)
    for (uint32_t shard = 0; shard < table.size(); ++shard)
      if (table.samples[shard] > 0) {
        filled.samples.push_back(table.samples[shard]);
        filled.block_samples.push_back(table.block_samples[shard]);
        filled.bytes.push_back(table.bytes[shard]);
        shards.push_back(shard);
      }
  return filled;
}

}  // namespace

Result<Schedule::Set> Schedule::make_set(const std::shared_ptr<const ShardTable>& table,
                                         const OrderOptions& options, bool fill_lanes) {
  HR_TRY(std::shared_ptr<const Order> order, Order::create(table, options));
  const uint64_t samples = order->samples();
  if (!fill_lanes || samples == 0 || samples >= options.lanes) return Set{std::move(order), 1, {}};
  Set set{nullptr, divide_up(options.lanes, samples), {}};
  auto filled = std::make_shared<const ShardTable>(repeated(*table, set.repeats, set.shards));
  HR_TRY(set.order, Order::create(std::move(filled), options));
  return set;
}

Result<std::shared_ptr<const Schedule>> Schedule::create(
    const std::vector<std::shared_ptr<const ShardTable>>& sets, ScheduleOptions options) {
  std::shared_ptr<Schedule> schedule(new Schedule());
  const bool mixed = !options.weights.empty();
  if (!mixed && sets.size() != 1)
    return usage(std::to_string(sets.size()) + " data sets without weights",
                 "Give one weight a data set.");
  for (const auto& table : sets) {
    OrderOptions order = options.order;
    if (mixed) order.seed = mix(order.seed, schedule->sets_.size());  // equal sets, unlike orders
    HR_TRY(Set set, make_set(table, order, mixed));
    schedule->sets_.push_back(std::move(set));
  }
  if (mixed) {
    HR_TRY(Mixture mixture, Mixture::create(options.order.lanes, options.weights));
    schedule->mixture_ = std::move(mixture);
  }
  schedule->options_ = std::move(options);
  HR_CHECK(schedule->check_sets());
  if (mixed && schedule->options_.epoch_samples == 0)
    schedule->options_.epoch_samples = schedule->samples_until_longest_ends();
  if (schedule->epoch_samples() > kMostEpochSamples)
    return usage("an epoch of over 2^60 samples", "Give the mixture fewer steps an epoch.");
  return std::shared_ptr<const Schedule>(std::move(schedule));
}

Result<std::shared_ptr<const Schedule>> Schedule::packed(
    const Schedule& schedule, std::shared_ptr<const DocumentLengths> lengths) {
  const OrderOptions& order = schedule.options().order;
  if (schedule.is_mixture() || order.bucket_steps > 0)
    return usage("documents of a mixture or of buckets by length cannot be packed by their lengths",
                 "Pack them as they come: pack_tokens without by=.");
  HR_TRY(RowPacking packing,
         RowPacking::create(lengths->lane_tokens(), order.global_batch, order.pack_length));
  std::shared_ptr<Schedule> made(new Schedule(schedule));
  made->packing_ = std::move(packing);
  made->lengths_ = std::move(lengths);
  return std::shared_ptr<const Schedule>(std::move(made));
}

Status Schedule::check_sets() const {
  if (!is_mixture()) {
    if (options_.epoch_samples == 0) return {};
    return usage("a stated epoch for a single data set", "Only mixtures have one.");
  }
  for (const WeightSegment& segment : options_.weights) {
    if (segment.counts.size() != sets_.size())
      return usage(std::to_string(segment.counts.size()) + " weights for " +
                       std::to_string(sets_.size()) + " data sets",
                   "Give one weight a data set.");
    for (size_t set = 0; set < sets_.size(); ++set)
      if (segment.counts[set] > 0 && sets_[set].order->samples() == 0)
        return usage("data set " + std::to_string(set) + " of the mixture has no samples",
                     "Give it the weight 0 or leave it out.");
  }
  if (options_.epoch_samples % options_.order.lanes != 0)
    return usage("an epoch of " + std::to_string(options_.epoch_samples) +
                     " samples does not fill " + std::to_string(options_.order.lanes) + " lanes",
                 "State whole steps.");
  return {};
}

uint64_t Schedule::samples_until_longest_ends() const {
  uint64_t offsets = 0;
  for (uint32_t set = 0; set < sets_.size(); ++set) {
    if (options_.weights.front().counts[set] == 0) continue;
    for (uint64_t lane = 0; lane < options_.order.lanes; ++lane)
      offsets =
          std::max(offsets, mixture_->needed(lane, set, sets_[set].order->lane_samples(lane)));
  }
  // Lanes were checked to divide the batch. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
  const uint64_t share = options_.order.global_batch / options_.order.lanes;
  return divide_up(offsets, share) * options_.order.global_batch;
}

uint64_t Schedule::epoch_samples() const {
  return is_mixture() ? options_.epoch_samples : sets_.front().order->samples();
}

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

LaneReader& EpochPlan::reader(uint32_t set, uint64_t lane, uint64_t epoch) {
  const uint64_t key = set * steps_.lanes() + lane;
  const auto found = readers_.find(key);
  if (found != readers_.end() && found->second.epoch == epoch) return found->second.lane;
  if (found != readers_.end()) readers_.erase(found);
  if (readers_.size() >= kMostReaders) readers_.clear();
  Reader made{epoch, LaneReader(EpochLane(schedule_->order(set), epoch, lane))};
  return readers_.emplace(key, std::move(made)).first->second.lane;
}

void EpochPlan::read_single(LaneRun run, std::span<Row> out) {
  samples_.resize(out.size());
  reader(0, run.lane, epoch_).read(run.offset, samples_);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].shard = samples_[i].shard;
    out[i].sample = samples_[i].sample;
  }
}

void EpochPlan::read_mixture(LaneRun run, std::span<Row> out) {
  const uint64_t run_offset = epoch_ * (steps_.samples() / steps_.lanes()) + run.offset;
  for (size_t i = 0; i < out.size(); ++i) {
    const Mixture::Source source = schedule_->mixture().at(run.lane, run_offset + i);
    const uint64_t own_length = schedule_->order(source.set)->lane_samples(run.lane);
    SampleRef sample;
    reader(source.set, run.lane, source.offset / own_length)
        .read(source.offset % own_length, {&sample, 1});
    out[i].set = source.set;
    out[i].shard = schedule_->data_shard(source.set, sample.shard);
    out[i].sample = sample.sample;
  }
}

void EpochPlan::read(LaneRun run, std::span<Row> out) {
  if (schedule_->is_mixture())
    read_mixture(run, out);
  else
    read_single(run, out);
}

const EpochPlan::Dealt& EpochPlan::dealt(uint64_t lane, uint64_t offset) {
  Dealt& dealt = dealt_[lane];
  if (offset >= dealt.bucket.begin && offset < dealt.bucket.end) return dealt;
  if (dealt_.size() > kMostReaders) {
    dealt_.clear();
    return this->dealt(lane, offset);
  }
  const OrderOptions& order = schedule_->options().order;
  const StepBucket bucket = steps_.bucket(offset, order.bucket_steps);
  std::vector<Row> rows(bucket.end - bucket.begin);
  read({lane, bucket.begin, rows.size()}, rows);
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
  if (run.offset >= full) return read(run, out);  // the tail step: no bucket
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
      read(run, added);
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
  read({lane, found.begin, found.size()}, added);
}

LaneStream& EpochPlan::stream(uint64_t lane) {
  if (const auto found = streams_.find(lane); found != streams_.end()) return found->second;
  if (streams_.size() >= kMostReaders) streams_.clear();
  return streams_
      .emplace(lane, LaneStream(schedule_->order(0)->lane_samples(lane),
                                schedule_->lengths()->lane_tokens()[lane]))
      .first->second;
}

/// From memory where they are kept, else as buckets get them.
void EpochPlan::read_lane_lengths(uint64_t lane, uint64_t begin, std::span<uint32_t> out) {
  if (schedule_->lengths()->keeps(lane)) {
    samples_.resize(out.size());
    reader(0, lane, epoch_).read(begin, samples_);
    for (size_t i = 0; i < out.size(); ++i) out[i] = schedule_->lengths()->length(samples_[i]);
    return;
  }
  std::vector<Row> rows(out.size());
  std::vector<uint64_t> lengths(out.size());
  read({lane, begin, out.size()}, rows);
  read_lengths_(rows, lengths);
  std::ranges::transform(lengths, out.begin(),
                         [](uint64_t length) { return static_cast<uint32_t>(length); });
}

Row EpochPlan::row_at(uint64_t position) {
  std::vector<Row> row;
  append(position, 1, false, row);
  return row.front();
}

BlockPart EpochPlan::part_of(const Row& row) {
  if (!schedule_->is_mixture()) return reader(0, row.lane, epoch_).part(row.offset);
  const uint64_t run_offset = epoch_ * (steps_.samples() / steps_.lanes()) + row.offset;
  const Mixture::Source source = schedule_->mixture().at(row.lane, run_offset);
  const uint64_t own_length = schedule_->order(source.set)->lane_samples(row.lane);
  return reader(source.set, row.lane, source.offset / own_length).part(source.offset % own_length);
}

uint64_t EpochPlan::position(SampleRef sample) {
  const Order& order = *schedule_->order(0);
  const uint64_t lane = order.lane_of(order.place_of(sample));
  return positions_.position(lane, reader(0, lane, epoch_).lane().offset(sample));
}

}  // namespace headrace
