#include "format/shard_index.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/digest.h"
#include "base/little_endian.h"
#include "base/safe_path.h"
#include "base/try.h"
#include "format/column.h"
#include "format/tar_fields.h"

// The section, little-endian; docs/format.md has the picture:
//
//   0  "HRIX"   4 version   8 xxh3 of bytes 16..end
//   16 kind u32   20 fields u32   24 samples u32   28 frames u32   32 members u64   40 begin u64
//   48 columns, one after the other:
//        those of a FrameMap, where the archive is compressed (frames > 0)
//        lengths of the field names | names
//        members of each sample
//        field number - position in the sample, of each member
//        for each field: the sizes of its members, at least a byte each
//        archive: gap before each member | gap behind each sample      files: path lengths | paths
//        key lengths, at least 1 | keys
//        checksums of the payloads, at least a byte each, if the kind has kHasChecksums
//        unit of each field | measure of each member, at least a byte each, if it has kHasMeasures
//
// A gap is what lies between the end of the payload before, rounded up to whole tar blocks, and
// this payload (512 in a plain ustar archive), or the end of the sample (0). What a writer of tar
// does the same way for every member costs nothing so. Every sample has a byte of key and every
// member a byte of size: no count in the header can ask for more memory than the section justifies.

namespace headrace {
namespace {

constexpr std::string_view kMagic = "HRIX";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 48;
constexpr size_t kCheckedFrom = 16;

enum class Kind : uint32_t { kArchive = 0, kFiles = 1 };
constexpr uint32_t kHasChecksums = 1U << 16;  // beside the kind
constexpr uint32_t kHasMeasures = 1U << 17;

struct Header {
  Kind kind;
  bool has_checksums;
  bool has_measures;
  uint32_t fields;
  uint32_t samples;
  uint32_t frames;
  uint64_t members;
  uint64_t begin;
};

Error damaged(std::string what, const Origin& origin) {
  return {Code::kCorrupt, "the shard index is damaged: " + std::move(what), origin,
          "Make it again with `headrace index`"};
}

Result<Header> decode_header(ByteView section, const Origin& origin) {
  if (section.size() < kHeaderBytes) return damaged("it is shorter than its header", origin);
  const std::byte* const at = section.data();
  if (as_text(section).substr(0, 4) != kMagic)
    return damaged("it does not begin with HRIX", origin);
  if (const auto version = load_le<uint32_t>(at + 4); version != kVersion)
    return Error{Code::kCorrupt,
                 "the shard index has version " + std::to_string(version) + ", known is 1", origin,
                 "It may have been made by a newer headrace: update this one"};
  if (load_le<uint64_t>(at + 8) != xxh3(section.subspan(kCheckedFrom)))
    return damaged("its checksum does not match", origin);
  const auto word = load_le<uint32_t>(at + 16);
  const uint32_t kind = word & ~(kHasChecksums | kHasMeasures);
  if (kind > 1) return damaged("its kind is unknown", origin);
  const Header header{.kind = static_cast<Kind>(kind),
                      .has_checksums = (word & kHasChecksums) != 0,
                      .has_measures = (word & kHasMeasures) != 0,
                      .fields = load_le<uint32_t>(at + 20),
                      .samples = load_le<uint32_t>(at + 24),
                      .frames = load_le<uint32_t>(at + 28),
                      .members = load_le<uint64_t>(at + 32),
                      .begin = load_le<uint64_t>(at + 40)};
  if (header.frames > 0 && header.kind != Kind::kArchive)
    return damaged("loose files have no frames", origin);
  if (header.samples > section.size() || header.frames > section.size() ||
      header.members > section.size() || header.fields > section.size() / kColumnHeaderBytes)
    return damaged("it counts more than it has bytes for", origin);
  return header;
}

/// Reads lengths and the text they cut; `starts` gets count + 1 offsets.
bool take_texts(ByteView& bytes, uint64_t count, uint64_t shortest, std::vector<uint64_t>& starts,
                std::string& text) {
  const auto lengths = Column64::take(bytes, count);
  if (!lengths) return false;
  starts.resize(count + 1);
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) {
    starts[i] = total;
    const uint64_t length = (*lengths)[i];
    if (length < shortest || length > bytes.size() - total) return false;
    total += length;
  }
  starts[count] = total;
  text = as_text(bytes.first(total));
  bytes = bytes.subspan(total);
  return true;
}

void append_texts(std::string& out, const std::vector<uint64_t>& starts, std::string_view text) {
  std::vector<uint64_t> lengths(starts.size() - 1);
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = starts[i + 1] - starts[i];
  append_column(out, lengths);
  out += text;
}

std::string_view text_of(const std::string& text, const std::vector<uint64_t>& starts, uint64_t i) {
  return std::string_view(text).substr(starts[i], starts[i + 1] - starts[i]);
}

}  // namespace

