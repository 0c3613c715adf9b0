// Zip archives that lie: every number of the directory and of the local headers changed, one by
// one.
#include "format/zip_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/little_endian.h"
#include "format/frame_codec.h"
#include "format/index_archive.h"

namespace headrace {
namespace {

constexpr size_t kLocal = 30;
constexpr size_t kCentral = 46;

/// Two members: "a.txt" stored, "b.txt" deflated, as a plain writer has them.
struct Archive {
  Archive() {
    add("a.txt", 0, "hello", "hello");
    const std::string text(2000, 'b');
    add("b.txt", 8, text, encode_frame(Encoding::kDeflate, as_bytes(text)));
    directory = bytes.size();
    bytes += central;
    end = bytes.size();
    append_le(bytes, uint32_t{0x06054b50});
    bytes.append(4, '\0');
    append_le(bytes, uint16_t{2});
    append_le(bytes, uint16_t{2});
    append_le(bytes, static_cast<uint32_t>(central.size()));
    append_le(bytes, static_cast<uint32_t>(directory));
    append_le(bytes, uint16_t{0});
  }

  void add(const std::string& name, uint16_t method, const std::string& plain,
           const std::string& packed) {
    const auto begin = static_cast<uint32_t>(bytes.size());
    std::string common;
    append_le(common, uint16_t{20});
    append_le(common, uint16_t{0});
    append_le(common, method);
    append_le(common, uint32_t{0});
    append_le(common, crc32_of(as_bytes(plain)));
    append_le(common, static_cast<uint32_t>(packed.size()));
    append_le(common, static_cast<uint32_t>(plain.size()));
    append_le(common, static_cast<uint16_t>(name.size()));
    append_le(common, uint16_t{0});
    append_le(bytes, uint32_t{0x04034b50});
    bytes += common + name + packed;
    append_le(central, uint32_t{0x02014b50});
    append_le(central, uint16_t{20});
    central += common;
    central.append(10, '\0');
    append_le(central, begin);
    central += name;
  }

  std::string bytes, central;
  size_t directory = 0, end = 0;
};

Result<std::vector<ZipMember>> read(const std::string& bytes) {
  return read_zip_directory(bytes.size(), [&](uint64_t offset, MutableBytes into) -> Status {
    if (offset > bytes.size() || into.size() > bytes.size() - offset)
      return Error{.message = "read outside of the object"};
    std::ranges::copy(as_bytes(bytes).subspan(offset, into.size()), into.begin());
    return {};
  });
}

TEST(ZipDirectory, NamesMembersWhereTheyLie) {
  const Archive archive;
  const auto members = read(archive.bytes);
  ASSERT_TRUE(members.ok()) << members.error().to_string();
  ASSERT_EQ(members->size(), 2U);
  EXPECT_EQ((*members)[0].name, "a.txt");
  EXPECT_EQ((*members)[0].frame.encoded_offset, kLocal + 5);
  EXPECT_EQ((*members)[1].frame.decoded_size, 2000U);
}

TEST(ZipDirectory, MayHaveSomethingInFront) {
  const Archive archive;
  const auto members = read("#!/bin/sh\n" + archive.bytes);
  ASSERT_TRUE(members.ok()) << members.error().to_string();
  EXPECT_EQ((*members)[0].frame.encoded_offset, 10 + kLocal + 5);
}

struct Row {
  const char* name;
  size_t at;  // behind the directory's beginning
  uint64_t value;
  size_t bytes;
  const char* message;
};

TEST(ZipDirectory, ThatLiesIsRefusedWithTheReason) {
  const size_t second = kCentral + 5;
  const size_t end = 2 * (kCentral + 5);
  const Row rows[] = {
      {"encrypted", 8, 1, 2, "is encrypted"},
      {"masked", 8, 0x2000, 2, "is encrypted"},
      {"method", 10, 12, 2, "method 12,"},
      {"two sizes", 20, 4, 4, "two sizes"},
      {"a bomb", second + 24, 500'000'000, 4, "more bytes than deflate can make"},
      {"name too long", 28, 6, 2, "damaged"},
      {"comment too long", second + 32, 1, 2, "damaged"},
      {"extra without zip64", second + 24, 0xffffffff, 4, "zip64 sizes of a member are missing"},
      {"a second disk", 34, 1, 2, "split over several files"},
      {"overlap", second + 42, 0, 4, "own header is not where"},
      {"outside", second + 42, 0x7fffffff, 4, "outside of the archive"},
      {"into the directory", second + 20, 5000, 4, "outside of the archive"},
      {"magic", second, 0, 4, "damaged"},
      {"more entries", end + 8, 0x00030003, 4, "does not fit into the object"},
      {"another disk", end + 4, 1, 2, "split over several files"},
      {"a larger directory", end + 12, 0x7fffffff, 4, "does not fit into the object"},
      {"a directory behind itself", end + 16, 0x7fffffff, 4, "does not fit into the object"},
      {"a longer comment", end + 20, 1, 2, "no end of a zip directory"},
  };
  for (const Row& row : rows) {
    Archive archive;
    std::memcpy(&archive.bytes[archive.directory + row.at], &row.value, row.bytes);
    const auto members = read(archive.bytes);
    ASSERT_FALSE(members.ok()) << row.name;
    EXPECT_NE(members.error().message.find(row.message), std::string::npos)
        << row.name << ": " << members.error().to_string();
  }
}

TEST(ZipDirectory, OverlapsAreRefused) {
  Archive archive;
  // The first member's data reaches into the second one.
  const uint32_t size = 60;
  std::memcpy(&archive.bytes[archive.directory + 20], &size, 4);
  std::memcpy(&archive.bytes[archive.directory + 24], &size, 4);
  const auto members = read(archive.bytes);
  ASSERT_FALSE(members.ok());
  EXPECT_NE(members.error().message.find("overlaps"), std::string::npos);
}

TEST(ZipDirectory, NeverReadsOutsideWhateverIsDamaged) {
  const Archive archive;
  for (size_t at = 0; at < archive.bytes.size(); ++at) {
    for (const int bit : {0, 4, 7}) {
      std::string flipped = archive.bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      const auto members = read(flipped);
      EXPECT_TRUE(members.ok() || !members.error().message.starts_with("read outside")) << at;
    }
    EXPECT_FALSE(read(archive.bytes.substr(0, at)).ok()) << at;
  }
}

}  // namespace
}  // namespace headrace
