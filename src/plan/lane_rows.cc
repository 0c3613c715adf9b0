#include "plan/lane_rows.h"

namespace headrace {
namespace {

// More than a rank reads in turn; beyond it (an audit over all ranks) readers are made anew.
constexpr size_t kMostReaders = 65536;

}  // namespace

LaneReader& LaneRows::reader(uint32_t set, uint64_t lane, uint64_t epoch) {
  const uint64_t key = set * schedule_->options().order.lanes + lane;
  const auto found = readers_.find(key);
  if (found != readers_.end() && found->second.epoch == epoch) return found->second.lane;
  if (found != readers_.end()) readers_.erase(found);
  if (readers_.size() >= kMostReaders) readers_.clear();
  Reader made{epoch, LaneReader(EpochLane(schedule_->order(set), epoch, lane))};
  return readers_.emplace(key, std::move(made)).first->second.lane;
}

/// Sets of a mixture go on from epoch to epoch.
LaneRows::Place LaneRows::place(uint64_t lane, uint64_t offset) {
  if (!schedule_->is_mixture()) return {0, reader(0, lane, epoch_), offset};
  const uint64_t before = epoch_ * (schedule_->epoch_samples() / schedule_->options().order.lanes);
  const Mixture::Source source = schedule_->mixture().at(lane, before + offset);
  const uint64_t length = schedule_->order(source.set)->lane_samples(lane);
  return {source.set, reader(source.set, lane, source.offset / length), source.offset % length};
}

void LaneRows::read_samples(uint64_t lane, uint64_t begin, std::span<SampleRef> out) {
  reader(0, lane, epoch_).read(begin, out);
}

void LaneRows::read(LaneRun run, std::span<Row> out) {
  samples_.resize(out.size());
  if (!schedule_->is_mixture()) read_samples(run.lane, run.offset, samples_);
  for (size_t i = 0; i < out.size(); ++i) {
    if (schedule_->is_mixture()) {
      const Place at = place(run.lane, run.offset + i);
      at.reader.read(at.offset, {&samples_[i], 1});
      out[i].set = at.set;
    }
    out[i].shard = schedule_->data_shard(out[i].set, samples_[i].shard);
    out[i].sample = samples_[i].sample;
  }
}

BlockPart LaneRows::part_of(const Row& row) {
  const Place at = place(row.lane, row.offset);
  return at.reader.part(at.offset);
}

uint64_t LaneRows::offset(uint64_t lane, SampleRef sample) {
  return reader(0, lane, epoch_).lane().offset(sample);
}

}  // namespace headrace