/// Fills a ShardIndex from a section whose header is checked; one column after the other.
class ShardIndexDecoder {
 public:
  ShardIndexDecoder(const Header& header, ByteView columns, uint64_t object_bytes,
                    const Origin& origin)
      : header_(header), left_(columns), object_bytes_(object_bytes), origin_(origin) {}

  Result<ShardIndex> run() {
    HR_CHECK(frames());
    HR_CHECK(fields());
    HR_CHECK(members());
    HR_CHECK(sizes());
    HR_CHECK(header_.kind == Kind::kArchive ? places() : files());
    if (!take_texts(left_, header_.samples, 1, index_.key_start_, index_.keys_))
      return damaged("the keys do not fit", origin_);
    if (header_.has_checksums) HR_CHECK(checksums());
    if (header_.has_measures) HR_CHECK(measures());
    if (!left_.empty()) return damaged("bytes follow the last column", origin_);
    return std::move(index_);
  }

 private:
  Status frames() {
    if (header_.frames == 0) return Status::success();
    auto map = FrameMap::take_columns(left_, header_.frames, object_bytes_);
    if (!map) return damaged("the frames do not fit", origin_);
    object_bytes_ = map->decoded_size();  // what the other offsets are in
    index_.frames_ = std::make_shared<const FrameMap>(std::move(*map));
    return Status::success();
  }

  Status fields() {
    std::vector<uint64_t> starts;
    std::string names;
    if (!take_texts(left_, header_.fields, 0, starts, names))
      return damaged("the field names do not fit", origin_);
    std::unordered_set<std::string_view> seen;
    for (uint32_t i = 0; i < header_.fields; ++i) {
      const std::string_view name = text_of(names, starts, i);
      if (!seen.insert(name).second) return damaged("two fields have one name", origin_);
      index_.fields_.emplace_back(name);
    }
    return Status::success();
  }

  Status members() {
    const auto counts = Column64::take(left_, header_.samples);
    const auto fields = Column64::take(left_, header_.members);
    if (!counts || !fields) return damaged("the member columns do not fit", origin_);
    index_.member_start_.resize(header_.samples + size_t{1});
    index_.members_.resize(header_.members);
    per_field_.assign(header_.fields, 0);
    std::vector<uint32_t> seen_in(header_.fields, ~uint32_t{0});
    uint64_t m = 0;
    for (uint32_t s = 0; s < header_.samples; ++s) {
      index_.member_start_[s] = m;
      const uint64_t count = (*counts)[s];
      if (count > header_.members - m)
        return damaged("samples have more members than there are", origin_);
      for (uint64_t i = 0; i < count; ++i, ++m) {
        const uint64_t field = (*fields)[m] + i;
        if (field >= header_.fields) return damaged("a member has an unknown field", origin_);
        if (std::exchange(seen_in[field], s) == s)
          return damaged("a sample has one field twice", origin_);
        ++per_field_[field];
        index_.members_[m].field = static_cast<uint32_t>(field);
      }
    }
    index_.member_start_[header_.samples] = m;
    if (m != header_.members) return damaged("members belong to no sample", origin_);
    return Status::success();
  }

  Status sizes() {
    std::vector<Column64> columns;
    columns.reserve(header_.fields);
    for (uint32_t f = 0; f < header_.fields; ++f) {
      const auto column = Column64::take(left_, per_field_[f], 1);
      if (!column) return damaged("the sizes do not fit", origin_);
      columns.push_back(*column);
    }
    std::vector<uint64_t> next(header_.fields, 0);
    uint64_t total = 0;
    for (IndexMember& member : index_.members_) {
      member.size = columns[member.field][next[member.field]++];
      if (member.size >> 63 || (total += member.size) >> 63)
        return damaged("the sizes add up to more than 63 bits hold", origin_);
    }
    return Status::success();
  }

