#include "format/shard_index.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/digest.h"
#include "base/little_endian.h"
#include "format/tar_fields.h"

namespace headrace {
namespace {

/// `samples` samples of a jpg and a cls as a plain tar archive has them.
ShardIndexBuilder archive_of(uint32_t samples) {
  ShardIndexBuilder builder;
  uint64_t at = 0;
  for (uint32_t i = 0; i < samples; ++i) {
    builder.add_sample("key" + std::to_string(100 + i), at);
    builder.add_member("jpg", at + 512, 1000 + i);
    at += 512 + tar_padded(1000 + i);
    builder.add_member("cls", at + 512, 1);
    at += 1024;
    builder.end_sample(at);
  }
  return builder;
}

void expect_equal(const ShardIndex& a, const ShardIndex& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.fields(), b.fields());
  ASSERT_EQ(a.is_archive(), b.is_archive());
  for (uint32_t s = 0; s < a.size(); ++s) {
    EXPECT_EQ(a.key(s), b.key(s));
    EXPECT_EQ(a.sample_begin(s), b.sample_begin(s));
    EXPECT_EQ(a.sample_end(s), b.sample_end(s));
    ASSERT_EQ(a.members(s).size(), b.members(s).size());
    for (size_t i = 0; i < a.members(s).size(); ++i) {
      const IndexMember& one = a.members(s)[i];
      const IndexMember& two = b.members(s)[i];
      EXPECT_EQ(one.offset, two.offset);
      EXPECT_EQ(one.size, two.size);
      EXPECT_EQ(one.field, two.field);
      EXPECT_EQ(a.object(one.object), b.object(two.object));
    }
  }
}

Result<ShardIndex> decode(const std::string& section, uint64_t object_bytes = ~uint64_t{0}) {
  return ShardIndex::decode(as_bytes(section), object_bytes, {"shard"});
}

/// Makes the section's own checksum right.
void seal(std::string& section) {
  const uint64_t sum = xxh3(as_bytes(section).subspan(16));
  std::memcpy(section.data() + 8, &sum, sizeof sum);
}

TEST(ShardIndex, OfAnArchiveIsTheSameAfterEncodingAndDecoding) {
  for (const uint32_t samples : {0U, 1U, 2U, 300U}) {
    const ShardIndexBuilder builder = archive_of(samples);
    const auto decoded = decode(builder.encode());
    ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
    expect_equal(builder.index(), *decoded);
    EXPECT_EQ(builder.encode(), archive_of(samples).encode());
  }
}

TEST(ShardIndex, OfMixedFieldsGapsAndSizesIsTheSameToo) {
  ShardIndexBuilder builder;
  builder.add_sample("a", 4096);
  builder.add_member("", 9000, 0);
  builder.add_member("txt", 9001, 100);
  builder.end_sample(9200);
  builder.add_sample("a", 10000);
  builder.end_sample(10000);
  builder.add_sample(std::string(300, 'k'), 10240);
  builder.add_member("txt", 20000, uint64_t{1} << 40);
  builder.add_member("bin\xff", (uint64_t{1} << 40) + 20000, 7);
  builder.end_sample((uint64_t{1} << 40) + 30000);
  EXPECT_EQ(builder.index().sample_end(0), 10000U) << "the gap counts to the sample before";
  EXPECT_EQ(builder.index().payload_bytes(0), 100U);
  const auto decoded = decode(builder.encode());
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
  expect_equal(builder.index(), *decoded);
}

TEST(ShardIndex, OfLooseFilesKeepsTheirPaths) {
  ShardIndexBuilder builder;
  builder.add_sample("d/a", 0);
  builder.add_file("jpg", "d/a.jpg", 5);
  builder.add_file("cls", "d/a.cls", 1);
  builder.end_sample(0);
  builder.add_sample("d/b", 0);
  builder.add_file("jpg", "d/b.jpg", 0);
  builder.end_sample(0);
  const auto decoded = decode(builder.encode());
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
  expect_equal(builder.index(), *decoded);
  EXPECT_FALSE(decoded->is_archive());
  EXPECT_EQ(decoded->object(decoded->members(1)[0].object), "d/b.jpg");
  EXPECT_EQ(decoded->members(1)[0].offset, 0U);
}

TEST(ShardIndex, WithAPathThatLeadsOutOfTheDataSetIsRefused) {
  for (const char* path : {"../a", "/etc/passwd", "a/../../b"}) {
    ShardIndexBuilder builder;
    builder.add_sample("a", 0);
    builder.add_file("jpg", path, 5);
    builder.end_sample(0);
    const auto decoded = decode(builder.encode());
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().message,
              "the shard index is damaged: the path of a file leads out of the data set");
  }
}

