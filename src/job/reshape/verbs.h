// The verbs of reshaping. Each only says which sample stands where: it makes an Assignment.
//
//   shuffle          a keyed permutation of all samples
//   split, merge     the samples as they stand, cut anew;  concat: the same, of several sets
//   rename, project  the same with other fields
//   select, dedupe   some of them, in their order
//   sort             all in the order of what is in them, or by an external map to named shards
//   join             rows of several sets with the same key;  zip: at the same position
//   map              the same, each through a command or a function
//   convert          the same, for other shards: the container is what the shards' names say;
//                    where pictures are to change, as map
//
// Thread-safety: pure but for reading the inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/reshape/cut.h"
#include "job/reshape/join.h"
#include "job/reshape/plan.h"
#include "job/reshape/select.h"
#include "job/reshape/sort.h"

namespace headrace {

struct ReshapeOptions {
  std::string verb;
  std::vector<std::string> sources;  ///< data sets
  std::string out;                   ///< destination folder or URL
  CutOptions cut;
  uint64_t seed = 0;  ///< of shuffle
  SelectOptions select;
  SortOptions sort;
  std::string key_map;         ///< of sort: its location; sorts by key within a template
  bool drop_unmapped = false;  ///< of sort: samples that the key map does not name are left out
  std::vector<std::string> dedupe_fields;
  JoinMissing join = JoinMissing::kError;
  std::string fields;  ///< of rename and project: rules
  FieldMap::Missing on_missing = FieldMap::Missing::kError;
  FieldMap::Conflict on_conflict = FieldMap::Conflict::kError;
  std::optional<MapStep> map;                  ///< of map
  PictureOptions pictures;                     ///< of convert
  bool rekey = false;                          ///< keys become the sample's number in the output
  WorkRoom room{.threads = 0, .scratch = {}};  ///< 0 threads: as many as there are processors
};

/// What `options.verb` says about these inputs. Code::kUsage for options that make no sense.
Result<Assignment> assign(const Inputs& inputs, const ReshapeOptions& options);

/// Opens the inputs, assigns and pins.
Result<ReshapePlan> plan_reshape(const ReshapeOptions& options);

}  // namespace headrace
