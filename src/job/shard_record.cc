#include "job/shard_record.h"

#include <algorithm>

#include "base/digest.h"
#include "base/little_endian.h"

namespace headrace {
namespace {

constexpr std::string_view kMagic = "HRREC003";

void append_text(std::string& out, std::string_view text) {
  append_le(out, static_cast<uint64_t>(text.size()));
  out += text;
}

// Reads what append_* wrote; once something does not fit, everything reads as zero and ok is false.
class Reader {
 public:
  explicit Reader(ByteView bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }

  template <typename T>
  T number() {
    if (!has(sizeof(T))) return 0;
    const T value = load_le<T>(bytes_.data());
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }

  std::string text() {
    const auto size = number<uint64_t>();
    if (!has(size)) return "";
    std::string text(as_text(bytes_.first(size)));
    bytes_ = bytes_.subspan(size);
    return text;
  }

  // A count of things of at least `least` bytes each: never more than the bytes that are left.
  uint64_t count(uint64_t least) {
    const auto count = number<uint64_t>();
    if (count > bytes_.size() / least) ok_ = false;
    return ok_ ? count : 0;
  }

 private:
  bool has(uint64_t size) {
    ok_ = ok_ && size <= bytes_.size();
    return ok_;
  }

  ByteView bytes_;
  bool ok_ = true;
};

}  // namespace

void count_field(std::vector<FieldSummary>& fields, std::string_view name, uint64_t bytes) {
  merge_fields(fields, {{.name = std::string(name),
                         .count = 1,
                         .bytes = bytes,
                         .min_bytes = bytes,
                         .max_bytes = bytes}});
}

void merge_fields(std::vector<FieldSummary>& fields, const std::vector<FieldSummary>& more) {
  for (const FieldSummary& from : more) {
    const auto into = std::lower_bound(
        fields.begin(), fields.end(), from.name,
        [](const FieldSummary& field, const std::string& name) { return field.name < name; });
    if (into == fields.end() || into->name != from.name) {
      fields.insert(into, from);
      continue;
    }
    if (into->unit != from.unit) into->unit = Unit::kNone;
    into->count += from.count;
    into->bytes += from.bytes;
    into->min_bytes = std::min(into->min_bytes, from.min_bytes);
    into->max_bytes = std::max(into->max_bytes, from.max_bytes);
  }
}

void ShardRecord::skip(SkippedSample sample) {
  ++skipped_samples;
  corrupt_samples += sample.corrupt ? 1 : 0;
  if (skipped.size() < kSkippedListed) skipped.push_back(std::move(sample));
}

std::string encode_record(const ShardRecord& record) {
  std::string out(kMagic);
  append_text(out, record.name);
  append_le(out, record.bytes);
  append_le(out, record.xxh3);
  append_le(out, record.samples);
  append_le(out, record.block_samples);
  append_le(out, static_cast<uint64_t>(record.fields.size()));
  for (const FieldSummary& field : record.fields) {
    append_text(out, field.name);
    append_le(out, field.count);
    append_le(out, field.bytes);
    append_le(out, field.min_bytes);
    append_le(out, field.max_bytes);
    append_le(out, static_cast<uint8_t>(field.unit));
  }
  append_le(out, static_cast<uint64_t>(record.skipped.size()));
  for (const SkippedSample& sample : record.skipped) {
    append_text(out, sample.key);
    append_text(out, sample.file);
    append_text(out, sample.reason);
    append_le(out, static_cast<uint8_t>(sample.corrupt));
  }
  append_le(out, record.skipped_samples);
  append_le(out, record.corrupt_samples);
  append_text(out, record.section);
  append_le(out, xxh3(as_bytes(out)));
  return out;
}

Result<ShardRecord> decode_record(ByteView bytes, const std::string& path) {
  const Error corrupt{.code = Code::kCorrupt,
                      .message = "the record of a finished task is damaged",
                      .origin = {path, "", Origin::kNoOffset},
                      .hint = "Remove it; the task is done again."};
  if (bytes.size() < kMagic.size() + 8 || !as_text(bytes).starts_with(kMagic)) return corrupt;
  const ByteView body = bytes.first(bytes.size() - 8);
  if (load_le<uint64_t>(bytes.data() + body.size()) != xxh3(body)) return corrupt;

  Reader reader(body.subspan(kMagic.size()));
  ShardRecord record;
  record.name = reader.text();
  record.bytes = reader.number<uint64_t>();
  record.xxh3 = reader.number<uint64_t>();
  record.samples = reader.number<uint32_t>();
  record.block_samples = reader.number<uint32_t>();
  record.fields.resize(reader.count(41));
  for (FieldSummary& field : record.fields) {
    field.name = reader.text();
    field.count = reader.number<uint64_t>();
    field.bytes = reader.number<uint64_t>();
    field.min_bytes = reader.number<uint64_t>();
    field.max_bytes = reader.number<uint64_t>();
    const auto unit = unit_of(reader.number<uint8_t>());
    if (!unit) return corrupt;
    field.unit = *unit;
  }
  record.skipped.resize(reader.count(25));
  for (SkippedSample& sample : record.skipped) {
    sample.key = reader.text();
    sample.file = reader.text();
    sample.reason = reader.text();
    const auto flag = reader.number<uint8_t>();
    if (flag > 1) return corrupt;
    sample.corrupt = flag == 1;
  }
  record.skipped_samples = reader.number<uint32_t>();
  record.corrupt_samples = reader.number<uint32_t>();
  record.section = reader.text();
  if (!reader.ok() || !reader.at_end() || record.block_samples == 0) return corrupt;
  return record;
}

}  // namespace headrace
