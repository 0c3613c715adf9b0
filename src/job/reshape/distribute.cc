#include "job/reshape/distribute.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/try.h"
#include "format/tar_writer.h"
#include "job/reshape/bucket_file.h"
#include "job/reshape/order_bytes.h"

namespace headrace {
namespace {

constexpr size_t kWindow = size_t{4} << 20;

// One shard of the input in windows of consecutive samples.
class Window {
 public:
  explicit Window(const ByteSource& source) : source_(source) {}

  /// The bytes [begin, end), read together with what follows up to `limit`.
  Result<ByteView> bytes(uint64_t begin, uint64_t end, uint64_t limit) {
    if (begin < at_ || end > at_ + size_) {
      at_ = begin;
      size_ = std::max(end, std::min(limit, begin + kWindow)) - begin;
      if (size_ > capacity_) {
        memory_ = std::make_unique_for_overwrite<std::byte[]>(size_);
        capacity_ = size_;
      }
      HR_CHECK(source_.read_at(at_, {memory_.get(), size_}));
    }
    return ByteView(memory_.get() + (begin - at_), end - begin);
  }

 private:
  const ByteSource& source_;
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
  Layout layout;
  std::string record;
  for (uint32_t sample = from; sample < to; ++sample) {
    if (progress_.stopped()) return Progress::interrupted();
    const uint64_t position = position_of(first + sample);
    if (position == kNoSample || !wants(position)) continue;
    const Pick pick{position, shard, sample, index.get()};
    HR_TRY(const bool kept, layouts_.lay_out({&pick, 1}, layout));
    HR_TRY(const ByteView bytes,
           window.bytes(index->sample_begin(sample), index->sample_end(sample), limit));
    record.clear();
    HR_CHECK(render(layout, kept, bytes, index->sample_begin(sample), position, record));
    HR_CHECK(take(position, record));
  }
  return {};
}

// A sample that is left out has a record without members.
Status Distributor::render(const Layout& layout, bool kept, ByteView bytes, uint64_t begin,
                           uint64_t position, std::string& record) const {
  thread_local std::string tar;
  thread_local std::vector<PlacedMember> members;
  tar.clear();
  members.clear();
  for (const LaidMember& member : kept ? layout.members : std::vector<LaidMember>()) {
    append_tar_header(tar, layout.key + "." + layouts_.fields()[member.field], member.size);
    const ByteView payload = bytes.subspan(member.offset - begin, member.size);
    const uint32_t checksum = payload_checksum(payload);
    if (member.checksum != kNoChecksum && member.checksum != checksum)
      return layouts_.damaged(member.shard, member.offset);
    members.push_back(
        {.key = {}, .field = member.field, .size = member.size, .checksum = checksum});
    tar += as_text(payload);
    tar.append(tar_padding(member.size), '\0');
  }
  append_bucket_record(record, position, layout.key, members, as_bytes(tar));
  return {};
}

}  // namespace headrace
