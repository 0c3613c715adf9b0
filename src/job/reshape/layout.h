// What one sample of the output consists of: members, where their bytes are in the input, and how
// they will lie in the archive.
// Thread-safety: SampleLayouts is immutable; a SampleLayout belongs to one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/shard_index.h"
#include "headrace/result.h"
#include "job/reshape/fields.h"
#include "job/reshape/inputs.h"

namespace headrace {

/// A sample of the input that goes into a sample of the output.
struct Pick {
  uint64_t position = 0;  ///< in the output
  uint32_t shard = 0;
  uint32_t sample = 0;
  const ShardIndex* index = nullptr;  ///< of the shard; nullptr: this column has none
};

struct LaidMember {
  uint32_t shard = 0;
  uint32_t field = 0;  ///< number in SampleLayouts::fields()
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t checksum = kNoChecksum;  ///< as the index of the shard has it
  Measure measure = {};             ///< the same
};

struct SampleLayout {
  std::string key;
  std::vector<LaidMember> members;
  /// The bytes [begin, end) of the shard are the sample as it will be written, but for what stands
  /// in the headers and the padding: one read, and the headers written over.
  bool verbatim = false;
  uint64_t begin = 0;
  uint64_t end = 0;

  /// Headers, payloads and padding as they will be written.
  uint64_t bytes(const std::vector<std::string>& fields) const;
};

class SampleLayouts {
 public:
  /// `fields` of each set become those of `map`; `rekey` numbers the samples instead of keeping
  /// their keys. `inputs` outlives it.
  SampleLayouts(const Inputs& inputs, const FieldMap& map, bool rekey);

  /// All fields that the output may have, sorted.
  const std::vector<std::string>& fields() const { return fields_; }

  /// One pick a column, one of them at least of a sample. False if the sample is left out because
  /// a field is missing.
  Result<bool> lay_out(std::span<const Pick> picks, SampleLayout& into) const;

  /// What a pick that is a sample's only one takes in the output; 0: the sample is left out.
  Result<uint64_t> bytes(const Pick& pick) const;

  /// The payload at `offset` of an input's shard is not what the index says; with the name that the
  /// member has there, whatever it will be named.
  Error damaged(uint32_t shard, uint64_t offset) const;

 private:
  struct Named {
    std::string_view name;
    LaidMember member;
  };

  Status add_column(const Pick& pick, std::vector<Named>& members) const;
  Result<bool> apply_rules(const Pick& first, std::vector<Named>& members) const;
  static size_t choose(const FieldRule& rule, const std::vector<Named>& members,
                       std::vector<const FieldRule*>& rule_of);
  Error problem(const Pick& pick, Code code, std::string message, std::string hint) const;

  const Inputs& inputs_;
  const FieldMap map_;
  const bool rekey_;
  std::vector<std::string> fields_;
};

/// The key of the sample at `position` where samples are numbered anew.
std::string numbered_key(uint64_t position);

/// The headers of a member, in bytes.
uint64_t header_bytes(std::string_view key, std::string_view field, uint64_t size);

}  // namespace headrace
