#include "job/reshape/join.h"

#include <algorithm>
#include <optional>

#include "base/try.h"
#include "job/reshape/order.h"
#include "job/reshape/order_bytes.h"
#include "job/reshape/scan.h"

namespace headrace {
namespace {

constexpr size_t kNumber = sizeof(uint64_t);

// Samples sorted by their keys, then those with one key as a row, then rows sorted as they lie in
// the first set that has them.
class Join {
 public:
  Join(const Inputs& inputs, JoinMissing missing, const WorkRoom& room)
      : inputs_(inputs),
        missing_(missing),
        room_(room),
        columns_(inputs.sets().size()),
        rows_(room.scratch, room.memory_bytes / 2) {}

  Result<Rows> run() {
    HR_CHECK(match());
    if (bad_number_ != kNoSample) return bad();
    RowsBuilder numbers(room_.scratch);
    HR_CHECK(rows_.each([&](std::string_view row) -> Status {
      for (size_t set = 0; set < columns_; ++set)
        HR_CHECK(numbers.add(number_at(row, (1 + set) * kNumber)));
      return {};
    }));
    return numbers.finish();
  }

 private:
  Status match() {
    SpillSort by_key(room_.scratch, room_.memory_bytes / 2);
    HR_CHECK(scan(inputs_, room_.threads, [&](uint32_t, const ScannedSample& sample) -> Status {
      thread_local std::string record;
      record.clear();
      append_ordered(record, sample.key());
      append_ordered(record, sample.number());
      return by_key.add(record);
    }));
    std::string key;
    std::vector<uint64_t> row;
    HR_CHECK(by_key.each([&](std::string_view record) -> Status {
      const std::string_view next = record.substr(0, record.size() - kNumber);
      if (next != key) {
        HR_CHECK(end_row(row));
        row.assign(columns_, kNoSample);
        key = next;
      }
      const uint64_t number = last_number(record);
      uint64_t& place = row[set_of(number)];
      if (place != kNoSample)
        refuse(number, columns_);
      else
        place = number;
      return {};
    }));
    return end_row(row);
  }

  size_t set_of(uint64_t number) const {
    size_t set = 0;
    while (set + 1 < columns_ && number >= inputs_.set_begin(set + 1)) ++set;
    return set;
  }

  Status end_row(const std::vector<uint64_t>& row) {
    const auto first = std::ranges::find_if(row, [](uint64_t i) { return i != kNoSample; });
    if (first == row.end()) return {};
    const bool whole = std::ranges::count(row, kNoSample) == 0;
    const bool leads = first == row.begin();
    const auto lacking = static_cast<size_t>(std::ranges::find(row, kNoSample) - row.begin());
    if (!whole && leads && missing_ == JoinMissing::kError) refuse(*first, lacking);
    if (!whole && missing_ == JoinMissing::kInner) return {};
    if (!leads && missing_ != JoinMissing::kOuter) return {};
    std::string record;
    append_ordered(record, *first);
    for (const uint64_t number : row) append_ordered(record, number);
    return rows_.add(record);
  }

  // Of all that is wrong, what comes first is reported.
  void refuse(uint64_t number, size_t lacking) {
    if (number >= bad_number_) return;
    bad_number_ = number;
    lacking_ = lacking;
  }

  Error bad() const {
    const SampleId id = inputs_.locate(bad_number_);
    const auto index = inputs_.index(id.shard);
    if (!index.ok()) return index.error();
    ScannedSample sample(inputs_, id.shard, **index);
    sample.move_to(id.sample);
    const std::string key(sample.key());
    if (lacking_ == columns_)
      return {.code = Code::kUsage,
              .message = "the key '" + key + "' comes twice in one data set",
              .origin = sample.origin(),
              .hint = "Keys must be unique to join by them."};
    return {.code = Code::kNotFound,
            .message = "the key '" + key + "' is not in '" + inputs_.sets()[lacking_]->name() + "'",
            .origin = sample.origin(),
            .hint = "Choose with --on-missing inner, left or outer."};
  }

  const Inputs& inputs_;
  const JoinMissing missing_;
  const WorkRoom& room_;
  const size_t columns_;
  SpillSort rows_;
  uint64_t bad_number_ = kNoSample;
  size_t lacking_ = 0;  // a set; columns_: it comes twice
};

}  // namespace

Result<Rows> join_samples(const Inputs& inputs, JoinMissing missing, const WorkRoom& room) {
  if (inputs.sets().size() < 2)
    return Error{.code = Code::kUsage,
                 .message = "there is one data set, and nothing to join with it",
                 .hint = "Name two data sets or more."};
  return Join(inputs, missing, room).run();
}

}  // namespace headrace
