// Parquet files that are damaged: cut at every byte and changed at every byte. What is read is the
// truth, or nothing is, and the error says where; a file whose pages have checksums and whose
// footer is whole never gives another value.
#include <gtest/gtest.h>

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

Result<IndexedArchive> index(const std::string& bytes) {
  return index_parquet("set.parquet", "set", bytes.size(), reader_of(bytes));
}

/// Keys, fields and values of all rows, or the error.
Result<std::string> contents(const std::string& bytes) {
  auto indexed = index(bytes);
  if (!indexed.ok()) return std::move(indexed).error();
  const auto footer = parquet::read_footer(bytes.size(), reader_of(bytes));
  if (!footer.ok()) return footer.error();
  std::string decoded;
  const ShardIndex rows = indexed->builder.take();
  if (rows.frames()) {
    decoded.resize(rows.frames()->decoded_size());
    for (const Frame& frame : rows.frames()->frames())
      HR_CHECK(parquet::decode_row_group(
          *footer, frame, as_bytes(bytes).subspan(frame.encoded_offset, frame.encoded_size),
          as_writable_bytes(decoded).subspan(frame.decoded_offset, frame.decoded_size)));
  }
  std::string text;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    text += std::string(rows.key(row)) + "\n";
    for (const IndexMember& member : rows.members(row))
      text += rows.fields()[member.field] + "=" + decoded.substr(member.offset, member.size) + "\n";
  }
  return text;
}

void expect_refusal(const Error& error, const std::string& what) {
  EXPECT_TRUE(error.code == Code::kCorrupt || error.code == Code::kUsage) << error.to_string();
  EXPECT_EQ(error.origin.shard, "set.parquet") << what;
  EXPECT_NE(error.message, "read outside of the object") << what;
}

TEST(DamagedParquet, CutAnywhereIsRefused) {
  const std::string whole = file("checked.parquet");
  ASSERT_TRUE(contents(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto read = contents(whole.substr(0, size));
    ASSERT_FALSE(read.ok()) << size;
    expect_refusal(read.error(), "cut at " + std::to_string(size));
    EXPECT_EQ(read.error().code, Code::kCorrupt) << size << read.error().to_string();
  }
}

TEST(DamagedParquet, ChangedPagesAreRefusedByTheirChecksums) {
  const std::string whole = file("checked.parquet");
  const auto truth = contents(whole);
  ASSERT_TRUE(truth.ok());
  const auto footer = parquet::read_footer(whole.size(), reader_of(whole));
  ASSERT_TRUE(footer.ok());
  const uint64_t end = footer->groups.back().end;
  uint64_t refused = 0;
  for (uint64_t at = footer->groups.front().begin; at < end; ++at)
    for (const char bit : {1, 16, static_cast<char>(-128)}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ bit);
      const auto read = contents(changed);
      if (read.ok()) {
        EXPECT_EQ(*read, *truth) << "at " << at;  // in statistics, which are not looked at
        continue;
      }
      ++refused;
      expect_refusal(read.error(), "changed at " + std::to_string(at));
      EXPECT_NE(read.error().origin.offset, Origin::kNoOffset) << read.error().to_string();
    }
  EXPECT_GT(refused, 2 * (end - footer->groups.front().begin));
}

TEST(DamagedParquet, AChangedFooterNeverCrashes) {
  for (const char* name : {"checked.parquet", "ok-nested-item.parquet"}) {
    const std::string whole = file(name);
    const auto footer = parquet::read_footer(whole.size(), reader_of(whole));
    ASSERT_TRUE(footer.ok());
    for (size_t at = footer->groups.back().end; at < whole.size(); ++at) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      const auto read = contents(changed);
      if (!read.ok()) expect_refusal(read.error(), "changed at " + std::to_string(at));
    }
  }
}

}  // namespace
}  // namespace headrace
