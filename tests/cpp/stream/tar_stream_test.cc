// Archives as streams: what arrives in pieces of any size gives the members that a walk gives.
#include "stream/tar_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "format/tar_builder.h"

namespace headrace {
namespace {

/// Gives `bytes` in pieces of at most `piece`.
ReadSome in_pieces(const std::string& bytes, size_t piece) {
  return [&bytes, piece, at = size_t{0}](MutableBytes into) mutable -> Result<size_t> {
    const size_t count = std::min({piece, into.size(), bytes.size() - at});
    std::memcpy(into.data(), bytes.data() + at, count);
    at += count;
    return count;
  };
}

/// "name=data " of each member, and the error that ended them.
std::string read_all(const std::string& archive, size_t piece, bool lenient = false) {
  TarStream stream(in_pieces(archive, piece), lenient);
  std::string seen;
  for (;;) {
    const auto member = stream.next();
    if (!member.ok()) return seen + "! " + member.error().message;
    if (*member == nullptr) return seen;
    seen += std::string((*member)->name) + "=" + std::string(as_text((*member)->data)) + " ";
  }
}

std::string two_members() { return raw_member("a", "1") + raw_member("b", "22"); }

TEST(TarStream, GivesMembersWhateverThePiecesAre) {
  const std::string archive = two_members() + tar_end();
  for (const size_t piece : {1, 7, 511, 512, 513, 100000})
    EXPECT_EQ(read_all(archive, piece), "a=1 b=22 ");
}

TEST(TarStream, HoldsMembersLargerThanItsBuffer) {
  const std::string large(3'000'000, 'x');
  const std::string archive =
      raw_member("a", "1") + raw_member("l", large) + raw_member("b", "22") + tar_end();
  for (const size_t piece : {4096, 300'000, 10'000'000})
    EXPECT_EQ(read_all(archive, piece), "a=1 l=" + large + " b=22 ");
}

TEST(TarStream, StepsOverLongNamesAndOtherTypes) {
  const std::string name(300, 'n');
  const std::string archive =
      raw_member("././@LongLink", name + '\0', 'L') + raw_member("n", "x") + tar_end();
  EXPECT_EQ(read_all(archive, 100), name + "=x ");
}

TEST(TarStream, EndsAtTheFirstZeroBlock) {
  const std::string archive = two_members() + tar_end() + raw_member("c", "3") + tar_end();
  EXPECT_EQ(read_all(archive, 1000), "a=1 b=22 ");
}

TEST(TarStream, AnArchiveThatEndsEarlyIsAnErrorWhereverItWasCut) {
  const std::string archive = two_members() + tar_end();
  for (size_t cut = 1; cut < two_members().size() + 512; ++cut) {
    const std::string seen = read_all(archive.substr(0, cut), 4096);
    EXPECT_NE(seen.find("! unexpected end of data"), seen.npos) << cut << ": " << seen;
  }
  EXPECT_EQ(read_all("", 10), "! empty file");
}

TEST(TarStream, LenientlyACutBetweenMembersIsAnEnd) {
  EXPECT_EQ(read_all(two_members(), 99, true), "a=1 b=22 ");
  EXPECT_EQ(read_all(two_members().substr(0, 1024 + 100), 99, true), "a=1 ");
  EXPECT_NE(read_all(two_members().substr(0, 100), 99, true).find('!'), std::string::npos);
  EXPECT_NE(read_all(two_members().substr(0, 1024 + 513), 99, true).find('!'), std::string::npos);
}

TEST(TarStream, ASizeThatTheStreamDoesNotHoldTakesNoMemory) {
  std::string archive = raw_member("a", "1");
  set_field(archive, 0, kTarSize, "77777777777");  // 8 GiB
  EXPECT_EQ(read_all(archive, 4096), "! unexpected end of data: truncated inside the data");
}

TEST(TarStream, AnErrorOfTheSourceIsPassedOnAndEndsTheStream) {
  TarStream stream(
      [](MutableBytes) -> Result<size_t> {
        return Error{Code::kDenied, "no"};
      },
      false);
  EXPECT_EQ(stream.next().error().code, Code::kDenied);
  EXPECT_EQ(*stream.next(), nullptr);
}

}  // namespace
}  // namespace headrace
