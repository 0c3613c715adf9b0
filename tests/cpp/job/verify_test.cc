// Verify and the scan under it, on real files in a temporary folder. The command line's tests hold
// the large table of damages; here is what needs the functions themselves.
#include "job/verify.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "format/tar_writer.h"
#include "job/archive_scan.h"
#include "job/pack.h"
#include "job/verify_shard.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

/// A tar of small members in memory, with the places of its headers.
struct Archive {
  std::string bytes;
  std::vector<uint64_t> headers;

  void add(const std::string& name, const std::string& data) {
    headers.push_back(bytes.size());
    append_tar_header(bytes, name, data.size());
    bytes += data;
    bytes.append(tar_padding(data.size()), '\0');
  }
};

Archive small_archive(int members) {
  Archive archive;
  for (int i = 0; i < members; ++i)
    archive.add("s" + std::to_string(i) + ".txt", std::string(static_cast<size_t>(i * 37), 'x'));
  append_tar_end(archive.bytes);
  return archive;
}

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("headrace_verify_" + std::to_string(::getpid()) + "_" + test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

  /// Packs `samples` files of 100 bytes, `per_shard` a shard.
  std::string pack_set(int samples, uint64_t per_shard) {
    for (int i = 0; i < samples; ++i)
      write("src/" + std::to_string(1000 + i) + ".bin", std::string(100, static_cast<char>(i)));
    Progress progress;
    PackOptions options;
    options.sources = {(folder_ / "src").string()};
    options.out = (folder_ / "set").string();
    options.shard_samples = per_shard;
    const auto report = pack(options, progress);
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().to_string());
    return (folder_ / "set").string();
  }

  VerifyReport check(const std::string& location, bool quick = false) {
    Progress progress;
    auto report = verify({.locations = {location}, .quick = quick, .threads = 2}, progress);
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().to_string());
    return report.ok() ? *report : VerifyReport{};
  }

  fs::path folder_;
};

struct Scanned {
  std::vector<std::string> names;
  std::vector<std::pair<ScanProblem, uint64_t>> problems;
  ArchiveScan scan;
};

Scanned scan(const std::string& path, const std::vector<uint64_t>& headers = {}) {
  Scanned seen;
  Progress progress;
  auto source = open_object(path);
  EXPECT_TRUE(source.ok());
  auto result = scan_archive(
      **source, true, progress,
      {.on_member = [&](const TarMember& member) { seen.names.push_back(member.name); },
       .on_problem =
           [&](ScanProblem kind, const Error& error) {
             seen.problems.emplace_back(kind, error.origin.offset);
           },
       .next_header = [&](uint64_t offset) -> std::optional<uint64_t> {
         for (const uint64_t header : headers)
           if (header > offset) return header;
         return std::nullopt;
       }});
  EXPECT_TRUE(result.ok());
  if (result.ok()) seen.scan = *result;
  EXPECT_EQ(progress.bytes, (*source)->size());
  return seen;
}