ShardIndexBuilder checksummed_archive() {
  ShardIndexBuilder builder;
  builder.add_sample("a", 0);
  builder.add_member("jpg", 512, 3);
  builder.set_checksum(0xfedcba98);
  builder.add_member("cls", 1536, 1);  // nobody took this one's
  builder.end_sample(2048);
  builder.add_sample("b", 2048);
  builder.add_member("jpg", 2560, 0);
  builder.set_checksum(7);
  builder.end_sample(2560);
  return builder;
}

TEST(ShardIndex, KeepsTheChecksumsOfPayloads) {
  const ShardIndexBuilder builder = checksummed_archive();
  const auto decoded = decode(builder.encode());
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
  expect_equal(builder.index(), *decoded);
  EXPECT_EQ(decoded->checksum(decoded->members(0)[0]), 0xfedcba98);
  EXPECT_EQ(decoded->checksum(decoded->members(0)[1]), kNoChecksum);
  EXPECT_EQ(decoded->checksum(decoded->members(1)[0]), 7U);
  const ShardIndex selected = decoded->select({false, true});
  EXPECT_EQ(selected.checksum(selected.members(0)[0]), 7U);

  const auto without = decode(archive_of(2).encode());
  EXPECT_FALSE(without->has_checksums());
  EXPECT_EQ(without->checksum(without->members(1)[1]), kNoChecksum);
}

/// Field jpg is measured, txt in one of its two samples, cls in two units.
ShardIndexBuilder measured_archive() {
  ShardIndexBuilder builder;
  for (uint64_t i = 0; i < 2; ++i) {
    const uint64_t begin = 3072 * i;
    builder.add_sample(i == 0 ? "a" : "b", begin);
    builder.add_member("jpg", begin + 512, 3);
    builder.set_measure({Unit::kPixels, 100 + i});
    builder.add_member("txt", begin + 1536, 1);
    if (i == 1) builder.set_measure({Unit::kTokens, 7});
    builder.add_member("cls", begin + 2560, 1);
    builder.set_measure({i == 0 ? Unit::kValue : Unit::kTokens, 5});
    builder.end_sample(begin + 3072);
  }
  return builder;
}

TEST(ShardIndex, KeepsTheMeasuresOfFieldsThatAreMeasuredAlike) {
  ShardIndexBuilder builder = measured_archive();
  const auto decoded = decode(builder.encode());
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
  expect_equal(builder.index(), *decoded);
  const ShardIndex selected = decoded->select({false, true});
  const ShardIndex taken = builder.take();
  for (const ShardIndex* index : {&*decoded, &taken}) {
    EXPECT_EQ(index->measure(index->members(0)[0]), (Measure{Unit::kPixels, 100}));
    EXPECT_EQ(index->measure(index->members(1)[0]), (Measure{Unit::kPixels, 101}));
    EXPECT_EQ(index->measure(index->members(1)[1]), Measure{}) << "not in all samples";
    EXPECT_EQ(index->measure(index->members(0)[2]), Measure{}) << "in two units";
  }
  EXPECT_EQ(selected.measure(selected.members(0)[0]), (Measure{Unit::kPixels, 101}));
  EXPECT_EQ(selected.measure(selected.members(0)[1]), Measure{});
  EXPECT_EQ(archive_of(2).index().unit(0), Unit::kNone);
}

TEST(ShardIndex, AnUnknownUnitAndMeasuresCutOrFlippedAreRefused) {
  const std::string section = measured_archive().encode();
  for (size_t cut = 0; cut < section.size(); ++cut)
    EXPECT_FALSE(decode(section.substr(0, cut)).ok());
  for (size_t bit = 0; bit < 8 * section.size(); ++bit) {
    std::string flipped = section;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode(flipped).ok()) << "bit " << bit;
  }
  std::string unknown = section;
  const size_t units = section.size() - (9 + 6) - (9 + 3);  // base, width, and a byte each
  ASSERT_EQ(section.substr(units, 12), std::string("\0\0\0\0\0\0\0\0\1\1\0\0", 12));
  unknown[units + 9] = 5;
  seal(unknown);
  EXPECT_EQ(decode(unknown).error().message,
            "the shard index is damaged: a field is measured in an unknown unit");
}

TEST(ShardIndex, TakesFewBytesWhereSamplesAreAlike) {
  ShardIndexBuilder builder;
  for (uint64_t i = 0; i < 10000; ++i) {
    char key[16];
    std::snprintf(key, sizeof key, "%08u", static_cast<unsigned>(i));
    builder.add_sample(key, i * 4096);
    builder.add_member("bin", i * 4096 + 512, 2048);
    builder.add_member("cls", i * 4096 + 3072, i % 3 + 1);
    builder.end_sample(i * 4096 + 4096);
  }
  EXPECT_LT(builder.encode().size(), 10000 * (8 + 2) + 300U) << "8 of the key, 1 of each size";
}

