// Frames: packed and unpacked, found by a scan, kept in an index section; and what damage does.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/little_endian.h"
#include "format/frame_codec.h"
#include "format/frame_map.h"
#include "format/frame_scan.h"

namespace headrace {
namespace {

constexpr Encoding kStreams[] = {Encoding::kGzip, Encoding::kLz4, Encoding::kZstd};

/// Half of it noise, half of it repeated.
std::string some_bytes(size_t size, uint64_t seed) {
  std::string out(size, 'a');
  uint64_t state = seed + 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    if (i / 64 % 2 == 0) out[i] = static_cast<char>(state >> 56);
  }
  return out;
}

ReadAt reader_of(const std::string& object) {
  return [&object](uint64_t offset, MutableBytes into) -> Status {
    if (offset > object.size() || into.size() > object.size() - offset)
      return Error{.code = Code::kCorrupt, .message = "behind the end"};
    std::memcpy(into.data(), object.data() + offset, into.size());
    return {};
  };
}

Result<FrameMap> scan(Encoding encoding, const std::string& object) {
  return scan_frames(encoding, object.size(), reader_of(object));
}

/// All frames decoded; an error of the first that is damaged.
Result<std::string> decode_all(const FrameMap& map, const std::string& object) {
  std::string out(map.decoded_size(), '\0');
  for (const Frame& frame : map.frames()) {
    const ByteView encoded = as_bytes(object).subspan(frame.encoded_offset, frame.encoded_size);
    const Status status = decode_frame(
        frame, encoded, as_writable_bytes(out).subspan(frame.decoded_offset, frame.decoded_size));
    if (!status.ok()) return status.error();
  }
  return out;
}

TEST(Frames, OfEveryEncodingGiveBackTheirBytes) {
  for (const Encoding encoding : {Encoding::kDeflate, Encoding::kDeflatePart, Encoding::kGzip,
                                  Encoding::kLz4, Encoding::kZstd})
    for (const size_t size : {1U, 100U, 70'000U, 5'000'000U}) {
      const std::string bytes = some_bytes(size, size);
      const std::string packed = encode_frame(encoding, as_bytes(bytes));
      EXPECT_EQ(packed, encode_frame(encoding, as_bytes(bytes)));
      FrameMap map;
      map.add({.encoded_size = packed.size(), .decoded_size = size, .encoding = encoding});
      const auto back = decode_all(map, packed);
      ASSERT_TRUE(back.ok()) << back.error().to_string();
      EXPECT_EQ(*back, bytes);
    }
}

TEST(Frames, AreFoundByAScan) {
  for (const Encoding encoding : kStreams) {
    std::string plain, object;
    std::vector<uint64_t> starts;
    for (const size_t size : {1U, 300'000U, 40U, 2'000'000U}) {
      const std::string bytes = some_bytes(size, size);
      starts.push_back(plain.size());
      plain += bytes;
      object += encode_frame(encoding, as_bytes(bytes));
    }
    const auto map = scan(encoding, object);
    ASSERT_TRUE(map.ok()) << map.error().to_string();
    ASSERT_EQ(map->frames().size(), 4U);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(map->frames()[i].decoded_offset, starts[i]);
    EXPECT_EQ(map->at(0), 0U);
    EXPECT_EQ(map->at(1), 1U);
    EXPECT_EQ(map->at(plain.size() - 1), 3U);
    EXPECT_EQ(*decode_all(*map, object), plain);
  }
}

TEST(Frames, OfLz4AreCutAtTheirBlocksWhereTheyAreLarge) {
  const std::string plain = some_bytes(kWholeLz4Frame + 3'000'000, 1);
  const std::string object = encode_frame(Encoding::kLz4, as_bytes(plain));
  const auto map = scan(Encoding::kLz4, object);
  ASSERT_TRUE(map.ok()) << map.error().to_string();
  EXPECT_EQ(map->frames().size(), 3U);
  EXPECT_EQ(map->frames()[0].encoding, Encoding::kLz4Block);
  EXPECT_EQ(*decode_all(*map, object), plain);
}

TEST(Frames, ThatAreTooLargeToBeReadAtRandomAreRefused) {
  const std::string plain(kLargestFrame + 1, 'x');
  for (const Encoding encoding : {Encoding::kGzip, Encoding::kZstd}) {
    const auto map = scan(encoding, encode_frame(encoding, as_bytes(plain)));
    ASSERT_FALSE(map.ok());
    EXPECT_EQ(map.error().code, Code::kUsage);
    EXPECT_NE(map.error().message.find("can only be read from front to back"), std::string::npos);
  }
}

TEST(Frames, OfADamagedStreamAreRefusedOrEqualByteForByte) {
  for (const Encoding encoding : kStreams) {
    const std::string plain = some_bytes(3000, 7);
    const std::string whole = encode_frame(encoding, as_bytes(plain.substr(0, 2000))) +
                              encode_frame(encoding, as_bytes(plain.substr(2000)));
    size_t refused = 0;
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
      const auto map = scan(encoding, flipped);
      // Bits that mean nothing (gzip's time, its system) may change.
      if (map.ok()) {
        EXPECT_EQ(*decode_all(*map, flipped), plain) << at;
      } else {
        ++refused;
      }
      const auto cut = scan(encoding, whole.substr(0, at));
      EXPECT_TRUE(!cut.ok() || cut->decoded_size() == 2000U) << at;  // between the frames
    }
    EXPECT_GT(refused, whole.size() - 20);
  }
}

TEST(Frames, ThatAreDamagedAreNoticedWhenTheyAreRead) {
  for (const Encoding encoding : kStreams) {
    const std::string plain = some_bytes(3000, 9);
    std::string object = encode_frame(encoding, as_bytes(plain));
    const auto map = scan(encoding, object);
    ASSERT_TRUE(map.ok());
    object[object.size() / 2] = static_cast<char>(object[object.size() / 2] ^ 1);
    const auto read = decode_all(*map, object);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, Code::kCorrupt);
  }
  FrameMap map;
  map.add({.encoded_size = 3, .decoded_size = 3, .crc32 = 1, .encoding = Encoding::kStored});
  const auto read = decode_all(map, "abc");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("CRC-32"), std::string::npos);
}