  Status places() {
    const auto before = Column64::take(left_, header_.members);
    const auto behind = Column64::take(left_, header_.samples);
    if (!before || !behind) return damaged("the offsets do not fit", origin_);
    if (header_.begin > object_bytes_) return outside();
    index_.sample_start_.resize(header_.samples + size_t{1});
    uint64_t floor = header_.begin;   // nothing may begin before it
    uint64_t cursor = header_.begin;  // where the block after the payload before begins
    uint64_t m = 0;
    for (uint32_t s = 0; s < header_.samples; ++s) {
      index_.sample_start_[s] = floor;
      for (; m < index_.member_start_[s + size_t{1}]; ++m) {
        IndexMember& member = index_.members_[m];
        member.object = 0;
        member.offset = cursor + (*before)[m];
        if (member.offset < floor) return damaged("members overlap", origin_);
        if (member.offset > object_bytes_ || member.size > object_bytes_ - member.offset)
          return outside();
        floor = member.offset + member.size;
        cursor = member.offset + tar_padded(member.size);
      }
      const uint64_t end = cursor + (*behind)[s];
      if (end < floor) return damaged("a sample ends inside its last member", origin_);
      if (end > object_bytes_) return outside();
      floor = cursor = end;
    }
    index_.sample_start_[header_.samples] = floor;
    return Status::success();
  }

  Status files() {
    if (!take_texts(left_, header_.members, 1, index_.object_start_, index_.objects_))
      return damaged("the paths do not fit", origin_);
    index_.sample_start_.assign(header_.samples + size_t{1}, 0);
    for (uint64_t m = 0; m < header_.members; ++m) {
      if (!is_safe_path(text_of(index_.objects_, index_.object_start_, m)))
        return damaged("the path of a file leads out of the data set", origin_);
      index_.members_[m].offset = 0;
      index_.members_[m].object = static_cast<uint32_t>(m);
    }
    return Status::success();
  }

  Status checksums() {
    const auto column = Column64::take(left_, header_.members, 1);
    if (!column) return damaged("the checksums do not fit", origin_);
    index_.checksums_.resize(header_.members);
    for (uint64_t m = 0; m < header_.members; ++m) {
      if ((*column)[m] >> 32) return damaged("a checksum has more than 32 bits", origin_);
      index_.checksums_[m] = static_cast<uint32_t>((*column)[m]);
    }
    return Status::success();
  }

  Status measures() {
    const auto units = Column64::take(left_, header_.fields);
    const auto values = Column64::take(left_, header_.members, 1);
    if (!units || !values) return damaged("the measures do not fit", origin_);
    for (uint32_t f = 0; f < header_.fields; ++f) {
      const auto unit = unit_of((*units)[f]);
      if (!unit) return damaged("a field is measured in an unknown unit", origin_);
      index_.units_.push_back(*unit);
    }
    index_.measures_.resize(header_.members);
    for (uint64_t m = 0; m < header_.members; ++m) index_.measures_[m] = (*values)[m];
    return Status::success();
  }

  Error outside() const {
    Error error = damaged(
        "it points behind the end of a shard of " + std::to_string(object_bytes_) + " bytes",
        origin_);
    error.hint = "The shard was cut off or is another one than the index was made for";
    return error;
  }

  const Header& header_;
  ByteView left_;
  uint64_t object_bytes_;
  const Origin& origin_;
  std::vector<uint64_t> per_field_;
  ShardIndex index_;
};

int ShardIndex::field_number(std::string_view name) const {
  const auto found = std::find(fields_.begin(), fields_.end(), name);
  return found == fields_.end() ? -1 : static_cast<int>(found - fields_.begin());
}

const IndexMember* ShardIndex::find(uint32_t sample, uint32_t field) const {
  for (const IndexMember& member : members(sample))
    if (member.field == field) return &member;
  return nullptr;
}

