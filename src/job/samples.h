// Files become samples: by the key rule, the policies for duplicates and missing fields, and class
// labels from folders. Pure but for the names in messages.
//
// Samples are in the order of their first file. Memory: about 24 bytes a file, 32 a sample, keys.
// Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "job/pack.h"
#include "job/sources.h"

namespace headrace {

struct SampleMember {
  static constexpr uint64_t kLabel = ~uint64_t{0};

  uint64_t file = 0;  ///< number in Sources::files; kLabel: the sample's class number as text
  uint32_t field = 0;
};

struct SampleEntry {
  uint64_t key_begin = 0;
  uint64_t member_begin = 0;
  uint32_t key_bytes = 0;
  uint32_t members = 0;  ///< sorted by the name of their field
  uint32_t label = 0;    ///< class number
};

struct SampleSet {
  std::vector<std::string> fields;
  std::vector<std::string> classes;
  std::vector<SampleEntry> samples;
  std::vector<SampleMember> members;
  std::string keys;
  std::vector<std::string> notes;  ///< what was left out or renamed, for people

  std::string_view key(const SampleEntry& sample) const {
    return std::string_view(keys).substr(sample.key_begin, sample.key_bytes);
  }
};

/// Errors: kUsage for two files that claim one field, a field that lacks, a name that WebDataset's
/// rule would not read back, a file outside class folders. Each names the files.
Result<SampleSet> group_samples(const Sources& sources, const PackOptions& options);

}  // namespace headrace
