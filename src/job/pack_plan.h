// The plan of a pack: which sample goes to which shard at which place. A pure function of the files
// (path, size, time of change) and the options; its digest names it.
//
//   position   0    1    2    3    4    5    6 …        samples in the order of the data set
//   sample     p(0) p(1) p(2) …                         p: the identity, or a keyed permutation
//   shard      |--- 0 ---|------ 1 ------|-- 2 …        whole samples, cut by size, count or number
//
// Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/permutation.h"
#include "job/name_template.h"
#include "job/pack.h"
#include "job/samples.h"
#include "job/sources.h"

namespace headrace {

struct PlannedShard {
  std::string name;    ///< from the template
  uint64_t first = 0;  ///< position of its first sample
  uint32_t samples = 0;
  uint64_t bytes = 0;  ///< of the finished archive
};

class PackPlan {
 public:
  static Result<PackPlan> make(const PackOptions& options);

  const Sources& sources() const { return sources_; }
  const SampleSet& set() const { return set_; }
  const std::vector<PlannedShard>& shards() const { return shards_; }
  const std::string& digest() const { return digest_; }
  /// JSON of the options that shape the data.
  const std::string& options_json() const { return options_json_; }
  uint64_t payload_bytes() const { return payload_bytes_; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// What could not be looked at, with on_error = kSkip.
  const std::vector<Error>& unreadable() const { return sources_.notes.unreadable; }

  const SampleEntry& sample_at(uint64_t position) const {
    return set_.samples[shuffle_ ? permutation_(position) : position];
  }
  const SampleMember& member(const SampleEntry& sample, uint32_t number) const {
    return set_.members[sample.member_begin + number];
  }
  const PictureOptions& pictures() const { return pictures_; }
  /// Whether the member is a picture and something is done to pictures.
  bool is_picture(const SampleMember& member) const;
  /// In the sources.
  uint64_t member_bytes(const SampleEntry& sample, const SampleMember& member) const;
  /// KEY.FIELD
  void member_name(const SampleEntry& sample, const SampleMember& member, std::string& out) const;
  /// Headers, payloads and padding of a sample, before pictures change.
  uint64_t sample_bytes(const SampleEntry& sample) const;

 private:
  Status cut(const PackOptions& options, const NameTemplate& names);
  void digest_inputs();
  void add_notes(const PackOptions& options);
  void add_class_hint();

  Sources sources_;
  SampleSet set_;
  PictureOptions pictures_;
  bool shuffle_ = false;
  Permutation permutation_;
  std::vector<PlannedShard> shards_;
  std::string options_json_;
  std::string digest_;
  uint64_t payload_bytes_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace headrace
