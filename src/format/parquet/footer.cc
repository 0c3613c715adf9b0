#include "format/parquet/footer.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/little_endian.h"
#include "base/try.h"
#include "format/frame_map.h"

namespace headrace::parquet {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr std::string_view kEncryptedMagic = "PARE";
constexpr uint64_t kTailBytes = 8;  // the footer's length, and the magic
constexpr uint64_t kLargestFooter = uint64_t{64} << 20;

Error wrong(std::string what, uint64_t offset) {
  return {.code = Code::kCorrupt,
          .message = std::move(what),
          .origin = {.offset = offset},
          .hint = "Copy it again from where it came from."};
}

Error unsupported(std::string what, uint64_t offset) {
  return {.code = Code::kUsage,
          .message = std::move(what),
          .origin = {.offset = offset},
          .hint = "Write it again with another program, for example with pyarrow."};
}

/// What a row group says of a column, before it is checked.
struct Metadata {
  bool here = false;
  int64_t physical = -1;
  int64_t codec = -1;
  int64_t entries = -1;
  int64_t bytes = -1;
  int64_t data_offset = -1;
  int64_t dictionary_offset = -1;
  bool encrypted = false;
  bool elsewhere = false;  // in another file
};

struct Group {
  std::vector<Metadata> columns;
  int64_t rows = -1;
};

void read_metadata(ThriftReader& reader, Metadata& out) {
  out.here = true;
  reader.fields([&](int16_t id, Thrift type) {
    switch (id) {
      case 1:
        out.physical = reader.integer(type);
        return true;
      case 4:
        out.codec = reader.integer(type);
        return true;
      case 5:
        out.entries = reader.integer(type);
        return true;
      case 7:
        out.bytes = reader.integer(type);
        return true;
      case 9:
        out.data_offset = reader.integer(type);
        return true;
      case 11:
        out.dictionary_offset = reader.integer(type);
        return true;
      default:
        return false;
    }
  });
}

Metadata read_column(ThriftReader& reader) {
  Metadata out;
  reader.fields([&](int16_t id, Thrift type) {
    if (id == 1) out.elsewhere = true;
    if (id == 8) out.encrypted = true;
    if (id != 3 || type != Thrift::kStruct) return false;
    read_metadata(reader, out);
    return true;
  });
  return out;
}

Group read_group(ThriftReader& reader) {
  Group group;
  reader.fields([&](int16_t id, Thrift type) {
    if (id == 1) {
      reader.elements(type, Thrift::kStruct, [&] { group.columns.push_back(read_column(reader)); });
    } else if (id == 3) {
      group.rows = reader.integer(type);
    } else {
      return false;
    }
    return true;
  });
  return group;
}

/// Turns what the footer says into places that can be read.
class Checker {
 public:
  Checker(uint64_t end, Footer& out) : end_(end), out_(out) {}

  Status add(const Group& group) {
    if (group.rows < 0 || group.columns.size() != out_.schema.leaves.size())
      return wrong("the footer is damaged: a row group contradicts the schema", end_);
    if (group.rows == 0) return {};
    RowGroup made{.rows = static_cast<uint64_t>(group.rows), .begin = end_, .end = 0, .chunks = {}};
    if (made.rows > kMostEntries) return too_large(Origin::kNoOffset);
    made.chunks.reserve(group.columns.size());
    for (size_t leaf = 0; leaf < group.columns.size(); ++leaf)
      HR_CHECK(add_chunk(group.columns[leaf], out_.schema.leaves[leaf], made));
    if (made.chunks.empty()) made.begin = made.end = before_;
    if (made.begin < before_)
      return wrong("the footer is damaged: row groups overlap, or are out of order", made.begin);
    uint64_t entries = made.rows;
    for (const Chunk& chunk : made.chunks) {
      if (chunk.entries > kMostEntries - entries) return too_large(made.begin);
      entries += chunk.entries;
    }
    if (made.end - made.begin > kLargestFrame) return too_large(made.begin);
    before_ = made.end;
    out_.groups.push_back(std::move(made));
    return {};
  }

