// What a plan will cost, and which algorithm it will run by: a model, for --explain and for the
// choice.
//
//                 reads                    requests (remote)        memory             scratch
//   gather        what is written          one a run of neighbours  all indexes        none
//   buckets       the shards, whole        one a 4 MiB              what is given      the output
//
// Thread-safety: pure but for asking the system how much memory is free.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/reshape/plan.h"

namespace headrace {

enum class Algorithm { kAuto, kGather, kBuckets };

struct Cost {
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t requests_read = 0;     ///< of a store over a network; 0: files
  uint64_t requests_written = 0;  ///< the same
  uint64_t memory = 0;
  uint64_t scratch = 0;
  double seconds = 0;
  double dollars = 0;  ///< requests at the list prices of S3; traffic inside a region is free
};

struct Choice {
  Algorithm algorithm = Algorithm::kGather;
  bool fits = true;  ///< false: more memory than is given, and there is no other way
  std::string why;   ///< a sentence without a full stop
  Cost gather;
  Cost buckets;

  const Cost& cost() const { return algorithm == Algorithm::kBuckets ? buckets : gather; }
};

/// For `tasks` of the plan's tasks. `wanted` other than kAuto is taken where it can be done.
Choice choose_algorithm(const ReshapePlan& plan, uint64_t tasks, uint64_t memory_bytes,
                        Algorithm wanted);

}  // namespace headrace
