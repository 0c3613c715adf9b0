// Where the samples of a pack stand, and where its shards end.
//
//   ignore     a/1 a/2 | b/1 b/x/1 | b/x/2 c/1      as they come: shards end anywhere
//   keep       a/1 a/2 | b/1 | b/x/1 b/x/2 | c/1    no shard holds samples of two folders
//   collapse   b/x/1 b/x/2 | a/1 a/2 | b/1 c/1      what does not fill a shard goes up to the
//   folder
//                                                   above, and is joined with its other leftovers
//
// Or a key map says which sample belongs to the shards of which name.
// Thread-safety: pure functions but for reading the key map.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "job/key_map.h"
#include "job/pack.h"
#include "job/samples.h"

namespace headrace {

struct PlannedShard {
  std::string name;    ///< from the template
  uint64_t first = 0;  ///< position of its first sample
  uint32_t samples = 0;
  uint64_t bytes = 0;  ///< of the finished archive
};

struct PackCut {
  std::vector<uint32_t> order;  ///< number in the set of the sample at each position
  std::vector<PlannedShard> shards;
};

/// `order`: of the samples before folders or the key map change it. `map`: nullptr for none.
/// `bytes(sample)`: in the archive. Code::kUsage for options that exclude each other, templates
/// with too few names or the same ones, and a sample that the map does not name.
Result<PackCut> cut_pack(const SampleSet& set, std::vector<uint32_t> order,
                         const PackOptions& options, const KeyMap* map,
                         const std::function<uint64_t(uint32_t)>& bytes);

/// The folder of a key: "a/b" of "a/b/c".
std::string_view folder_of_key(std::string_view key);

}  // namespace headrace
