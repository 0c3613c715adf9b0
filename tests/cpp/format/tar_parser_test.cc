#include "format/tar_parser.h"

#include <gtest/gtest.h>

#include <random>

#include "format/tar_builder.h"

namespace headrace {
namespace {

const std::string kCut = ". The object was cut off: copy or pack it again";
const std::string kDamaged = ". The object is damaged here or is no tar archive";

std::string at(size_t offset) { return " (at byte " + std::to_string(offset) + ")"; }
std::string at(const std::string& member, size_t offset) {
  return " (member " + member + ", at byte " + std::to_string(offset) + ")";
}

// --- every cut point -------------------------------------------------------------------------

//   0 hdr a.txt | 512 5 bytes | 1024 pax hdr | 1536 body | 2048 hdr | 2560 700 bytes | 3584 end |
//   4608
class TarCut : public testing::Test {
 protected:
  TarCut() : name_(300, 'b') {
    archive_ = raw_member("a.txt", "hello") + raw_member(name_, std::string(700, 'x'));
    EXPECT_EQ(archive_.size(), 3584U);
    archive_ += tar_end();
    const std::string_view length = std::string_view(archive_).substr(1536, 3);
    body_ = std::stoul(std::string(length));
  }

  std::string expected(size_t cut) const {
    const auto inside = [&](const char* what, size_t begin, size_t size) {
      return std::string("truncated inside ") + what + ": " + std::to_string(cut - begin) + " of " +
             std::to_string(size) + " bytes are there";
    };
    if (cut == 0 || cut == 1024 || cut == 3584 || cut == 4096 || cut == 4608) return "ok";
    if (cut < 512) return "truncated inside a header" + at(0) + kCut;
    if (cut < 517) return inside("the data", 512, 5) + at("a.txt", cut) + kCut;
    if (cut < 1024) return "truncated inside the padding behind the data" + at("a.txt", cut) + kCut;
    if (cut < 1536) return "truncated inside a header" + at(1024) + kCut;
    if (cut < 1536 + body_) return inside("a pax header", 1536, body_) + at(cut) + kCut;
    if (cut < 2048) return "truncated inside the padding behind a pax header" + at(cut) + kCut;
    if (cut == 2048) return "truncated behind an extended header" + at(2048) + kCut;
    if (cut < 2560) return "truncated inside a header" + at(2048) + kCut;
    if (cut < 3260) return inside("the data", 2560, 700) + at(name_, cut) + kCut;
    if (cut < 3584) return "truncated inside the padding behind the data" + at(name_, cut) + kCut;
    if (cut < 4096) return "truncated inside a header" + at(3584) + kCut;
    return "truncated inside a header" + at(4096) + kCut;
  }