TEST(Frames, ClaimedTooLargeOrTooSmallAreNoticed) {
  const std::string plain = some_bytes(3000, 9);
  for (const Encoding encoding : {Encoding::kDeflate, Encoding::kDeflatePart, Encoding::kGzip,
                                  Encoding::kLz4, Encoding::kZstd})
    for (const uint64_t claimed : {1U, 2999U, 3001U, 100'000U}) {
      const std::string object = encode_frame(encoding, as_bytes(plain));
      FrameMap map;
      map.add({.encoded_size = object.size(), .decoded_size = claimed, .encoding = encoding});
      EXPECT_FALSE(decode_all(map, object).ok());
    }
}

struct Row {
  const char* name;
  std::function<void(Frame&)> change;
};

TEST(FrameMap, KeptInColumnsIsTheSame) {
  FrameMap map;
  map.add(
      {.encoded_offset = 10, .encoded_size = 5, .decoded_size = 9, .encoding = Encoding::kZstd});
  map.add({.encoded_offset = 30, .encoded_size = 4, .decoded_size = 4, .crc32 = 77});
  std::string columns;
  map.append_columns(columns);
  ByteView bytes = as_bytes(columns);
  const auto back = FrameMap::take_columns(bytes, 2, 34);
  ASSERT_TRUE(back);
  EXPECT_TRUE(bytes.empty());
  EXPECT_EQ(back->decoded_size(), 13U);
  EXPECT_EQ(back->frames()[1].encoded_offset, 30U);
  EXPECT_EQ(back->frames()[1].crc32, 77U);
  EXPECT_EQ(back->frames()[0].encoding, Encoding::kZstd);
}

TEST(FrameMap, ThatCannotBeIsRefused) {
  const Frame good{
      .encoded_offset = 10, .encoded_size = 5, .decoded_size = 9, .encoding = Encoding::kZstd};
  const Row rows[] = {
      {"behind the object", [](Frame& f) { f.encoded_offset = 30; }},
      {"longer than the object", [](Frame& f) { f.encoded_size = 25; }},
      {"empty", [](Frame& f) { f.decoded_size = 0; }},
      {"larger than frames are", [](Frame& f) { f.decoded_size = kLargestFrame + 1; }},
      {"stored in other sizes", [](Frame& f) { f.encoding = Encoding::kStored; }},
      {"of an unknown kind", [](Frame& f) { f.encoding = static_cast<Encoding>(8); }},
      {"before the one before", [](Frame& f) { f.encoded_offset = ~uint64_t{0}; }},
  };
  const auto take = [](const Frame& frame) {
    FrameMap map;
    map.add(frame);
    std::string columns;
    map.append_columns(columns);
    ByteView bytes = as_bytes(columns);
    return FrameMap::take_columns(bytes, 1, 34).has_value();
  };
  EXPECT_TRUE(take(good));
  for (const Row& row : rows) {
    Frame bad = good;
    row.change(bad);
    EXPECT_FALSE(take(bad)) << row.name;
  }
}

TEST(Frames, OfDeflatePartsMakeOneGzipMember) {
  const std::string one = some_bytes(5000, 1), two = some_bytes(70'000, 2);
  const std::string object = gzip_begin() + encode_frame(Encoding::kDeflatePart, as_bytes(one)) +
                             encode_frame(Encoding::kDeflatePart, as_bytes(two)) +
                             gzip_end(crc32_of(as_bytes(one + two)), one.size() + two.size());
  const auto map = scan(Encoding::kGzip, object);
  ASSERT_TRUE(map.ok()) << map.error().to_string();
  EXPECT_EQ(map->frames().size(), 1U);
  EXPECT_EQ(*decode_all(*map, object), one + two);
}

TEST(Frames, OfZstdHaveASeekTableBehindThem) {
  FrameMap map;
  map.add({.encoded_size = 5, .decoded_size = 9, .encoding = Encoding::kZstd});
  map.add({.encoded_offset = 5, .encoded_size = 6, .decoded_size = 8, .encoding = Encoding::kZstd});
  const std::string table = zstd_seek_table(map);
  const auto word = [&](size_t at) { return load_le<uint32_t>(as_bytes(table).data() + at); };
  ASSERT_EQ(table.size(), 8U + 2 * 8 + 9);
  EXPECT_EQ(word(0), 0x184D2A5EU);
  EXPECT_EQ(word(4), 2U * 8 + 9);
  EXPECT_EQ(word(8), 5U);
  EXPECT_EQ(word(12), 9U);
  EXPECT_EQ(word(16), 6U);
  EXPECT_EQ(word(20), 8U);
  EXPECT_EQ(word(24), 2U);
  EXPECT_EQ(word(29), 0x8F92EAB1U);
}

}  // namespace
}  // namespace headrace
