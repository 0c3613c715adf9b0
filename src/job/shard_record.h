// What a finished task of a job leaves behind: all that the data set's tables need to know of one
// shard. Written once, beside the data set under way, so that a killed job resumes after it.
//
// Thread-safety: a plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/result.h"
#include "plan/manifest.h"

namespace headrace {

/// A sample that was left out, and why.
struct SkippedSample {
  std::string key;
  std::string file;      ///< that was at fault
  std::string reason;    ///< the codec's words, or the system's
  bool corrupt = false;  ///< a picture that cannot be decoded, not a file that cannot be read
};

/// Skipped samples that a shard's record lists by name.
inline constexpr size_t kSkippedListed = 1000;

struct ShardRecord {
  std::string name;  ///< of the object, relative to the data set
  uint64_t bytes = 0;
  uint64_t xxh3 = 0;  ///< of the object; 0: unknown
  uint32_t samples = 0;
  uint32_t block_samples = 1;
  std::vector<FieldSummary> fields;
  std::vector<SkippedSample> skipped;  ///< the first kSkippedListed
  uint32_t skipped_samples = 0;        ///< all of them,
  uint32_t corrupt_samples = 0;        ///< and those with `corrupt`

  void skip(SkippedSample sample);
  std::string section;  ///< the encoded ShardIndex
};

/// Adds one sample's field of `bytes` to the summary of its name, which is made when missing.
void count_field(std::vector<FieldSummary>& fields, std::string_view name, uint64_t bytes);
/// Adds the summary `more` of other samples.
void merge_fields(std::vector<FieldSummary>& fields, const std::vector<FieldSummary>& more);

/// Magic, fields in little endian, and an XXH3 of it all at the end.
std::string encode_record(const ShardRecord& record);
/// Code::kCorrupt for anything that encode_record did not write.
Result<ShardRecord> decode_record(ByteView bytes, const std::string& path);

}  // namespace headrace