std::string_view ShardIndex::key(uint32_t sample) const {
  return text_of(keys_, key_start_, sample);
}

std::string_view ShardIndex::object(uint32_t number) const {
  return is_archive() ? std::string_view() : text_of(objects_, object_start_, number);
}

uint64_t ShardIndex::payload_bytes(uint32_t sample) const {
  uint64_t bytes = 0;
  for (const IndexMember& member : members(sample)) bytes += member.size;
  return bytes;
}

uint64_t ShardIndex::object_bytes(uint32_t number) const {
  const auto member = std::ranges::lower_bound(members_, number, {}, &IndexMember::object);
  return member == members_.end() || member->object != number ? 0 : member->size;
}

ShardIndex ShardIndex::select(const std::vector<bool>& kept) const {
  ShardIndex out;
  out.fields_ = fields_;
  out.object_start_ = object_start_;
  out.objects_ = objects_;
  out.frames_ = frames_;
  out.units_ = units_;
  out.sample_start_.clear();
  for (uint32_t i = 0; i < size(); ++i) {
    if (!kept[i]) continue;
    const auto own = members(i);
    out.members_.insert(out.members_.end(), own.begin(), own.end());
    for (const IndexMember& member : own) {
      if (has_checksums()) out.checksums_.push_back(checksum(member));
      if (!units_.empty()) out.measures_.push_back(measure(member).value);
    }
    out.member_start_.push_back(out.members_.size());
    out.keys_ += key(i);
    out.key_start_.push_back(out.keys_.size());
    out.sample_start_.push_back(sample_begin(i));
    out.sample_end_.push_back(sample_end(i));
  }
  out.sample_start_.push_back(sample_start_.back());
  return out;
}

Result<ShardIndex> ShardIndex::decode(ByteView section, uint64_t object_bytes,
                                      const Origin& origin) {
  HR_TRY(const Header header, decode_header(section, origin));
  return ShardIndexDecoder(header, section.subspan(kHeaderBytes), object_bytes, origin).run();
}

void ShardIndexBuilder::add_sample(std::string_view key, uint64_t begin) {
  index_.sample_start_.back() = begin;
  index_.sample_start_.push_back(begin);
  index_.member_start_.push_back(index_.members_.size());
  index_.keys_ += key;
  index_.key_start_.push_back(index_.keys_.size());
}

void ShardIndexBuilder::add_member(std::string_view field, uint64_t offset, uint64_t size) {
  index_.members_.push_back({offset, size, field_number(field), 0});
  ++index_.member_start_.back();
}

void ShardIndexBuilder::add_file(std::string_view field, std::string_view path, uint64_t size) {
  const auto object = static_cast<uint32_t>(index_.object_start_.size() - 1);
  index_.objects_ += path;
  index_.object_start_.push_back(index_.objects_.size());
  index_.members_.push_back({0, size, field_number(field), object});
  ++index_.member_start_.back();
}

void ShardIndexBuilder::set_checksum(uint32_t checksum) {
  index_.checksums_.resize(index_.members_.size());
  index_.checksums_.back() = checksum;
}

void ShardIndexBuilder::set_measure(Measure measure) {
  const uint32_t field = index_.members_.back().field;
  if (measured_.size() <= field) measured_.resize(field + size_t{1});
  Measured& known = measured_[field];
  known.mixed = known.mixed || (known.count > 0 && known.unit != measure.unit);
  known.unit = measure.unit;
  ++known.count;
  index_.measures_.resize(index_.members_.size());
  index_.measures_.back() = measure.value;
}

Unit ShardIndexBuilder::unit(uint32_t field) const {
  if (field >= measured_.size()) return Unit::kNone;
  const Measured& known = measured_[field];
  return known.mixed || known.count != field_counts_[field] ? Unit::kNone : known.unit;
}

void ShardIndexBuilder::end_sample(uint64_t end) { index_.sample_start_.back() = end; }

void ShardIndexBuilder::set_frames(FrameMap frames) {
  if (!frames.empty()) index_.frames_ = std::make_shared<const FrameMap>(std::move(frames));
}

