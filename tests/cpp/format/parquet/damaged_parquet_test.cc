// Parquet files that are damaged: cut at every byte and changed at every byte. What is read by an
// index of the undamaged file is the truth, or refused; an index of a damaged one never crashes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/try.h"
#include "format/parquet/index_parquet.h"
#include "format/parquet/rows.h"

namespace headrace {
namespace {

std::string file(const std::string& name) {
  std::ifstream in(std::string(TEST_DATA) + "/parquet/" + name, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

ReadAt reader_of(const std::string& bytes) {
  return [&bytes](uint64_t offset, MutableBytes into) -> Status {
    if (offset > bytes.size() || into.size() > bytes.size() - offset)
      return Error{.message = "read outside of the object"};
    std::ranges::copy(as_bytes(bytes).subspan(offset, into.size()), into.begin());
    return {};
  };
}

Result<IndexedArchive> index_of(const std::string& bytes) {
  return index_parquet("set.parquet", "set", bytes.size(), reader_of(bytes));
}

/// The values of all rows as the index of the undamaged file has them, or the error.
Result<std::string> values(const std::string& bytes, const ShardIndex& known) {
  const auto footer = parquet::read_footer(bytes.size(), reader_of(bytes));
  if (!footer.ok()) return footer.error();
  std::string decoded(known.frames()->decoded_size(), '\0');
  for (const Frame& frame : known.frames()->frames())
    HR_CHECK(parquet::decode_row_group(
        *footer, frame, as_bytes(bytes).subspan(frame.encoded_offset, frame.encoded_size),
        as_writable_bytes(decoded).subspan(frame.decoded_offset, frame.decoded_size)));
  return decoded;
}

struct Whole {
  explicit Whole(const std::string& name) : bytes(file(name)) {
    auto indexed = index_of(bytes);
    if (indexed.ok()) index = indexed->builder.take();
    if (index.frames()) truth = *values(bytes, index);
    pages_end = index.frames()->frames().back().encoded_end();
  }

  std::string bytes;
  ShardIndex index;
  std::string truth;
  uint64_t pages_end = 0;
};

void expect_refusal(const Error& error, const std::string& what) {
  EXPECT_TRUE(error.code == Code::kCorrupt || error.code == Code::kUsage) << error.to_string();
  EXPECT_NE(error.message, "read outside of the object") << what;
}

TEST(DamagedParquet, CutAnywhereIsRefused) {
  const Whole whole("checked.parquet");
  ASSERT_FALSE(whole.truth.empty());
  for (size_t size = 0; size < whole.bytes.size(); ++size) {
    const auto indexed = index_of(whole.bytes.substr(0, size));
    ASSERT_FALSE(indexed.ok()) << size;
    expect_refusal(indexed.error(), "cut at " + std::to_string(size));
    EXPECT_EQ(indexed.error().code, Code::kCorrupt) << size << indexed.error().to_string();
    EXPECT_EQ(indexed.error().origin.shard, "set.parquet");
    EXPECT_NE(indexed.error().origin.offset, Origin::kNoOffset) << indexed.error().to_string();
  }
}

TEST(DamagedParquet, ChangedAnywhereIsTheTruthOrRefused) {
  for (const char* name : {"checked.parquet", "ok-nested-item.parquet", "ok-codecs.parquet",
                           "ok-encodings-page1.parquet", "ok-encodings-page2.parquet"}) {
    const Whole whole(name);
    uint64_t refused = 0;
    for (uint64_t at = 0; at < whole.bytes.size(); ++at) {
      std::string changed = whole.bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      const auto read = values(changed, whole.index);
      if (read.ok()) {
        EXPECT_EQ(*read, whole.truth) << name << " at " << at;
      } else {
        expect_refusal(read.error(), name + std::to_string(at));
        ++refused;
      }
      const auto indexed = index_of(changed);
      if (!indexed.ok()) expect_refusal(indexed.error(), name + std::to_string(at));
    }
    EXPECT_GT(refused, whole.bytes.size() / 5) << name;
  }
}

TEST(DamagedParquet, ChangedPagesAreFoundByTheirChecksums) {
  const Whole whole("checked.parquet");
  uint64_t refused = 0;
  uint64_t all = 0;
  for (uint64_t at = 4; at < whole.pages_end; ++at, ++all) {
    std::string changed = whole.bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto indexed = index_of(changed);
    if (indexed.ok()) continue;  // in statistics, which are not looked at
    ++refused;
    EXPECT_NE(indexed.error().origin.offset, Origin::kNoOffset) << indexed.error().to_string();
  }
  EXPECT_GT(refused, all / 2);
}

}  // namespace
}  // namespace headrace