TEST_F(VerifyTest, ScanSeesEveryMemberAndHashesEveryByte) {
  // Longer than the pieces it is read in, so that headers and padding lie across their borders.
  Archive archive;
  for (int i = 0; i < 300; ++i)
    archive.add(std::string(120, 'n') + "/" + std::to_string(i) + ".txt",
                std::string(static_cast<size_t>(i) * 23, 'x'));
  archive.add("big.bin", std::string(700'001, 'y'));
  archive.add(std::string(300, 'p') + ".bin", std::string(300'000, 'z'));  // has a pax header
  append_tar_end(archive.bytes);
  const Scanned seen = scan(write("a.tar", archive.bytes));
  EXPECT_EQ(seen.names.size(), 302u);
  EXPECT_EQ(seen.names.back(), std::string(300, 'p') + ".bin");
  EXPECT_TRUE(seen.problems.empty());
  EXPECT_EQ(seen.scan.xxh3, xxh3(as_bytes(archive.bytes)));
  ASSERT_TRUE(seen.scan.end);
  EXPECT_EQ(seen.scan.end->ending, TarEnding::kTwoBlocks);
}

TEST_F(VerifyTest, EveryPaddingByteIsLookedAt) {
  Archive archive;
  archive.add("a.txt", "abc");
  archive.add("b.txt", "");
  append_tar_end(archive.bytes);
  for (uint64_t at = 515; at < 1024; ++at) {
    std::string damaged = archive.bytes;
    damaged[at] = 1;
    const Scanned seen = scan(write("a.tar", damaged));
    ASSERT_EQ(seen.problems.size(), 1u) << at;
    EXPECT_EQ(seen.problems[0], std::pair(ScanProblem::kPadding, at));
  }
}

TEST_F(VerifyTest, ScanGoesOnBehindDamagedHeadersAtTheNextKnownOne) {
  const Archive archive = small_archive(10);
  std::string damaged = archive.bytes;
  damaged[archive.headers[2] + 5] ^= 1;
  damaged[archive.headers[7] + 130] ^= 1;
  const Scanned seen = scan(write("a.tar", damaged), archive.headers);
  ASSERT_EQ(seen.problems.size(), 2u);
  EXPECT_EQ(seen.problems[0], std::pair(ScanProblem::kHeader, archive.headers[2]));
  EXPECT_EQ(seen.problems[1], std::pair(ScanProblem::kHeader, archive.headers[7]));
  EXPECT_EQ(seen.names.size(), 8u);
  EXPECT_TRUE(seen.scan.end);
}

TEST_F(VerifyTest, ScanWithoutKnownHeadersHashesTheRest) {
  const Archive archive = small_archive(10);
  std::string damaged = archive.bytes;
  damaged[archive.headers[2] + 5] ^= 1;
  const Scanned seen = scan(write("a.tar", damaged));
  EXPECT_EQ(seen.names.size(), 2u);
  EXPECT_FALSE(seen.scan.end);
  EXPECT_EQ(seen.scan.xxh3, xxh3(as_bytes(damaged)));
}

TEST_F(VerifyTest, IntactSetHasNoFindings) {
  const std::string set = pack_set(25, 10);
  const VerifyReport report = check(set);
  EXPECT_EQ(report.findings.size(), 0u);
  EXPECT_EQ(report.shards, 3u);
  EXPECT_EQ(report.samples, 25u);
  EXPECT_TRUE(report.has_manifest);
}

TEST_F(VerifyTest, QuickReadsNoShard) {
  const std::string set = pack_set(25, 10);
  EXPECT_EQ(check(set, true).bytes, 0u);
}

TEST_F(VerifyTest, StopIsHeard) {
  const std::string set = pack_set(25, 10);
  Progress progress;
  progress.stop = true;
  const auto report = verify({.locations = {set}}, progress);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kInterrupted);
}

TEST_F(VerifyTest, NothingThereIsNotFound) {
  Progress progress;
  const auto report = verify({.locations = {(folder_ / "nothing").string()}}, progress);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kNotFound);
}

TEST_F(VerifyTest, LooseFilesWithoutManifestAreRefused) {
  write("loose/a.txt", "a");
  Progress progress;
  const auto report = verify({.locations = {(folder_ / "loose").string()}}, progress);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kUsage);
}

TEST(FindingsTest, AreSortedByShardAndOffsetWithWholeObjectsFirst) {
  Findings findings(10);
  const auto add = [&](uint64_t order, uint64_t offset) {
    findings.add(order, {Severity::kError,
                         FindingKind::kHeader,
                         {.code = Code::kCorrupt, .message = "x", .origin = {.offset = offset}}});
  };
  add(2, 5);
  add(1, 9);
  add(2, Origin::kNoOffset);
  add(1, 3);
  std::vector<uint64_t> offsets;
  for (const Finding& finding : findings.take()) offsets.push_back(finding.error.origin.offset);
  EXPECT_EQ(offsets, (std::vector<uint64_t>{3, 9, Origin::kNoOffset, 5}));
}

TEST(FindingsTest, WorstIsCorruptWheneverSomethingIs) {
  Findings findings(1);
  findings.add(0,
               {Severity::kWarning, FindingKind::kEnd, {.code = Code::kCorrupt, .message = "x"}});
  findings.add(
      0, {Severity::kError, FindingKind::kMissing, {.code = Code::kNotFound, .message = "x"}});
  EXPECT_EQ(findings.worst(), Code::kNotFound);
  findings.add(0, {Severity::kError, FindingKind::kSize, {.code = Code::kCorrupt, .message = "x"}});
  findings.add(
      0, {Severity::kError, FindingKind::kMissing, {.code = Code::kNotFound, .message = "x"}});
  EXPECT_EQ(findings.worst(), Code::kCorrupt);
  EXPECT_EQ(findings.errors(), 3u);
  EXPECT_EQ(findings.warnings(), 1u);
  EXPECT_EQ(findings.take().size(), 1u);
}

}  // namespace
}  // namespace headrace