  std::string name_;
  std::string archive_;
  size_t body_ = 0;
};

TEST_F(TarCut, AtEveryByteGivesTheExactErrorOrTheWholeMembersBefore) {
  for (size_t cut = 0; cut <= archive_.size(); ++cut)
    ASSERT_EQ(error_of(archive_.substr(0, cut)), expected(cut)) << "cut at " << cut;
}

TEST_F(TarCut, AtAMemberBoundaryEndsWithoutEndBlocksAndSaysSo) {
  const auto ending = [this](size_t cut) {
    return walk(archive_.substr(0, cut)).end.value().ending;
  };
  EXPECT_EQ(ending(1024), TarEnding::kNoBlock);
  EXPECT_EQ(ending(3584), TarEnding::kNoBlock);
  EXPECT_EQ(ending(4096), TarEnding::kOneBlock);
  EXPECT_EQ(ending(4608), TarEnding::kTwoBlocks);
  EXPECT_EQ(walk(archive_.substr(0, 1024)).members.size(), 1U);
}

// --- flipped bits ----------------------------------------------------------------------------

struct FieldRow {
  const char* name;
  size_t offset;
};

std::ostream& operator<<(std::ostream& out, const FieldRow& row) { return out << row.name; }

class TarFlippedField : public testing::TestWithParam<FieldRow> {};

TEST_P(TarFlippedField, IsABadChecksumWithBothSums) {
  std::string archive = raw_member("a.txt", "hello") + tar_end();
  const ByteView block = as_bytes(archive).first(kTarBlock);
  const uint32_t before = tar_checksum(block, tar_byte_sum(block));
  const auto byte = static_cast<unsigned char>(archive[GetParam().offset]);
  archive[GetParam().offset] = static_cast<char>(byte ^ 4);
  const uint32_t after = byte & 4 ? before - 4 : before + 4;
  EXPECT_EQ(error_of(archive), "bad header checksum: " + std::to_string(before) + " is stored, " +
                                   std::to_string(after) + " computed" + at(0) + kDamaged);
}

INSTANTIATE_TEST_SUITE_P(Header, TarFlippedField,
                         testing::Values(FieldRow{"name", 0}, FieldRow{"mode", 104},
                                         FieldRow{"uid", 110}, FieldRow{"gid", 118},
                                         FieldRow{"size", 134}, FieldRow{"mtime", 140},
                                         FieldRow{"typeflag", 156}, FieldRow{"linkname", 200},
                                         FieldRow{"magic", 257}, FieldRow{"version", 263},
                                         FieldRow{"uname", 270}, FieldRow{"gname", 300},
                                         FieldRow{"devmajor", 330}, FieldRow{"devminor", 340},
                                         FieldRow{"prefix", 345}, FieldRow{"padding", 511}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(TarParser, NoSingleFlippedBitOfAHeaderChangesWhatIsRead) {
  const std::string good = raw_member("a.txt", "hello") + tar_end();
  const TarMember member = walk(good).members.at(0);
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * kTarBlock; ++bit) {
    std::string archive = good;
    archive[bit / 8] = static_cast<char>(archive[bit / 8] ^ (1 << bit % 8));
    const Walked walked = walk(archive);
    if (!walked.end.ok()) {
      ++refused;
      ASSERT_EQ(walked.end.error().message.substr(0, 19), "bad header checksum");
      continue;
    }
    // Leading zeros and what follows the NUL in the checksum field may change and mean the same.
    ASSERT_GE(bit / 8, kTarChecksum.offset);
    ASSERT_LT(bit / 8, kTarChecksum.offset + kTarChecksum.size);
    ASSERT_EQ(walked.members.at(0).name, member.name);
    ASSERT_EQ(walked.members.at(0).size, member.size);
  }
  EXPECT_GE(refused, 8 * (kTarBlock - 8));
}

// --- hostile and odd archives ----------------------------------------------------------------

std::string with_size(std::string_view size, char type = '0') {
  std::string archive = raw_member("a.bin", "hello", type);
  set_field(archive, 0, kTarSize, size);
  return archive + tar_end();
}

std::string with_pax(std::string_view body, char type = 'x') {
  return raw_member("pax", body, type) + raw_member("a.bin", "hello") + tar_end();
}

std::string base256(uint64_t value, unsigned char first = 0x80) {
  std::string field(12, '\0');
  field[0] = static_cast<char>(first);
  for (size_t i = 11; i > 3; --i, value >>= 8) field[i] = static_cast<char>(value & 0xff);
  return field;
}

struct HostileRow {
  const char* name;
  std::string archive;
  std::string error;
};

std::ostream& operator<<(std::ostream& out, const HostileRow& row) { return out << row.name; }

class TarHostile : public testing::TestWithParam<HostileRow> {};

TEST_P(TarHostile, GivesTheExactError) {
  EXPECT_EQ(error_of(GetParam().archive), GetParam().error);
}

std::vector<HostileRow> hostile_rows() {
  const std::string size_error =
      "the size is not a number, or is negative or over 63 bits" + at("a.bin", 0);
  const std::string pax = "malformed pax header: ";
  const auto huge = [](const char* size) {
    return std::string("truncated inside the data: 1536 of ") + size + " bytes are there" +
           at("a.bin", 2048) + kCut;
  };
  const std::string sparse = "a sparse member: the bytes stored are not the file's bytes";
  const std::string again = ". Make the archive again without --sparse";
  std::string no_sum = raw_member("a.bin", "x");
  no_sum.replace(kTarChecksum.offset, 8, "garbage!");
  std::vector<HostileRow> rows = {
      {"SizeOfLetters", with_size("notanumber"), size_error},
      {"SizeWithADigitTooLarge", with_size("00000000008"), size_error},
      {"SizeWithAMinus", with_size("-0000000005"), size_error},
      {"SizeNegativeInBase256", with_size(base256(~uint64_t{0} - 4, 0xff)), size_error},
      {"SizeOver63BitsInBase256", with_size(base256(uint64_t{1} << 63)), size_error},
      {"SizeOver95Bits", with_size("\xbf" + std::string(11, '\xff')), size_error},
      {"SizeOf63Bits", with_size(base256(~uint64_t{0} >> 1)), huge("9223372036854775807")},
      {"SizeOf8GiBInOctal", with_size("77777777777"), huge("8589934591")},
      {"SizeOf64GiBInTwelveDigits", with_size("777777777777"), huge("68719476735")},
      {"SizeOfUnknownType", with_size("77777777777", 'Z'), huge("8589934591")},
      {"SizePastTheEndByOne", with_size("00000003001"),
       "truncated inside the data: 1536 of 1537 bytes are there" + at("a.bin", 2048) + kCut},
      {"ChecksumOfLetters", no_sum,
       "bad header checksum: no number is stored, 4164 computed" + at(0) + kDamaged},
      {"SparseOfGnu", raw_member("a.bin", "hello", 'S') + tar_end(),
       sparse + at("a.bin", 0) + again},
      {"SparseOfPax", with_pax("22 GNU.sparse.major=1\n"), sparse + at("a.bin", 1024) + again},
      {"SparseOfPaxForAll", with_pax("22 GNU.sparse.major=1\n", 'g'),
       sparse + at("a.bin", 1024) + again},
      {"AnotherVolume", raw_member("a.bin", "hello", 'M') + tar_end(),
       "a member continued from another volume" + at("a.bin", 0) +
           ". Join the volumes into one archive first"},
      {"PaxWithoutALength", with_pax("path=x\n"),
       pax + "a record does not begin with its length and a space" + at(512)},
      {"PaxWithANegativeLength", with_pax("-9 path=x\n"),
       pax + "a record does not begin with its length and a space" + at(512)},
      {"PaxWithALengthOnly", with_pax("9"),
       pax + "a record does not begin with its length and a space" + at(512)},
      {"PaxWithALengthOf65Bits", with_pax("99999999999999999999 path=x\n"),
       pax + "a record does not begin with its length and a space" + at(512)},
      {"PaxLongerThanTheHeader", with_pax("99 path=x\n"),
       pax + "a record is longer than the header" + at(512)},
      {"PaxShorterThanItself", with_pax("2 path=x\n"),
       pax + "a record is shorter than its own length" + at(512)},
      {"PaxOfLengthZero", with_pax("0 path=x\n"),
       pax + "a record is shorter than its own length" + at(512)},
      {"PaxWithoutALineFeed", with_pax("9 path=xy"),
       pax + "a record does not end with a line feed" + at(512)},
      {"PaxWithoutAnEquals", with_pax("9 pathxy\n"),
       pax + "a record is not of the form key=value" + at(512)},
      {"PaxWithoutAKey", with_pax("9 =pathx\n"),
       pax + "a record is not of the form key=value" + at(512)},
      {"PaxSecondRecord", with_pax("10 path=x\nzz"),
       pax + "a record does not begin with its length and a space" + at(522)},
      {"PaxPathWithANul", with_pax(std::string("12 path=a\0b\n", 12)),
       pax + "the value of 'path' holds a NUL byte" + at(512)},
      {"PaxSizeOfLetters", with_pax("11 size=1k\n"),
       pax + "'size' is not a number of 63 bits" + at(512)},
      {"PaxSizeNegative", with_pax("11 size=-5\n"),
       pax + "'size' is not a number of 63 bits" + at(512)},
      {"PaxSizeOf64Bits", with_pax("29 size=18446744073709551615\n"),
       pax + "'size' is not a number of 63 bits" + at(512)},
      {"PaxSizePastTheEnd", with_pax("14 size=99999\n"),
       "truncated inside the data: 1536 of 99999 bytes are there" + at("a.bin", 3072) + kCut},
      {"PaxForAllIsCheckedToo", with_pax("99 path=x\n", 'g'),
       pax + "a record is longer than the header" + at(512)},
      {"PaxOver1MiB", raw_member("pax", std::string((1 << 20) + 1, 'x'), 'x') + tar_end(),
       "an extended header of 1048577 bytes, more than the 1048576 allowed" + at(0)},
      {"LongNameOver1MiB",
       raw_member("@LongLink", std::string((1 << 20) + 1, 'x'), 'L') + tar_end(),
       "an extended header of 1048577 bytes, more than the 1048576 allowed" + at(0)},
      {"LongNameSizeOfLetters", with_size("zz", 'L'),
       "the size of an extended header is not a number" + at(0)},
      {"LongNameCut", raw_member("@LongLink", std::string(600, 'x'), 'L').substr(0, 812),
       "truncated inside a GNU long-name header: 300 of 600 bytes are there" + at(812) + kCut},
      {"LongNameEmpty", raw_member("@LongLink", "", 'L') + raw_member("a.bin", "x") + tar_end(),
       "a GNU long-name header without a name" + at(0)},
      {"LongNameOfNul", raw_member("@LongLink", std::string(3, '\0'), 'L') + tar_end(),
       "a GNU long-name header without a name" + at(0)},
      {"PaxBeforeTheEnd", raw_member("pax", "10 path=x\n", 'x') + tar_end(),
       "an extended header that belongs to no member" + at(0)},
      {"GarbageAfterOneZeroBlock",
       raw_member("a.bin", "x") + std::string(512, '\0') + std::string(512, 'g'),
       "bad header checksum: no number is stored, 52168 computed" + at(1536) + kDamaged},
      {"GarbageAfterAMember", raw_member("a.bin", "x") + std::string(512, 'g'),
       "bad header checksum: no number is stored, 52168 computed" + at(1024) + kDamaged},
      {"Gzip", "\x1f\x8b" + std::string(600, 'z'),
       "not a tar archive: it begins like gzip" + at(0) + ". Unpack or convert it first"},
      {"Zstd", "\x28\xb5\x2f\xfd" + std::string(600, 'z'),
       "not a tar archive: it begins like zstd" + at(0) + ". Unpack or convert it first"},
      {"Zip", "PK\x03\x04" + std::string(600, 'z'),
       "not a tar archive: it begins like zip" + at(0) + ". Unpack or convert it first"},
      {"Text", std::string(511, 'h') + "\n",
       "bad header checksum: no number is stored, 52578 computed" + at(0) + kDamaged},
      {"ShortText", "hello", "truncated inside a header" + at(0) + kCut},
  };
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Row, TarHostile, testing::ValuesIn(hostile_rows()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(TarParser, RandomBytesNeverReadAsMembersAndNeverCrash) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string archive(512 * (1 + random() % 4) + random() % 3, '\0');
    for (char& c : archive) c = static_cast<char>(random());
    EXPECT_NE(error_of(archive), "ok");
  }
}

// --- what is read ----------------------------------------------------------------------------

TEST(TarParser, PassesDangerousNamesOnUntouched) {
  for (const char* name : {"../../etc/passwd", "/etc/passwd", "a/../b", "./a", "a\\b", "caf\xe9"}) {
    const Walked walked = walk(raw_member(name, "x") + tar_end());
    ASSERT_TRUE(walked.end.ok());
    EXPECT_EQ(walked.members.at(0).name, name);
  }
}

TEST(TarParser, PaxPathAndSizeReplaceTheHeadersAndHoldForOneMemberOnly) {
  std::string first = raw_member("short", "", '0');  // its header says size 0
  const std::string archive = raw_member("pax", "17 path=long/name\n9 size=7\n", 'x') + first +
                              "payload" + std::string(505, '\0') + raw_member("b", "xy") +
                              tar_end();
  const Walked walked = walk(archive);
  ASSERT_FALSE(walked.end.ok()) << "17 is one too few: the record must be refused";
  const std::string good = raw_member("pax", "18 path=long/name\n9 size=7\n", 'x') + first +
                           "payload" + std::string(505, '\0') + raw_member("b", "xy") + tar_end();
  const Walked read = walk(good);
  ASSERT_TRUE(read.end.ok()) << read.end.error().to_string();
  ASSERT_EQ(read.members.size(), 2U);
  EXPECT_EQ(read.members[0].name, "long/name");
  EXPECT_EQ(read.members[0].size, 7U);
  EXPECT_EQ(read.members[0].header_offset, 0U);
  EXPECT_EQ(read.members[0].data_offset, 1536U);
  EXPECT_EQ(read.members[0].end_offset, 2048U);
  EXPECT_EQ(read.members[1].name, "b");
  EXPECT_EQ(read.members[1].size, 2U);
  EXPECT_EQ(read.members[1].header_offset, 2048U);
}

TEST(TarParser, AGlobalPaxValueHoldsUntilItIsTakenAway) {
  const std::string archive = raw_member("g", "12 path=all\n", 'g') + raw_member("a", "") +
                              raw_member("x", "12 path=one\n", 'x') + raw_member("b", "") +
                              raw_member("c", "") + raw_member("g", "8 path=\n", 'g') +
                              raw_member("d", "") + tar_end();
  std::vector<std::string> names;
  for (const TarMember& member : walk(archive).members) names.push_back(member.name);
  EXPECT_EQ(names, (std::vector<std::string>{"all", "one", "all", "d"}));
  EXPECT_EQ(walk(archive).members[0].header_offset, 1024U) << "a global header is no member's";
}

TEST(TarParser, GnuLongNameAndLongLinkBelongToTheNextMember) {
  const std::string name(300, 'n');
  const std::string link(200, 'l');
  const std::string archive = raw_member("@", name + '\0', 'L') + raw_member("@", link, 'K') +
                              raw_member("cut", "", '2') + raw_member("b", "") + tar_end();
  const Walked walked = walk(archive);
  ASSERT_EQ(walked.members.size(), 2U);
  EXPECT_EQ(walked.members[0].name, name);
  EXPECT_EQ(walked.members[0].linkname, link);
  EXPECT_EQ(walked.members[0].type, TarType::kSymlink);
  EXPECT_EQ(walked.members[1].name, "b");
  EXPECT_EQ(walked.members[1].linkname, "");
}

TEST(TarParser, LinksAndDirectoriesHaveNoPayloadWhateverTheirSizeSays) {
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    std::string link = raw_member("a", "", type);
    set_field(link, 0, kTarSize, "00000001000");
    const Walked walked = walk(link + raw_member("b", "x") + tar_end());
    ASSERT_TRUE(walked.end.ok()) << type;
    EXPECT_EQ(walked.members.at(0).size, 0U);
    EXPECT_EQ(walked.members.at(1).name, "b");
  }
}

TEST(TarParser, TypesAreToldApart) {
  const auto type = [](const char* name, char flag) {
    return walk(raw_member(name, "", flag) + tar_end()).members.at(0).type;
  };
  EXPECT_EQ(type("a", '0'), TarType::kRegular);
  EXPECT_EQ(type("a", '\0'), TarType::kRegular);
  EXPECT_EQ(type("a", '7'), TarType::kRegular);
  EXPECT_EQ(type("a/", '\0'), TarType::kDirectory);
  EXPECT_EQ(type("a", '1'), TarType::kHardlink);
  EXPECT_EQ(type("a", '2'), TarType::kSymlink);
  EXPECT_EQ(type("a", '5'), TarType::kDirectory);
  EXPECT_EQ(type("a", '3'), TarType::kOther);
  EXPECT_EQ(type("a", 'V'), TarType::kOther);
}

TEST(TarParser, AChecksumOfSignedBytesIsAccepted) {
  std::string archive = raw_member("caf\xe9", "x");
  char text[8];
  std::snprintf(text, sizeof text, "%06o",
                static_cast<unsigned>(tar_signed_checksum(as_bytes(archive).first(512))));
  archive.replace(kTarChecksum.offset, 7, text, 7);
  EXPECT_EQ(error_of(archive + tar_end()), "ok");
}

TEST(TarParser, ArchivesThatFollowEachOtherAreAllRead) {
  const std::string one = raw_member("a", "x") + tar_end() + std::string(8192, '\0');
  const Walked walked = walk(one + raw_member("b", "y") + tar_end());
  ASSERT_TRUE(walked.end.ok());
  EXPECT_EQ(walked.members.size(), 2U);
  EXPECT_EQ(walked.end->archives, 2U);
  EXPECT_EQ(walked.end->members_end, one.size() + 1024);
  EXPECT_EQ(walked.end->trailing, TarEnd::kNoTrailing);
}

TEST(TarParser, BytesBehindTheEndAreReportedAndNotRead) {
  const std::string archive = raw_member("a", "x") + tar_end();
  for (const std::string& behind : {std::string("text"), std::string(600, 't')}) {
    const Walked walked = walk(archive + behind);
    ASSERT_TRUE(walked.end.ok());
    EXPECT_EQ(walked.end->trailing, archive.size());
    EXPECT_EQ(walked.end->ending, TarEnding::kTwoBlocks);
  }
}

// --- reading by ranges -----------------------------------------------------------------------

TEST(TarWalk, OfLargeMembersReadsHeadersOnly) {
  std::string archive;
  for (int i = 0; i < 20; ++i)
    archive += raw_member("m" + std::to_string(i), std::string(1 << 20, 'x'));
  archive += tar_end();
  uint64_t bytes = 0;
  uint64_t members = 0;
  const auto end = for_each_member(
      archive.size(),
      [&](uint64_t offset, MutableBytes into) {
        EXPECT_LE(offset + into.size(), archive.size());
        std::memcpy(into.data(), archive.data() + offset, into.size());
        bytes += into.size();
        return Status::success();
      },
      [&](const TarMember&) {
        ++members;
        return Status::success();
      });
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(members, 20U);
  EXPECT_LE(bytes, 22U * 4096) << "more than a page a member";
}

TEST(TarWalk, OfSmallMembersReadsFewLargePieces) {
  std::string archive;
  for (int i = 0; i < 5000; ++i) archive += raw_member("m" + std::to_string(i), "x");
  archive += tar_end();
  uint64_t calls = 0;
  const auto end = for_each_member(
      archive.size(),
      [&](uint64_t offset, MutableBytes into) {
        ++calls;
        std::memcpy(into.data(), archive.data() + offset, into.size());
        return Status::success();
      },
      [](const TarMember&) { return Status::success(); });
  ASSERT_TRUE(end.ok());
  EXPECT_LE(calls, 30U) << "5 MB in pieces of up to 256 KiB";
}

TEST(TarWalk, PassesErrorsOfReadingAndOfTheVisitorOn) {
  const std::string archive = raw_member("a", "x") + tar_end();
  const auto unreadable = for_each_member(
      archive.size(),
      [](uint64_t, MutableBytes) {
        return Error{Code::kDenied, "no"};
      },
      [](const TarMember&) { return Status::success(); });
  ASSERT_FALSE(unreadable.ok());
  EXPECT_EQ(unreadable.error().code, Code::kDenied);
  const auto stopped = for_each_member(as_bytes(archive), [](const TarMember&) {
    return Error{Code::kInterrupted, "stop"};
  });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, Code::kInterrupted);
}

}  // namespace
}  // namespace headrace
