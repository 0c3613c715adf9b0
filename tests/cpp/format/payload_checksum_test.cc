#include "format/payload_checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(PayloadChecksum, IsTheSameInAnyPieces) {
  std::string payload(10'000, '\0');
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * 31 % 251);
  const std::string behind = payload + "what lies behind does not count";
  const uint32_t whole = payload_checksum(as_bytes(payload));
  EXPECT_EQ(whole, static_cast<uint32_t>(xxh3(as_bytes(payload))));
  PayloadChecksum checksum;
  for (const size_t piece : {1, 7, 512, 9'999, 10'000, 20'000}) {
    checksum.begin(payload.size());
    std::optional<uint32_t> got;
    for (size_t at = 0; at < behind.size(); at += piece) {
      const auto now =
          checksum.take(as_bytes(behind).subspan(at).first(std::min(piece, behind.size() - at)));
      EXPECT_FALSE(got && now) << "it comes once";
      if (now) got = now;
    }
    EXPECT_EQ(got, whole) << piece;
  }
}

TEST(PayloadChecksum, OfNothingIsThereAtOnceAndOfAForgottenOneNever) {
  PayloadChecksum checksum;
  EXPECT_FALSE(checksum.take(as_bytes("no payload is open")));
  checksum.begin(0);
  EXPECT_EQ(checksum.take({}), payload_checksum(ByteView()));
  checksum.begin(100);
  EXPECT_FALSE(checksum.take(as_bytes("a part")));
  checksum.begin(3);
  EXPECT_EQ(checksum.take(as_bytes("abc")), payload_checksum(as_bytes("abc")));
}

TEST(PayloadChecksum, ZeroStandsForUnknown) {
  EXPECT_EQ(payload_checksum(uint64_t{7} << 32), 1U);
  EXPECT_EQ(payload_checksum(uint64_t{7} << 32 | 5), 5U);
  EXPECT_FALSE(is_damaged(as_bytes("x"), kNoChecksum));
  EXPECT_FALSE(is_damaged(as_bytes("x"), payload_checksum(as_bytes("x"))));
  EXPECT_TRUE(is_damaged(as_bytes("x"), payload_checksum(as_bytes("y"))));
}

}  // namespace
}  // namespace headrace
