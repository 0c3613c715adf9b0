#include "format/tar_writer.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "format/tar_builder.h"

namespace headrace {
namespace {

struct NameRow {
  std::string name;
  uint64_t header_bytes;
};

/// Names around every limit of the format.
std::vector<NameRow> names() {
  const auto n = [](size_t size) { return std::string(size, 'n'); };
  return {
      {"a.txt", 512},
      {n(100), 512},
      {n(101), 1536},  // nowhere to split
      {n(50) + "/" + n(100), 512},
      {n(155) + "/" + n(100), 512},   // the longest that ustar holds
      {n(156) + "/" + n(99), 1536},   // prefix too long by one
      {n(154) + "/" + n(101), 1536},  // name too long by one
      {n(155) + "/" + n(101), 1536},  // 257 bytes
      {n(10) + "/" + n(10) + "/" + n(95), 512},
      {"/" + n(100), 1536},  // an empty prefix cannot be told from none
      {std::string(20, 'd') + "/" + std::string(1000, 'e') + ".jpg", 2048 + 512},
      {"caf\xe9/" + n(20), 512},  // not UTF-8
      {"d\xc3\xa9j\xc3\xa0 vu\t\"x\".txt", 512},
  };
}

TEST(TarWriter, EveryNameAndSizeReadsBackAsItWas) {
  constexpr uint64_t kGiB8 = uint64_t{1} << 33;
  for (const NameRow& row : names()) {
    for (const uint64_t size : {uint64_t{0}, uint64_t{1}, kGiB8 - 1, kGiB8, uint64_t{1} << 45}) {
      std::string header;
      append_tar_header(header, row.name, size);
      EXPECT_EQ(header.size(), tar_header_bytes(row.name, size));
      EXPECT_TRUE(size >= kGiB8 || header.size() == row.header_bytes) << row.name;

      TarParser parser(header.size() + tar_padded(size));
      ByteView fed;
      TarStep step = TarStep::kRead;
      while (step == TarStep::kRead) {
        const auto next = parser.step(fed);
        ASSERT_TRUE(next.ok()) << next.error().to_string();
        step = *next;
        fed = as_bytes(header).subspan(parser.wanted().offset, parser.wanted().size);
      }
      EXPECT_EQ(parser.member().name, row.name);
      EXPECT_EQ(parser.member().size, size);
      EXPECT_EQ(parser.member().data_offset, header.size());
      EXPECT_EQ(parser.member().header_offset, 0U);
      EXPECT_EQ(parser.member().type, TarType::kRegular);
    }
  }
}

TEST(TarWriter, GivesTheBytesThatItAlwaysGave) {
  std::string out;
  append_tar_header(out, "n01/a.jpg", 1255);
  append_tar_header(out, std::string(300, 'x'), uint64_t{1} << 40);
  append_tar_end(out);
  EXPECT_EQ(out.size(), 512U + 1024 + 512 + 1024);
  EXPECT_EQ(std::string_view(out).substr(0, 10), std::string_view("n01/a.jpg\0", 10));
  EXPECT_EQ(std::string_view(out).substr(100, 24),
            std::string_view("0000444\0000000000\0000000000\0", 24));
  EXPECT_EQ(std::string_view(out).substr(124, 24),
            std::string_view("00000002347\00000000000000\0", 24));
  EXPECT_EQ(std::string_view(out).substr(156, 1), "0");
  EXPECT_EQ(std::string_view(out).substr(257, 8), std::string_view("ustar\00000", 8));
  EXPECT_EQ(std::string_view(out).substr(1024, 311), "310 path=" + std::string(300, 'x') + "\n2");
  EXPECT_EQ(hex64(xxh3(as_bytes(out))), "40d858109b2a8a8e");
}

TEST(TarWriter, AttributesAreInTheHeader) {
  std::string out;
  append_tar_header(out, "a.jpg", 3, {0644, 1700000000, "bigdata", std::string(31, 'g')});
  ASSERT_EQ(out.size(), 512U);
  EXPECT_EQ(std::string_view(out).substr(100, 8), std::string_view("0000644\0", 8));
  EXPECT_EQ(std::string_view(out).substr(136, 12), std::string_view("14524770400\0", 12));
  EXPECT_EQ(std::string_view(out).substr(265, 8), std::string_view("bigdata\0", 8));
  EXPECT_EQ(std::string_view(out).substr(297, 32), std::string(31, 'g') + '\0');

  std::string latest;
  append_tar_header(latest, "a.jpg", 3, {07777, kLargestTarTime, "", ""});
  EXPECT_EQ(std::string_view(latest).substr(136, 11), "77777777777");
}

TEST(TarWriter, AnOwnerWhoseNameDoesNotFitIsInAPaxHeader) {
  std::string out;
  append_tar_header(out, "a.jpg", 3, {0444, 0, std::string(32, 'u'), "g"});
  ASSERT_EQ(out.size(), 1536U);
  EXPECT_EQ(out.substr(512, 42), "42 uname=" + std::string(32, 'u') + "\n");
  EXPECT_EQ(out[1024 + 265], '\0');
  EXPECT_EQ(out[1024 + 297], 'g');
}

TEST(TarWriter, PaxLengthsThatCountTheirOwnDigitsAreRight) {
  for (size_t size = 256; size < 1200; ++size) {
    const std::string name(size, 'x');
    const Walked walked = walk(raw_member(name, "") + tar_end());
    ASSERT_TRUE(walked.end.ok()) << size << walked.end.error().to_string();
    ASSERT_EQ(walked.members.at(0).name, name);
  }
}

// --- other readers ---------------------------------------------------------------------------

class TarInterop : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "headrace-tar-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::string archive;
    for (const NameRow& row : names()) {
      if (row.name[0] == '/' || row.name.size() > 255) continue;  // no file can be called so
      const std::string payload = row.name + std::to_string(row.name.size());
      append_tar_header(archive, row.name, payload.size());
      archive += payload;
      archive.append(tar_padding(payload.size()), '\0');
      expected_ += hex_of(row.name) + " " + sha256_hex(as_bytes(payload)) + "\n";
    }
    append_tar_end(archive);
    std::ofstream(folder_ / "a.tar", std::ios::binary) << archive;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string hex_of(std::string_view text) {
    std::string hex;
    for (const char c : text) hex += hex64(static_cast<unsigned char>(c)).substr(14);
    return hex;
  }

