#include "job/map/mapped_shard.h"

#include <algorithm>

#include "base/safe_path.h"
#include "base/try.h"
#include "format/key_rule.h"
#include "format/tar_writer.h"

namespace headrace {
namespace {

// Frames of compressed containers end at these sizes, so they are part of the format.
constexpr size_t kRun = size_t{256} << 10;
constexpr size_t kPiece = size_t{1} << 20;  // of a large field

}  // namespace

Status MappedShard::add(const MapSample& sample) {
  const std::string& key = keys_.emplace_back(sample.key);
  std::string name;
  for (size_t i = 0; i < sample.fields.size(); ++i) {
    const auto& [field, bytes, measure] = sample.fields[i];
    name.assign(key).append(".").append(field);
    const size_t header = run_.size();
    append_tar_header(run_, name, bytes.size());
    placed_.push_back({.key = key,
                       .field = field_number(field),
                       .first = i == 0,
                       .last = i + 1 == sample.fields.size(),
                       .header = header,
                       .data = run_.size(),
                       .size = bytes.size(),
                       .measure = measure});
    HR_CHECK(add_payload(bytes));
  }
  if (run_.size() < kRun) return {};
  HR_CHECK(flush());
  keys_.clear();
  return {};
}

Status MappedShard::add_payload(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    if (run_.size() >= kPiece) HR_CHECK(flush());
    const size_t take = std::min(bytes.size() - at, kPiece - std::min(kPiece, run_.size()));
    run_.append(bytes, at, take);
    at += take;
  }
  run_.append(tar_padding(bytes.size()), '\0');
  return {};
}

Status MappedShard::flush() {
  HR_CHECK(object_.append(as_bytes(run_), placed_));
  run_.clear();
  placed_.clear();
  return {};
}

Status MappedShard::finish() {
  HR_CHECK(flush());
  HR_TRY(const ShardRecord record, object_.finish());
  return publication_.put_record(task_, record);
}

uint32_t MappedShard::field_number(const std::string& name) {
  const auto known = std::ranges::find(fields_, name);
  const auto number = static_cast<uint32_t>(known - fields_.begin());
  if (known == fields_.end()) fields_.push_back(name);
  return number;
}

Status check_names(const MapSample& sample) {
  const auto refuse = [](const std::string& what) {
    return Error{.code = Code::kUsage, .message = what};
  };
  if (sample.fields.empty()) return refuse("the sample '" + sample.key + "' has no fields");
  KeyField again;
  for (const MapField& field : sample.fields) {
    const std::string member = sample.key + "." + field.name;
    HR_TRY(const bool splits, KeyRule().split(member, again));
    if (!is_safe_path(member) || !splits || again.key != sample.key || again.field != field.name)
      return refuse("no reader would take '" + member + "' for field '" + field.name +
                    "' of sample '" + sample.key +
                    "': the key ends at the first dot of the last part, and fields are lower-case");
  }
  return {};
}

}  // namespace headrace
