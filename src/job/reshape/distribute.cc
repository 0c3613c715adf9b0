#include "job/reshape/distribute.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "base/try.h"
#include "job/reshape/bucket_file.h"
#include "job/reshape/order_bytes.h"
#include "job/reshape/sample_tar.h"

namespace headrace {
namespace {

constexpr size_t kWindow = size_t{1} << 20;        // a processor's own cache still has it
constexpr size_t kRemoteWindow = size_t{4} << 20;  // a request, as cost.h counts them

// One shard of the input in windows of consecutive samples.
class Window {
 public:
  explicit Window(const ByteSource& source)
      : source_(source), window_(source.is_remote() ? kRemoteWindow : kWindow) {}

  /// The bytes [begin, end), read together with what follows up to `limit`.
  Result<MutableBytes> bytes(uint64_t begin, uint64_t end, uint64_t limit) {
    if (begin < at_ || end > at_ + size_) {
      at_ = begin;
      size_ = std::max(end, std::min(limit, begin + window_)) - begin;
      if (size_ > capacity_) {
        memory_ = std::make_unique_for_overwrite<std::byte[]>(size_);
        capacity_ = size_;
      }
      HR_CHECK(source_.read_at(at_, {memory_.get(), size_}));
    }
    return MutableBytes(memory_.get() + (begin - at_), end - begin);
  }

 private:
  const ByteSource& source_;
  const size_t window_;
  std::unique_ptr<std::byte[]> memory_;
  size_t capacity_ = 0;
  uint64_t at_ = 0;
  uint64_t size_ = 0;
};

// Of each number of the input its position, or kNoSample.
Result<Rows> turned_round(const SampleOrder& order, uint64_t samples, const WorkRoom& room) {
  SpillSort by_number(room.scratch, room.memory_bytes);
  std::string record;
  for (uint64_t position = 0; position < order.size(); ++position) {
    record.clear();
    append_ordered(record, order.at(position));
    append_ordered(record, position);
    HR_CHECK(by_number.add(record));
  }
  RowsBuilder positions(room.scratch);
  HR_CHECK(by_number.each([&](std::string_view pair) -> Status {
    while (positions.size() < number_at(pair, 0)) HR_CHECK(positions.add(kNoSample));
    return positions.add(last_number(pair));
  }));
  while (positions.size() < samples) HR_CHECK(positions.add(kNoSample));
  return positions.finish();
}

}  // namespace

Result<Distributor> Distributor::make(const ReshapePlan& plan, const SampleLayouts& layouts,
                                      const Progress& progress, const WorkRoom& room) {
  Distributor made(plan, layouts, progress);
  if (plan.order().kind() != SampleOrder::Kind::kListed) return made;
  HR_TRY(made.inverse_, turned_round(plan.order(), plan.inputs().samples(), room));
  return made;
}

// The order the other way round. kNoSample: it is not in the output.
uint64_t Distributor::position_of(uint64_t number) const {
  switch (plan_.order().kind()) {
    case SampleOrder::Kind::kIdentity:
      return number;
    case SampleOrder::Kind::kPermuted:
      return plan_.order().permutation().inverse(number);
    case SampleOrder::Kind::kListed:
      break;
  }
  return inverse_[number];
}

Status Distributor::distribute(uint32_t shard, uint64_t begin, uint64_t end,
                               const std::function<bool(uint64_t)>& wants, const Take& take) const {
  HR_TRY(const auto index, plan_.inputs().index(shard));
  HR_TRY(const auto source, plan_.inputs().source(shard));
  Window window(*source);
  const uint64_t first = plan_.inputs().first_sample(shard);
  const auto from = static_cast<uint32_t>(std::max(begin, first) - first);
  const auto to = static_cast<uint32_t>(std::min<uint64_t>(end - first, index->size()));
  const uint64_t limit = from >= to ? 0 : index->sample_end(to - 1);
  SampleLayout layout;
  std::string head;
  std::vector<PlacedMember> placed;
  for (uint32_t sample = from; sample < to; ++sample) {
    if (progress_.stopped()) return Progress::interrupted();
    const uint64_t position = position_of(first + sample);
    if (position == kNoSample || !wants(position)) continue;
    const Pick pick{position, shard, sample, index.get()};
    HR_TRY(const bool kept, layouts_.lay_out({&pick, 1}, layout));
    placed.clear();
    ByteView tar;
    if (kept) {
      const uint64_t at = index->sample_begin(sample);
      HR_TRY(const MutableBytes bytes, window.bytes(at, index->sample_end(sample), limit));
      HR_TRY(tar, render(layout, bytes, at, placed));
    }  // else: a record without members
    head.clear();
    append_record_head(head, position, layout.key, placed, tar.size());
    HR_CHECK(take(position, head, tar));
  }
  return {};
}

// The sample as it will lie in the output: where it lies already, if only headers change.
Result<ByteView> Distributor::render(const SampleLayout& layout, MutableBytes sample,
                                     uint64_t begin, std::vector<PlacedMember>& placed) const {
  thread_local std::vector<std::byte> laid;
  const size_t size = place_members(layout, layout.key, layouts_.fields(), 0, placed);
  MutableBytes tar = sample;
  if (!layout.verbatim) {
    laid.resize(size);
    tar = laid;
    for (size_t i = 0; i < placed.size(); ++i)
      std::memcpy(tar.data() + placed[i].data, sample.data() + (layout.members[i].offset - begin),
                  placed[i].size);
  }
  write_headers(tar, placed, layouts_.fields());
  const PlacedMember* damaged = take_checksums(tar, placed);
  if (damaged == nullptr) return ByteView(tar);
  const LaidMember& member = layout.members[static_cast<size_t>(damaged - placed.data())];
  return layouts_.damaged(member.shard, member.offset);
}

}  // namespace headrace
