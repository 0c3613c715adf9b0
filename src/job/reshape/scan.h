// Every sample of the input is looked at, shard by shard, on several threads.
// Thread-safety: the visitor is called from several threads, with one shard each.
#pragma once

#include <algorithm>
#include <string>

#include "base/parallel.h"
#include "base/try.h"
#include "format/shard_index.h"
#include "job/reshape/inputs.h"

namespace headrace {

/// One sample, and its fields when they are asked for.
class ScannedSample {
 public:
  ScannedSample(const Inputs& inputs, uint32_t shard, const ShardIndex& index)
      : inputs_(inputs), shard_(shard), index_(index) {}

  void move_to(uint32_t sample) { sample_ = sample; }
  /// In the row of all samples.
  uint64_t number() const { return inputs_.first_sample(shard_) + sample_; }
  std::string_view key() const { return index_.key(sample_); }
  uint64_t payload_bytes() const { return index_.payload_bytes(sample_); }
  const IndexMember* find(std::string_view field) const {
    const int number = index_.field_number(field);
    return number < 0 ? nullptr : index_.find(sample_, static_cast<uint32_t>(number));
  }
  Status read(const IndexMember& member, std::string& into) const {
    HR_TRY(const auto source, inputs_.source(shard_));
    into.resize(member.size);
    return source->read_at(member.offset, as_writable_bytes(into));
  }
  const std::vector<std::string>& field_names() const { return index_.fields(); }
  std::span<const IndexMember> members() const { return index_.members(sample_); }
  /// Where it is, for messages.
  Origin origin() const {
    const auto name = inputs_.shard_name(shard_);
    return {.shard = name.ok() ? *name : "",
            .member = std::string(key()),
            .offset = index_.sample_begin(sample_)};
  }

 private:
  const Inputs& inputs_;
  const uint32_t shard_;
  const ShardIndex& index_;
  uint32_t sample_ = 0;
};

/// Calls visit(shard, ScannedSample&), a Status, for every sample; in order within a shard.
template <typename Visit>
Status scan(const Inputs& inputs, unsigned threads, const Visit& visit) {
  constexpr unsigned kRemoteThreads = 32;
  return for_each(inputs.shards(), inputs.is_remote() ? kRemoteThreads : threads,
                  [&](uint64_t number) -> Status {
                    const auto shard = static_cast<uint32_t>(number);
                    HR_TRY(const auto index, inputs.index(shard));
                    ScannedSample sample(inputs, shard, *index);
                    for (uint32_t i = 0; i < index->size(); ++i) {
                      sample.move_to(i);
                      HR_CHECK(visit(shard, sample));
                    }
                    return {};
                  });
}

}  // namespace headrace