TEST(ShardIndex, ManyFieldsAreNumberedInTheOrderOfTheirComing) {
  ShardIndexBuilder builder;
  for (int s = 0; s < 2; ++s) {
    builder.add_sample("k", 0);
    for (int f = 0; f < 1000; ++f) builder.add_file("f" + std::to_string(s ? 999 - f : f), "p", 1);
    builder.end_sample(0);
  }
  EXPECT_EQ(builder.index().fields().size(), 1000U);
  EXPECT_EQ(builder.index().members(1)[0].field, 999U);
  EXPECT_TRUE(decode(builder.encode()).ok());
}

TEST(ShardIndex, BuilderIsEmptyAfterTake) {
  ShardIndexBuilder builder = archive_of(3);
  const ShardIndex index = builder.take();
  EXPECT_EQ(index.size(), 3U);
  EXPECT_EQ(builder.size(), 0U);
  builder.add_sample("x", 0);
  builder.add_member("jpg", 512, 1);
  builder.end_sample(1024);
  EXPECT_EQ(builder.index().members(0)[0].field, 0U);
}

TEST(ShardIndex, CutAtAnyByteOrFlippedInAnyBitIsRefused) {
  const std::string section = archive_of(2).encode();
  ASSERT_TRUE(decode(section).ok());
  for (size_t cut = 0; cut < section.size(); ++cut)
    EXPECT_FALSE(decode(section.substr(0, cut)).ok());
  for (size_t bit = 0; bit < 8 * section.size(); ++bit) {
    std::string flipped = section;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode(flipped).ok()) << "bit " << bit;
  }
}

TEST(ShardIndex, AChecksumOfMoreThan32BitsIsRefused) {
  std::string section = checksummed_archive().encode();
  const size_t column = section.size() - 9 - 3 * 4;  // base, width, three distances
  ASSERT_EQ(section[column + 8], 4);
  section[column + 5] = 1;
  seal(section);
  const auto decoded = decode(section);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().message,
            "the shard index is damaged: a checksum has more than 32 bits");
}

TEST(ShardIndex, WithChecksumsCutOrFlippedIsRefusedToo) {
  const std::string section = checksummed_archive().encode();
  for (size_t cut = 0; cut < section.size(); ++cut)
    EXPECT_FALSE(decode(section.substr(0, cut)).ok());
  for (size_t bit = 0; bit < 8 * section.size(); ++bit) {
    std::string flipped = section;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode(flipped).ok()) << "bit " << bit;
  }
}

// --- sections that lie, with a right checksum -------------------------------------------------

template <typename T>
std::function<void(std::string&)> put(size_t offset, T value) {
  return [=](std::string& section) { std::memcpy(section.data() + offset, &value, sizeof value); };
}

struct LieRow {
  const char* name;
  std::function<void(std::string&)> change;
  const char* error;
};

std::ostream& operator<<(std::ostream& out, const LieRow& row) { return out << row.name; }

class ShardIndexLie : public testing::TestWithParam<LieRow> {};

// The section of archive_of(2), 5120 bytes of archive (sample 0 and 1 have 2560 bytes each):
//   48 lengths of names (9) | 57 "jpgcls" | 63 members a sample (9) | 72 fields (9)
//   81 sizes of jpg (9 + 2) | 92 sizes of cls (9 + 2) | 103 before (9) | 112 behind (9)
//   121 key lengths (9) | 130 "key100key101"
TEST_P(ShardIndexLie, IsRefusedWithTheExactError) {
  std::string section = archive_of(2).encode();
  ASSERT_EQ(section.size(), 142U);
  ASSERT_TRUE(decode(section, 5120).ok());
  GetParam().change(section);
  seal(section);
  const auto decoded = decode(section, 5120);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().message, std::string("the shard index ") + GetParam().error);
  EXPECT_EQ(decoded.error().code, Code::kCorrupt);
  EXPECT_EQ(decoded.error().origin.shard, "shard");
}

