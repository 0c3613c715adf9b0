#include "job/shard_object.h"

#include <algorithm>

#include "base/try.h"
#include "dataset/containers.h"
#include "format/frame_codec.h"
#include "format/tar_writer.h"
#include "job/fault_point.h"
#include "plan/shard_table.h"

namespace headrace {

std::string pack_run(Container container, ByteView bytes) {
  if (!is_compressed(container) || container == Container::kZip || bytes.empty()) return {};
  return encode_frame(frame_encoding(container), bytes);
}

Error damaged_payload(Origin origin) {
  return {.code = Code::kCorrupt,
          .message =
              "the data are not those that were packed: their checksum differs from the one "
              "in the index",
          .origin = std::move(origin),
          .hint = "Run 'headrace verify' on the input; leave the sample out, or bring it back."};
}

const PlacedMember* take_checksums(ByteView bytes, std::span<PlacedMember> placed) {
  for (PlacedMember& member : placed) {
    if (member.size > bytes.size() - member.data) continue;
    const uint32_t known = member.checksum;
    member.checksum = payload_checksum(bytes.subspan(member.data, member.size));
    if (known != kNoChecksum && known != member.checksum) return &member;
  }
  return nullptr;
}

ShardObject::ShardObject(Store& store, std::string name, const std::vector<std::string>& fields,
                         Container container)
    : store_(store), fields_(fields), container_(container), summaries_(fields.size()) {
  record_.name = std::move(name);
  if (container == Container::kZip) zip_.emplace([this](ByteView bytes) { return write(bytes); });
}

Status ShardObject::append(ByteView bytes, std::span<const PlacedMember> placed,
                           const std::string& packed) {
  HR_CHECK(go_on_with_checksum(bytes));
  if (zip_) return append_zip(bytes, placed);
  for (const PlacedMember& member : placed) {
    HR_CHECK(check_key(member));
    const uint64_t data = tar_bytes_ + member.data;
    add_member(member, tar_bytes_ + member.header, data,
               data + member.size + tar_padding(member.size));
    begin_checksum(member, bytes.subspan(member.data));
  }
  return append_run(bytes, packed, digested_before_);
}

// Headers and padding of the tar go; offsets are in the contents, one behind the other.
Status ShardObject::append_zip(ByteView bytes, std::span<const PlacedMember> placed) {
  uint64_t at = 0;
  for (const PlacedMember& member : placed) {
    HR_CHECK(check_key(member));
    HR_CHECK(zip_->go_on(bytes.subspan(at, member.header - at)));
    const uint64_t there = std::min<uint64_t>(member.size, bytes.size() - member.data);
    const uint64_t begin = zip_->contents();
    add_member(member, begin, begin, begin + member.size);
    begin_checksum(member, bytes.subspan(member.data));
    const std::string& field = fields_[member.field];
    std::string name(member.key);
    name += '.' + field;
    HR_CHECK(zip_->begin(std::move(name), member.size, bytes.subspan(member.data, there)));
    at = member.data + there;
  }
  return zip_->go_on(bytes.subspan(at));
}

void ShardObject::begin_checksum(const PlacedMember& placed, ByteView bytes) {
  const bool whole = placed.size <= bytes.size();
  if (whole && placed.checksum != kNoChecksum) return builder_.set_checksum(placed.checksum);
  known_checksum_ = placed.checksum;
  payload_.begin(placed.size);
  if (const auto checksum = payload_.take(bytes)) builder_.set_checksum(*checksum);
}

Status ShardObject::go_on_with_checksum(ByteView bytes) {
  const auto checksum = payload_.take(bytes);
  if (!checksum) return {};
  builder_.set_checksum(*checksum);
  if (known_checksum_ == kNoChecksum || known_checksum_ == *checksum) return {};
  return damaged_payload({});  // whoever has read it knows where it lies
}

Status ShardObject::check_key(const PlacedMember& placed) const {
  // Readers take members of one key that follow each other for one sample.
  if (!placed.first || builder_.size() == 0 ||
      builder_.index().key(builder_.size() - 1) != placed.key)
    return {};
  return Error{.code = Code::kUsage,
               .message = "two samples with the key '" + std::string(placed.key) +
                          "' would lie side by side, as if they were one",
               .origin = {.shard = record_.name},
               .hint = "Give the samples new keys with --rekey."};
}

void ShardObject::add_member(const PlacedMember& placed, uint64_t begin, uint64_t data,
                             uint64_t end) {
  const uint64_t size = placed.size;
  if (placed.first) builder_.add_sample(placed.key, begin);
  builder_.add_member(fields_[placed.field], data, size);
  if (placed.measure.unit != Unit::kNone) builder_.set_measure(placed.measure);
  if (placed.last) builder_.end_sample(end);
  if (placed.field >= summaries_.size()) summaries_.resize(fields_.size());
  FieldSummary& summary = summaries_[placed.field];
  summary.min_bytes = summary.count == 0 ? size : std::min(summary.min_bytes, size);
  summary.max_bytes = std::max(summary.max_bytes, size);
  summary.bytes += size;
  ++summary.count;
}

Status ShardObject::append_run(ByteView bytes, const std::string& packed, bool digested) {
  if (container_ == Container::kTarGz) {
    if (tar_bytes_ == 0) HR_CHECK(write(as_bytes(gzip_begin())));
    crc32_ = crc32_of(bytes, crc32_);
  }
  tar_bytes_ += bytes.size();
  if (!is_compressed(container_)) return write(bytes, digested);
  if (bytes.empty()) return {};
  return append_frame(bytes, packed.empty() ? pack_run(container_, bytes) : packed);
}

Status ShardObject::append_frame(ByteView bytes, const std::string& frame) {
  // A part of a deflate stream has no checksum of its own.
  const bool bare = frame_encoding(container_) == Encoding::kDeflatePart;
  frames_.add({.encoded_offset = record_.bytes,
               .encoded_size = frame.size(),
               .decoded_size = bytes.size(),
               .crc32 = bare ? crc32_of(bytes) : 0,
               .encoding = frame_encoding(container_)});
  return write(as_bytes(frame));
}

void ShardObject::digest(ByteView bytes) {
  if (container_ != Container::kTar) return;
  digested_before_ = true;
  digest_.update(bytes);
}

Status ShardObject::write(ByteView bytes, bool digested) {
  if (!sink_) {
    HR_TRY(sink_, store_.create(record_.name));
  }
  if (!digested) digest_.update(bytes);
  record_.bytes += bytes.size();
  return sink_->append(bytes);
}

Status ShardObject::finish_tar() {
  std::string end;
  append_tar_end(end);
  HR_CHECK(append_run(as_bytes(end), {}));
  if (container_ == Container::kTarGz) HR_CHECK(write(as_bytes(gzip_end(crc32_, tar_bytes_))));
  if (container_ == Container::kTarZst) HR_CHECK(write(as_bytes(zstd_seek_table(frames_))));
  builder_.set_frames(std::move(frames_));
  return {};
}

Status ShardObject::finish_zip() {
  HR_CHECK(zip_->finish());
  tar_bytes_ = zip_->contents();
  builder_.set_frames(zip_->frames());
  return {};
}

Result<ShardRecord> ShardObject::finish() {
  HR_CHECK(zip_ ? finish_zip() : finish_tar());
  record_.xxh3 = digest_.digest();
  record_.samples = builder_.size();
  record_.block_samples = default_block_samples(record_.samples, tar_bytes_);
  record_.section = builder_.encode();
  for (size_t field = 0; field < summaries_.size(); ++field) {
    if (summaries_[field].count == 0) continue;
    summaries_[field].name = fields_[field];
    const int number = builder_.index().field_number(fields_[field]);
    summaries_[field].unit = builder_.unit(static_cast<uint32_t>(number));
    merge_fields(record_.fields, {summaries_[field]});
  }
  fault_point("shard_written");
  HR_CHECK(sink_->commit());
  sink_.reset();
  fault_point("shard_committed");
  return std::move(record_);
}

}  // namespace headrace
