#include "format/parquet/index_parquet.h"

#include "base/try.h"
#include "format/frame_codec.h"
#include "format/parquet/rows.h"

namespace headrace {
namespace {

std::string key_of(std::string_view stem, uint64_t row) {
  constexpr size_t kDigits = 8;  // names sort as numbers do
  const std::string digits = std::to_string(row);
  std::string key(stem);
  key += '/';
  key.append(kDigits - std::min(kDigits, digits.size()), '0');
  return key += digits;
}

class Indexer {
 public:
  Indexer(std::string_view stem, const ReadAt& read) : stem_(stem), read_(read) {}

  Result<IndexedArchive> run(uint64_t object_size) {
    HR_TRY(const parquet::Footer footer, parquet::read_footer(object_size, read_));
    for (const parquet::RowGroup& group : footer.groups) HR_CHECK(add(footer.schema, group));
    out_.end.ending = TarEnding::kTwoBlocks;
    out_.builder.set_frames(std::move(frames_));
    return std::move(out_);
  }

 private:
  Status add(const parquet::Schema& schema, const parquet::RowGroup& group) {
    encoded_.resize(group.end - group.begin);
    HR_CHECK(read_(group.begin, as_writable_bytes(encoded_)));
    HR_TRY(const auto rows, parquet::Rows::decode(schema, group, as_bytes(encoded_)));
    const uint64_t begin = frames_.decoded_size();
    uint64_t end = begin;
    uint32_t crc32 = 0;
    for (uint64_t row = 0; row < rows.size(); ++row) {
      if (out_.builder.size() == ~uint32_t{0})
        return Error{.code = Code::kUsage, .message = "more than 4294967295 rows in one file"};
      out_.builder.add_sample(key_of(stem_, out_.builder.size()), end);
      rows.fields(row, [&](std::string_view field, std::string_view value) {
        out_.builder.add_member(field, end, value.size());
        crc32 = crc32_of(as_bytes(value), crc32);
        end += value.size();
        ++out_.members;
      });
      out_.builder.end_sample(end);
    }
    if (end == begin) return {};
    frames_.add({.encoded_offset = group.begin,
                 .encoded_size = encoded_.size(),
                 .decoded_size = end - begin,
                 .crc32 = crc32,
                 .encoding = Encoding::kRowGroup});
    return {};
  }

  const std::string_view stem_;
  const ReadAt& read_;
  IndexedArchive out_;
  FrameMap frames_;
  std::string encoded_;
};

}  // namespace

Result<IndexedArchive> index_parquet(const std::string& shard, std::string_view stem,
                                     uint64_t object_size, const ReadAt& read) {
  auto indexed = Indexer(stem, read).run(object_size);
  if (!indexed.ok()) return std::move(indexed).error().at({.shard = shard});
  return indexed;
}

}  // namespace headrace
