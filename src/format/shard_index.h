// The index of one shard: where each sample and each of its members lies, and each sample's key.
//
//   object      |hdr|jpg bytes..|pad|hdr|cls|pad|hdr|jpg bytes.......|pad| ...
//               ^   ^           ^       ^       ^
//               |   offset      offset+size     |
//               sample_begin(0)                 sample_end(0) == sample_begin(1)
//
// A shard is one archive (`objects()` is empty: offsets are in the archive) or a run of loose files
// (each member names its own object and starts at offset 0). Of a compressed archive, frames() says
// where its bytes are, and all offsets are in the decoded archive.
//
// `ShardIndex` is immutable once built and may be shared between threads. It owns all it shows;
// the views it returns live as long as it does. The bytes on disk are described in docs/format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/measure.h"
#include "format/frame_map.h"
#include "format/payload_checksum.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// One field of one sample: a byte range of an object.
struct IndexMember {
  uint64_t offset;  ///< of the first byte of the payload, in the archive or the loose file
  uint64_t size;    ///< of the payload, in bytes
  uint32_t field;   ///< number in ShardIndex::fields()
  uint32_t object;  ///< number in ShardIndex::object(); 0 in an archive
};

class ShardIndex {
 public:
  uint32_t size() const { return static_cast<uint32_t>(member_start_.size() - 1); }
  const std::vector<std::string>& fields() const { return fields_; }

  /// The number of field `name`, or -1.
  int field_number(std::string_view name) const;

  std::span<const IndexMember> members(uint32_t sample) const {
    return {members_.data() + member_start_[sample], members_.data() + member_start_[sample + 1]};
  }
  /// The member of `sample` that holds `field`, or nullptr.
  const IndexMember* find(uint32_t sample, uint32_t field) const;

  /// Of the payload of a member of this index (payload_checksum.h); kNoChecksum where whoever made
  /// it did not read the payloads.
  uint32_t checksum(const IndexMember& member) const {
    return checksums_.empty() ? kNoChecksum
                              : checksums_[static_cast<size_t>(&member - members_.data())];
  }
  bool has_checksums() const { return !checksums_.empty(); }

  /// What all members of a field were measured in; Unit::kNone: not all were, or not in one unit.
  Unit unit(uint32_t field) const { return units_.empty() ? Unit::kNone : units_[field]; }
  bool is_measured() const { return !units_.empty(); }  ///< some field
  /// Of a member of this index.
  Measure measure(const IndexMember& member) const {
    const Unit known = unit(member.field);
    if (known == Unit::kNone) return {};
    return {known, measures_[static_cast<size_t>(&member - members_.data())]};
  }

  /// First byte of the sample's first header, and the byte after its last padding (archives only).
  uint64_t sample_begin(uint32_t sample) const { return sample_start_[sample]; }
  uint64_t sample_end(uint32_t sample) const {
    return sample_end_.empty() ? sample_start_[sample + 1] : sample_end_[sample];
  }

  std::string_view key(uint32_t sample) const;

  /// The path of a loose file, relative to the data set's folder; empty for archives.
  std::string_view object(uint32_t number) const;
  /// Its size, in bytes.
  uint64_t object_bytes(uint32_t number) const;
  bool is_archive() const { return object_start_.size() <= 1; }  // also of no samples

  /// How the archive is compressed; nullptr: not at all.
  const std::shared_ptr<const FrameMap>& frames() const { return frames_; }

  /// The sum of the payload sizes of a sample, in bytes.
  uint64_t payload_bytes(uint32_t sample) const;

  /// The index of some samples, in the same order. Precondition: kept.size() == size().
  ShardIndex select(const std::vector<bool>& kept) const;

  /// What this object takes in memory, about.
  uint64_t memory_bytes() const {
    return members_.size() * sizeof(IndexMember) + 8 * sample_start_.size() +
           8 * sample_end_.size() + 8 * member_start_.size() + 8 * key_start_.size() +
           keys_.size() + objects_.size() + 8 * object_start_.size() + 4 * checksums_.size() +
           8 * measures_.size() + (frames_ ? frames_->memory_bytes() : 0);
  }

  /// Reads an encoded section. Every number in it is checked against `section` and against
  /// `object_bytes`, the size of the archive's object (no limit for loose files: pass ~0). Memory:
  /// at most 56 times the section. Errors: Code::kCorrupt at `origin`.
  static Result<ShardIndex> decode(ByteView section, uint64_t object_bytes, const Origin& origin);

 private:
  friend class ShardIndexBuilder;
  friend class ShardIndexDecoder;

  std::vector<std::string> fields_;
  std::vector<uint64_t> sample_start_{0};  // size() + 1
  std::vector<uint64_t> sample_end_;       // of a selection, whose samples have gaps between them
  std::vector<uint64_t> member_start_{0};  // size() + 1
  std::vector<IndexMember> members_;
  std::vector<uint32_t> checksums_;     // of each member, or none
  std::vector<Unit> units_;             // of each field, or none
  std::vector<uint64_t> measures_;      // of each member, or none
  std::vector<uint64_t> key_start_{0};  // size() + 1
  std::string keys_;
  std::vector<uint64_t> object_start_{0};  // objects + 1
  std::string objects_;
  std::shared_ptr<const FrameMap> frames_;
};

/// Collects samples in shard order. Belongs to one thread. Preconditions: fewer than 2^32 samples,
/// sizes and offsets below 2^63, members in the order in which they lie, no field twice in a
/// sample, members of one kind only (add_member or add_file).
class ShardIndexBuilder {
 public:
  /// A new sample; `key` is not empty. `begin` must not be below the end of the sample before; what
  /// lies between them then counts to the sample before.
  void add_sample(std::string_view key, uint64_t begin);
  /// A member of the newest sample, in the archive.
  void add_member(std::string_view field, uint64_t offset, uint64_t size);
  /// Of the newest member.
  void set_checksum(uint32_t checksum);
  /// Of the newest member; its field is only measured if all members of it are, in one unit.
  void set_measure(Measure measure);
  /// A member of the newest sample that is a loose file. Precondition: is_safe_path(path).
  void add_file(std::string_view field, std::string_view path, uint64_t size);
  /// The newest sample ends here (archives: after its padding).
  void end_sample(uint64_t end);
  /// The archive is compressed; offsets are in the decoded one.
  void set_frames(FrameMap frames);

  uint32_t size() const { return index_.size(); }
  const ShardIndex& index() const { return index_; }
  /// See ShardIndex::unit().
  Unit unit(uint32_t field) const;
  /// The finished index; the builder is empty afterwards.
  ShardIndex take();

  /// The section's bytes, the same for the same calls.
  std::string encode() const;

 private:
  struct Measured {
    Unit unit = Unit::kNone;
    uint64_t count = 0;
    bool mixed = false;
  };

  uint32_t field_number(std::string_view name);

  ShardIndex index_;
  std::vector<uint64_t> field_counts_;  ///< members, by field
  std::vector<Measured> measured_;      ///< by field; fewer than fields
  std::unordered_map<std::string, uint32_t> field_numbers_;
  uint32_t next_field_ = 0;  ///< a guess: fields come in the same order in every sample
};

/// The hash that the key table is sorted by: XXH3 of the key's bytes.
uint64_t key_hash(std::string_view key);

}  // namespace headrace