const LieRow kLies[] = {
    {"Magic", put<char>(0, 'X'), "is damaged: it does not begin with HRIX"},
    {"Version", put<uint32_t>(4, 2), "has version 2, known is 1"},
    {"Kind", put<uint32_t>(16, 2), "is damaged: its kind is unknown"},
    {"KindOfFiles", put<uint32_t>(16, 1), "is damaged: the paths do not fit"},
    {"ChecksumsThatAreNotThere", put<uint32_t>(16, 1U << 16),
     "is damaged: the checksums do not fit"},
    {"MeasuresThatAreNotThere", put<uint32_t>(16, 1U << 17), "is damaged: the measures do not fit"},
    {"FlagOfNothing", put<uint32_t>(16, 1U << 18), "is damaged: its kind is unknown"},
    {"FramesThatAreNotThere", put<uint32_t>(28, 1), "is damaged: the frames do not fit"},
    {"FourBillionFields", put<uint32_t>(20, ~0U),
     "is damaged: it counts more than it has bytes for"},
    {"FourBillionSamples", put<uint32_t>(24, ~0U),
     "is damaged: it counts more than it has bytes for"},
    {"HugeMembers", put<uint64_t>(32, ~uint64_t{0} / 2),
     "is damaged: it counts more than it has bytes for"},
    {"OneSampleMore", put<uint32_t>(24, 3), "is damaged: samples have more members than there are"},
    {"OneSampleFewer", put<uint32_t>(24, 1), "is damaged: members belong to no sample"},
    {"OneMemberMore", put<uint64_t>(32, 5), "is damaged: members belong to no sample"},
    {"OneMemberFewer", put<uint64_t>(32, 3),
     "is damaged: samples have more members than there are"},
    {"OneFieldFewer", put<uint32_t>(20, 1), "is damaged: samples have more members than there are"},
    {"NameLengthsOfAllBytes", put<uint64_t>(48, ~uint64_t{0}),
     "is damaged: the field names do not fit"},
    {"TwoEqualNames", put<uint64_t>(48, 0), "is damaged: two fields have one name"},
    {"HugeMembersASample", put<uint64_t>(63, ~uint64_t{0}),
     "is damaged: samples have more members than there are"},
    {"UnknownField", put<uint64_t>(72, 1), "is damaged: a member has an unknown field"},
    {"FieldBelowZero", put<uint64_t>(72, ~uint64_t{0}),
     "is damaged: a member has an unknown field"},
    {"SizeWidthZero", put<char>(89, 0), "is damaged: the sizes do not fit"},
    {"SizeWidthThree", put<char>(89, 3), "is damaged: the sizes do not fit"},
    {"SizeWidthEight", put<char>(89, 8), "is damaged: the sizes do not fit"},
    {"SizeBelowZero", put<uint64_t>(81, ~uint64_t{0} - 8),
     "is damaged: the sizes add up to more than 63 bits hold"},
    {"SizesOverflow", put<uint64_t>(81, uint64_t{1} << 62),
     "is damaged: the sizes add up to more than 63 bits hold"},
    {"SizeBehindTheEnd", put<uint64_t>(81, 100000),
     "is damaged: it points behind the end of a shard of 5120 bytes"},
    {"BeginBehindTheEnd", put<uint64_t>(40, 6000),
     "is damaged: it points behind the end of a shard of 5120 bytes"},
    {"BeginOfAllBytes", put<uint64_t>(40, ~uint64_t{0}),
     "is damaged: it points behind the end of a shard of 5120 bytes"},
    {"LaterByOneBlock", put<uint64_t>(40, 512),
     "is damaged: it points behind the end of a shard of 5120 bytes"},
    {"OffsetBeforeTheBegin",
     [](std::string& section) {
       put<uint64_t>(40, 600)(section);
       put<uint64_t>(103, uint64_t{0} - 100)(section);
     },
     "is damaged: members overlap"},
    {"OffsetBelowZero", put<uint64_t>(103, ~uint64_t{0}),
     "is damaged: it points behind the end of a shard of 5120 bytes"},
    {"OffsetBehindTheEnd", put<uint64_t>(103, 5000),
     "is damaged: it points behind the end of a shard of 5120 bytes"},
    {"SampleEndsInItsMember", put<uint64_t>(112, ~uint64_t{0} - 511),
     "is damaged: a sample ends inside its last member"},
    {"EmptyKeys", put<uint64_t>(121, 0), "is damaged: the keys do not fit"},
    {"KeysTooShort", put<uint64_t>(121, 5), "is damaged: bytes follow the last column"},
    {"KeysTooLong", put<uint64_t>(121, 7), "is damaged: the keys do not fit"},
    {"BytesMore", [](std::string& section) { section += '!'; },
     "is damaged: bytes follow the last column"},
};

INSTANTIATE_TEST_SUITE_P(Row, ShardIndexLie, testing::ValuesIn(kLies),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ShardIndex, OfALargerArchiveThanThereIsSaysSo) {
  const auto decoded = decode(archive_of(2).encode(), 5119);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().to_string(),
            "the shard index is damaged: it points behind the end of a shard of 5119 bytes (shard "
            "shard). The shard was cut off or is another one than the index was made for");
}

TEST(ShardIndex, KeyHashIsXxh3OfTheKeysBytes) { EXPECT_EQ(key_hash("abc"), xxh3(as_bytes("abc"))); }

}  // namespace
}  // namespace headrace