ShardIndex ShardIndexBuilder::take() {
  if (!measured_.empty()) {
    for (uint32_t f = 0; f < index_.fields_.size(); ++f) index_.units_.push_back(unit(f));
    index_.measures_.resize(index_.members_.size());
  }
  ShardIndexBuilder whole;
  std::swap(*this, whole);
  return std::move(whole.index_);
}

uint32_t ShardIndexBuilder::field_number(std::string_view name) {
  const auto count = static_cast<uint32_t>(index_.fields_.size());
  uint32_t number = next_field_ < count ? next_field_ : 0;
  if (number >= count || index_.fields_[number] != name) {
    const auto [found, is_new] = field_numbers_.try_emplace(std::string(name), count);
    if (is_new) index_.fields_.emplace_back(name);
    number = found->second;
  }
  next_field_ = number + 1;
  if (field_counts_.size() <= number) field_counts_.resize(number + size_t{1});
  ++field_counts_[number];
  return number;
}

std::string ShardIndexBuilder::encode() const {
  const uint32_t samples = size();
  const uint64_t members = index_.members_.size();
  const bool archive = index_.is_archive();

  std::vector<uint64_t> counts(samples);
  std::vector<uint64_t> fields(members);
  std::vector<uint64_t> before(members);
  std::vector<uint64_t> behind(samples);
  std::vector<std::vector<uint64_t>> sizes(index_.fields_.size());
  uint64_t cursor = index_.sample_start_[0];
  for (uint32_t s = 0; s < samples; ++s) {
    const auto of_sample = index_.members(s);
    counts[s] = of_sample.size();
    for (size_t i = 0; i < of_sample.size(); ++i) {
      const IndexMember& member = of_sample[i];
      const size_t m = index_.member_start_[s] + i;
      fields[m] = member.field - i;
      sizes[member.field].push_back(member.size);
      before[m] = member.offset - cursor;
      cursor = member.offset + tar_padded(member.size);
    }
    behind[s] = index_.sample_end(s) - cursor;
    cursor = index_.sample_end(s);
  }

  std::vector<uint64_t> checksums(index_.checksums_.begin(), index_.checksums_.end());
  if (!checksums.empty()) checksums.resize(members);
  std::vector<uint64_t> units;
  for (uint32_t f = 0; f < index_.fields_.size(); ++f)
    units.push_back(static_cast<uint64_t>(unit(f)));
  const bool measured = std::ranges::any_of(units, [](uint64_t unit) { return unit != 0; });
  std::vector<uint64_t> measures(measured ? members : 0);
  for (size_t m = 0; m < std::min(measures.size(), index_.measures_.size()); ++m)
    if (units[index_.members_[m].field] != 0) measures[m] = index_.measures_[m];

  auto kind = static_cast<uint32_t>(archive ? Kind::kArchive : Kind::kFiles);
  if (!checksums.empty()) kind |= kHasChecksums;
  if (measured) kind |= kHasMeasures;

  std::string body;
  append_le(body, kind);
  append_le(body, static_cast<uint32_t>(index_.fields_.size()));
  append_le(body, samples);
  append_le(body, index_.frames_ ? static_cast<uint32_t>(index_.frames_->frames().size()) : 0);
  append_le(body, members);
  append_le(body, index_.sample_start_[0]);
  if (index_.frames_) index_.frames_->append_columns(body);

  std::vector<uint64_t> name_starts{0};
  std::string names;
  for (const std::string& name : index_.fields_) {
    names += name;
    name_starts.push_back(names.size());
  }
  append_texts(body, name_starts, names);
  append_column(body, counts);
  append_column(body, fields);
  for (const auto& column : sizes) append_column(body, column, 1);
  if (archive) {
    append_column(body, before);
    append_column(body, behind);
  } else {
    append_texts(body, index_.object_start_, index_.objects_);
  }
  append_texts(body, index_.key_start_, index_.keys_);
  if (!checksums.empty()) append_column(body, checksums, 1);
  if (measured) {
    append_column(body, units);
    append_column(body, measures, 1);
  }

  std::string section(kMagic);
  append_le(section, kVersion);
  append_le(section, xxh3(as_bytes(body)));
  return section += body;
}

uint64_t key_hash(std::string_view key) { return xxh3(as_bytes(key)); }

}  // namespace headrace
