// The plan of a job of reshaping, as data: immutable, digested, enough for any machine that sees
// the inputs to do any of its tasks.
//
//   PLACE/plan.json     verb, options, pinned inputs, order, shards and their names
//   PLACE/order.bin     the rows of the order where it is no arithmetic (eight bytes a sample)
//
// A task is one shard of the output. The digest covers all that the output's bytes depend on, and
// nothing else: not where the output goes, nor threads, memory and algorithm.
// Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/store.h"
#include "job/map/step.h"
#include "job/name_template.h"
#include "job/reshape/fields.h"
#include "job/reshape/inputs.h"
#include "job/reshape/order.h"

namespace headrace {

/// Shards with names of one template, numbered from 0, that follow each other in the order.
struct OutputGroup {
  std::string name;  ///< template
  /// Samples of each shard. Empty: `shards` of equal counts.
  std::vector<uint32_t> counts;
  uint64_t samples = 0;
  uint64_t shards = 0;
};

struct OutputShard {
  std::string name;
  uint64_t first = 0;  ///< position of its first sample
  uint64_t samples = 0;
};

/// What a verb says: everything else follows.
struct Assignment {
  std::string verb;
  std::string options_json;
  SampleOrder order;
  FieldMap fields;
  std::optional<MapStep> map;  ///< every sample goes through it
  bool rekey = false;
  std::vector<OutputGroup> groups;
  std::vector<std::string> notes;  ///< lines for people
};

class ReshapePlan {
 public:
  /// Pins the inputs.
  static Result<ReshapePlan> make(std::shared_ptr<Inputs> inputs, Assignment assignment,
                                  std::string out, unsigned threads);

  /// Puts the plan into a folder of `place` ("" or one that ends in a slash); it may be there.
  Status save(Store& place, const std::string& folder = "") const;
  /// Opens the inputs too; they must be what they were (Code::kChanged). `task`: of a listed order
  /// only the rows of this shard are read.
  static Result<ReshapePlan> load(const Store& place, unsigned threads, uint64_t task = kAllTasks);
  static constexpr uint64_t kAllTasks = ~uint64_t{0};
  /// What the plan says, without looking at the inputs: there are neither inputs() nor rows.
  static Result<ReshapePlan> load_head(const Store& place);

  const std::string& digest() const { return digest_; }
  const std::string& out() const { return out_; }
  const Assignment& assignment() const { return assignment_; }
  const Inputs& inputs() const { return *inputs_; }
  const SampleOrder& order() const { return assignment_.order; }
  uint64_t tasks() const { return group_shard_.back(); }
  OutputShard shard(uint64_t task) const;
  /// Of all shards: what their names say.
  Container container() const;

 private:
  ReshapePlan() = default;
  Status settle();
  Status check_names() const;
  std::string body() const;
  std::string rows_checksum(uint64_t task) const;
  Status read_rows(const Store& place, uint64_t task);

  std::string out_;
  std::shared_ptr<Inputs> inputs_;
  std::vector<PinnedSet> pinned_;  // until the inputs are open
  Assignment assignment_;
  std::vector<NameTemplate> names_;            // of each group
  std::vector<uint64_t> group_shard_{0};       // first shard of each group; one more at the end
  std::vector<uint64_t> group_sample_{0};      // first position of each group; one more at the end
  std::vector<std::vector<uint64_t>> firsts_;  // of each group with counts: first of each shard
  std::vector<std::string> row_checks_;        // of a listed order: XXH3 of each shard's rows
  std::string digest_;
};

inline constexpr const char* kPlanName = "plan.json";
inline constexpr const char* kOrderName = "order.bin";

}  // namespace headrace
