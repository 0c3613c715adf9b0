// The plan of a pack: which sample goes to which shard at which place. A pure function of the files
// (path, size, time of change) and the options; its digest names it.
//
//   position   0    1    2    3    4    5    6 …        samples in the order of the data set
//   sample     p(0) p(1) p(2) …                         p: by path, a keyed permutation, or by the
//                                                       shards that folders or a key map ask for
//   shard      |--- 0 ---|------ 1 ------|-- 2 …        whole samples, cut by size, count or number
//
// Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/pack.h"
#include "job/pack_cut.h"
#include "job/samples.h"
#include "job/sources.h"

namespace headrace {

class PackPlan {
 public:
  static Result<PackPlan> make(const PackOptions& asked);

  const Sources& sources() const { return sources_; }
  const SampleSet& set() const { return set_; }
  const std::vector<PlannedShard>& shards() const { return cut_.shards; }
  uint64_t samples() const { return cut_.order.size(); }
  /// Of the samples that are packed.
  uint64_t files() const { return files_; }
  const std::string& digest() const { return digest_; }
  /// JSON of the options that shape the data.
  const std::string& options_json() const { return options_json_; }
  uint64_t payload_bytes() const { return payload_bytes_; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// What could not be looked at, with on_error = kSkip.
  const std::vector<Error>& unreadable() const { return sources_.notes.unreadable; }

  const SampleEntry& sample_at(uint64_t position) const {
    return set_.samples[cut_.order[position]];
  }
  const SampleMember& member(const SampleEntry& sample, uint32_t number) const {
    return set_.members[sample.member_begin + number];
  }
  Container container() const { return container_; }
  const PictureOptions& pictures() const { return pictures_; }
  /// Whether the member is a picture and something is done to pictures.
  bool is_picture(const SampleMember& member) const;
  /// What the member is measured in.
  Unit unit(const SampleMember& member) const { return units_[member.field]; }
  /// Whether its bytes have to be in one piece.
  bool is_whole(const SampleMember& member) const {
    return is_picture(member) || unit(member) != Unit::kNone;
  }
  /// In the sources.
  uint64_t member_bytes(const SampleEntry& sample, const SampleMember& member) const;
  /// KEY.FIELD
  void member_name(const SampleEntry& sample, const SampleMember& member, std::string& out) const;
  /// Headers, payloads and padding of a sample, before pictures change.
  uint64_t sample_bytes(const SampleEntry& sample) const;

 private:
  void count();
  void digest_inputs();
  void add_notes(const PackOptions& options);
  void add_class_hint();

  Sources sources_;
  SampleSet set_;
  Container container_ = Container::kTar;
  PictureOptions pictures_;
  std::vector<Unit> units_;  // by field
  PackCut cut_;
  uint64_t files_ = 0;
  std::string options_json_;
  std::string digest_;
  uint64_t payload_bytes_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace headrace