 private:
  Status add_chunk(const Metadata& from, const Leaf& leaf, RowGroup& group) const {
    if (from.encrypted)
      return unsupported("a column of the Parquet file is encrypted", Origin::kNoOffset);
    if (from.elsewhere)
      return unsupported("the columns of the Parquet file lie in other files", Origin::kNoOffset);
    if (!from.here || from.physical != static_cast<int64_t>(leaf.type.physical))
      return wrong("the footer is damaged: a column contradicts the schema", end_);
    // Some writers say 0 where there is no dictionary.
    const bool has_dictionary =
        from.dictionary_offset > 0 && from.dictionary_offset < from.data_offset;
    const int64_t offset = has_dictionary ? from.dictionary_offset : from.data_offset;
    const auto end = static_cast<int64_t>(end_);
    if (offset < static_cast<int64_t>(kMagic.size()) || offset > end || from.bytes < 0 ||
        from.bytes > end - offset || from.entries < 0)
      return wrong("the footer is damaged: a column lies outside of the file", end_);
    HR_TRY(const Codec codec, codec_of(from.codec, static_cast<uint64_t>(offset)));
    const Chunk chunk{.offset = static_cast<uint64_t>(offset),
                      .bytes = static_cast<uint64_t>(from.bytes),
                      .entries = static_cast<uint64_t>(from.entries),
                      .codec = codec};
    group.begin = std::min(group.begin, chunk.offset);
    group.end = std::max(group.end, chunk.offset + chunk.bytes);
    group.chunks.push_back(chunk);
    return {};
  }

  static Result<Codec> codec_of(int64_t number, uint64_t offset) {
    constexpr std::array kKnown = {Codec::kNone,   Codec::kSnappy, Codec::kGzip,
                                   Codec::kBrotli, Codec::kZstd,   Codec::kLz4Raw};
    for (const Codec codec : kKnown)
      if (number == static_cast<int64_t>(codec)) return codec;
    return unsupported(
        number == 5 ? std::string("the Parquet file is compressed by the old LZ4 of Hadoop, whose "
                                  "framing is not defined (LZ4_RAW is read)")
                    : "the Parquet file is compressed by codec " + std::to_string(number) +
                          ", which is not read",
        offset);
  }

  const uint64_t end_;  // of what is not the footer
  uint64_t before_ = kMagic.size();
  Footer& out_;
};

Status take_schema(ThriftReader& reader, Thrift type, Schema& out) {
  HR_TRY(out, read_schema(reader, type));
  return {};
}

Result<Footer> parse(ByteView bytes, uint64_t begin) {
  ThriftReader reader(bytes);
  Footer footer;
  std::vector<Group> groups;
  Status schema = wrong("the footer is damaged: it has no schema", begin);
  bool encrypted = false;
  reader.fields([&](int16_t id, Thrift type) {
    if (id == 2) {
      schema = take_schema(reader, type, footer.schema);
    } else if (id == 4) {
      reader.elements(type, Thrift::kStruct, [&] { groups.push_back(read_group(reader)); });
    } else {
      encrypted |= id == 8;
      return false;
    }
    return true;
  });
  if (!schema.ok()) return std::move(schema).error().at({.offset = begin});
  if (!reader.ok()) return wrong("the footer is damaged: it cannot be read", begin + reader.used());
  if (encrypted) return unsupported("columns of the Parquet file are encrypted", begin);
  Checker checker(begin, footer);
  for (const Group& group : groups) HR_CHECK(checker.add(group));
  return footer;
}

}  // namespace

Error too_large(uint64_t offset) {
  return {
      .code = Code::kUsage,
      .message = "a row group is larger than what is read at once: 128 MiB, or 64 million values",
      .origin = {.offset = offset},
      .hint =
          "Write the file again with smaller row groups, for example with pyarrow's "
          "row_group_size."};
}

Result<Footer> read_footer(uint64_t object_size, const ReadAt& read) {
  constexpr uint64_t kAhead = uint64_t{64} << 10;  // most footers come with the first read
  if (object_size < kMagic.size() + kTailBytes)
    return wrong("this is no Parquet file: it is too short", 0);
  std::vector<std::byte> bytes(std::min(object_size, kAhead));
  HR_CHECK(read(object_size - bytes.size(), bytes));
  const ByteView tail = ByteView(bytes).last(kTailBytes);
  if (as_text(tail.last(kMagic.size())) == kEncryptedMagic)
    return unsupported("the Parquet file is encrypted", object_size - kMagic.size());
  if (as_text(tail.last(kMagic.size())) != kMagic)
    return wrong("this is no Parquet file, or it was cut off: it does not end in PAR1",
                 object_size - kMagic.size());
  const uint64_t size = load_le<uint32_t>(tail.data());
  if (size > object_size - kTailBytes - kMagic.size())
    return wrong("the footer is longer than the file", object_size - kTailBytes);
  if (size > kLargestFooter)
    return unsupported("the footer has more than 64 MiB", object_size - kTailBytes);
  const uint64_t begin = object_size - kTailBytes - size;
  if (size + kTailBytes > bytes.size()) {
    bytes.resize(size + kTailBytes);
    HR_CHECK(read(begin, bytes));
  }
  return parse(ByteView(bytes).last(size + kTailBytes).first(size), begin);
}

}  // namespace headrace::parquet