  /// Standard output and error of a shell command run in the folder.
  std::string run(const std::string& command) {
    const std::string line = "cd " + folder_.string() + " && (" + command + ") 2>&1";
    FILE* const pipe = popen(line.c_str(), "r");
    std::string output;
    for (int c = getc(pipe); c != EOF; c = getc(pipe)) output += static_cast<char>(c);
    status_ = pclose(pipe);
    return output;
  }

  std::filesystem::path folder_;
  std::string expected_;
  int status_ = 0;
};

TEST_F(TarInterop, GnuTarReadsWhatWasWrittenWithoutAWord) {
  run("tar --version | grep GNU");
  if (status_ != 0) GTEST_SKIP() << "no GNU tar here";
  EXPECT_EQ(run("mkdir out && tar -xf a.tar -C out"), "");
  EXPECT_EQ(status_, 0);
  const Walked walked = [this] {
    std::ifstream file(folder_ / "a.tar", std::ios::binary);
    return walk(std::string(std::istreambuf_iterator<char>(file), {}));
  }();
  ASSERT_TRUE(walked.end.ok());
  for (const TarMember& member : walked.members) {
    std::ifstream file(folder_ / "out" / member.name, std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
              member.name + std::to_string(member.name.size()));
  }
}

TEST_F(TarInterop, PythonTarfileReadsTheSameNamesAndBytes) {
  run("python3 -c 'import tarfile'");
  if (status_ != 0) GTEST_SKIP() << "no Python here";
  std::ofstream(folder_ / "list.py") << R"(
import hashlib, tarfile
for member in tarfile.open('a.tar'):
    assert (member.mode, member.uid, member.gid, member.mtime) == (0o444, 0, 0, 0) and member.isreg()
    data = tarfile.open('a.tar').extractfile(member.name).read()
    print(member.name.encode('utf-8', 'surrogateescape').hex(), hashlib.sha256(data).hexdigest())
)";
  EXPECT_EQ(run("PYTHONUTF8=1 python3 list.py"), expected_);
  EXPECT_EQ(status_, 0);
}

}  // namespace
}  // namespace headrace
