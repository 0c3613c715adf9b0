// Survey: what `headrace info` tells of a data set, from the manifest and the index alone; class
// counts read the label fields.
//
// Medians are exact up to kSurveyMembers members, beyond from evenly spread shards.
// Thread-safety: reads only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/dataset.h"
#include "headrace/result.h"
#include "job/progress.h"

namespace headrace {

/// Of a set of numbers; all 0 if it is empty.
struct Spread {
  uint64_t min = 0;
  uint64_t median = 0;
  uint64_t max = 0;
};

struct FieldSurvey {
  std::string name;
  uint64_t count = 0;  ///< samples that have it
  uint64_t bytes = 0;
  Spread size;
};

struct ClassCount {
  std::string label;  ///< the field's text
  std::string name;   ///< from the manifest's class table, else empty
  uint64_t count = 0;
};

struct ClassSurvey {
  std::string field;
  std::vector<ClassCount> classes;  ///< most samples first
  uint64_t labelled = 0;            ///< samples that have the field
  /// How often neighbours have the same class, and how often they would in a random order.
  double neighbours_alike = 0;
  double neighbours_expected = 0;
};

struct SurveyOptions {
  /// Count classes by this field; empty: "cls" where it is there and samples are few enough.
  std::string class_field;
};

/// Without being asked, labels are read of at most so many samples.
inline constexpr uint64_t kSurveyLabels = 100'000;
inline constexpr uint64_t kSurveyMembers = 8'000'000;

struct Survey {
  std::vector<FieldSurvey> fields;  ///< by name
  bool exact_medians = true;
  Spread shard_samples;
  Spread shard_bytes;
  Spread block_samples;
  uint64_t blocks = 0;
  std::optional<ClassSurvey> classes;
  std::vector<std::string> hints;  ///< sentences for people
};

/// Errors: kNotFound (no such class field), kUsage (it holds no classes), kInterrupted, reading.
Result<Survey> survey(const Dataset& set, const SurveyOptions& options, Progress& progress);

}  // namespace headrace
