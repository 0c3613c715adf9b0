#include "job/pack.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "base/digest.h"
#include "headrace/dataset.h"
#include "io/faulty_store.h"
#include "io/memory_store.h"
#include "job/index.h"
#include "temporary_folder.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

using Fields = std::map<std::string, std::string>;

class Pack : public ::testing::Test {
 protected:
  // `count` samples in three class folders, jpg and txt, of sizes 0 to about 6,000 bytes.
  void make_source(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string key = "c" + std::to_string(i % 3) + "/s" + std::to_string(1000 + i);
      write_file(source() + "/" + key + ".jpg",
                 std::string(static_cast<size_t>(i * 37 % 6000), static_cast<char>('a' + i % 26)));
      write_file(source() + "/" + key + ".txt", std::to_string(i));
    }
  }
  std::string source() const { return folder_ / "in"; }
  std::string out() const { return folder_ / "out"; }

  PackOptions options() const {
    PackOptions options;
    options.sources = {source()};
    options.out = out();
    options.fsync = false;
    options.threads = 3;
    return options;
  }
  static Result<PackReport> run(const PackOptions& options) {
    Progress progress;
    return pack(options, progress);
  }
  static std::map<std::string, Fields> read(const std::string& location) {
    std::map<std::string, Fields> samples;
    const auto set = Dataset::open({location});
    EXPECT_TRUE(set.ok()) << set.error().to_string();
    if (!set.ok()) return samples;
    for (uint64_t i = 0; i < (*set)->size(); ++i) {
      const auto sample = (*set)->sample((*set)->locate(i));
      EXPECT_TRUE(sample.ok());
      Fields& fields = samples[sample->key()];
      EXPECT_TRUE(fields.empty()) << sample->key() << " comes twice";
      for (const Sample::Field& field : sample->fields())
        fields[field.name] = as_text(sample->bytes(field));
    }
    return samples;
  }
  static std::string digest(const std::string& folder) {
    LocalFiles files(folder);
    return files.digest;
  }
  struct LocalFiles {
    explicit LocalFiles(const std::string& folder) {
      const auto store = open_store(folder);
      std::string text;
      const auto entries = (*store)->list("");
      for (const StoreEntry& entry : *entries)
        text += entry.path + " " + sha256_hex(as_bytes(*(*store)->read(entry.path))) + "\n";
      digest = text;
    }
    std::string digest;
  };

  TemporaryFolder folder_;
};

TEST_F(Pack, EverySampleComesBack) {
  make_source(100);
  PackOptions o = options();
  o.shard_bytes = 64 << 10;
  const auto report = run(o);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_GT(report->shards.size(), 3U);
  for (const PackedShard& shard : report->shards) {
    EXPECT_LE(shard.bytes, o.shard_bytes);
    EXPECT_EQ(fs::file_size(out() + "/" + shard.name), shard.bytes);
  }
  const auto samples = read(out());
  ASSERT_EQ(samples.size(), 100U);
  for (int i = 0; i < 100; ++i) {
    const Fields& fields =
        samples.at("c" + std::to_string(i % 3) + "/s" + std::to_string(1000 + i));
    EXPECT_EQ(fields.at("txt"), std::to_string(i));
    EXPECT_EQ(fields.at("jpg").size(), static_cast<size_t>(i * 37 % 6000));
  }
  EXPECT_FALSE(fs::exists(out() + "/_headrace/pending.json"));
  EXPECT_FALSE(fs::exists(out() + "/_headrace/pending"));
}

TEST_F(Pack, TheSameBytesWhateverTheThreads) {
  make_source(200);
  std::string first;
  for (const unsigned threads : {1U, 2U, 7U}) {
    fs::remove_all(out());
    PackOptions o = options();
    o.threads = threads;
    o.shard_samples = 30;
    o.shuffle = true;
    o.memory_bytes = threads == 7 ? 1 : uint64_t{256} << 20;
    ASSERT_TRUE(run(o).ok());
    if (first.empty()) first = digest(out());
    EXPECT_EQ(digest(out()), first) << threads;
  }
}

TEST_F(Pack, AnotherSeedIsAnotherOrderOfTheSameSamples) {
  make_source(60);
  PackOptions o = options();
  o.shuffle = true;
  ASSERT_TRUE(run(o).ok());
  const auto samples = read(out());
  const std::string before = digest(out());
  o.seed = 9;
  o.out = folder_ / "other";
  ASSERT_TRUE(run(o).ok());
  EXPECT_EQ(read(o.out), samples);
  EXPECT_NE(digest(o.out), before);
}

TEST_F(Pack, FilesLargerThanASegmentAreReadInPieces) {
  std::string large(11'000'001, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761U >> 13);
  write_file(source() + "/a.bin", large);
  write_file(source() + "/a.txt", "beside");
  write_file(source() + "/b.bin", large.substr(0, 4 << 20));
  write_file(source() + "/c.bin", large.substr(0, 300'000));
  ASSERT_TRUE(run(options()).ok());
  const auto samples = read(out());
  EXPECT_EQ(samples.at("a").at("bin"), large);
  EXPECT_EQ(samples.at("a").at("txt"), "beside");
  EXPECT_EQ(samples.at("b").at("bin"), large.substr(0, 4 << 20));
  EXPECT_EQ(samples.at("c").at("bin"), large.substr(0, 300'000));
}

TEST_F(Pack, ShardsOfEqualCounts) {
  make_source(100);
  PackOptions o = options();
  o.shards = 7;
  const auto report = run(o);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->shards.size(), 7U);
  for (const PackedShard& shard : report->shards) EXPECT_NEAR(double(shard.samples), 100.0 / 7, 1);
  o.shards = 0;
  o.name = "s-{0..4}.tar";
  o.out = folder_ / "five";
  EXPECT_EQ(run(o)->shards.size(), 5U);
  o.shard_samples = 10;
  o.out = folder_ / "ten";
  EXPECT_EQ(run(o).error().code, Code::kUsage);
}

TEST_F(Pack, LabelsFromFolders) {
  make_source(9);
  PackOptions o = options();
  o.label_from = LabelFrom::kFolder;
  const auto report = run(o);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->classes, (std::vector<std::string>{"c0", "c1", "c2"}));
  for (const auto& [key, fields] : read(out()))
    EXPECT_EQ(fields.at("cls"), key.substr(1, 1)) << key;
  write_file(source() + "/nowhere.jpg", "x");
  o.replace = true;
  EXPECT_EQ(run(o).error().code, Code::kUsage);
}

TEST_F(Pack, TwoFilesForOneFieldAreNamedOrSettled) {
  write_file(source() + "/x/a.jpg", "1");
  write_file(source() + "/x/a.cls", "1");
  write_file(source() + "/y/a.jpg", "2");
  write_file(source() + "/y/b.jpg", "3");
  PackOptions o = options();
  o.key_rule = "base";
  const auto refused = run(o);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUsage);
  EXPECT_NE(refused.error().message.find("x/a.jpg"), std::string::npos);
  EXPECT_NE(refused.error().message.find("y/a.jpg"), std::string::npos);

  const auto with = [&](OnDuplicate policy, const std::string& name) {
    o.on_duplicate = policy;
    o.out = folder_ / name;
    EXPECT_TRUE(run(o).ok());
    return read(o.out);
  };
  using Set = std::map<std::string, Fields>;
  EXPECT_EQ(with(OnDuplicate::kFirst, "first"),
            (Set{{"a", {{"cls", "1"}, {"jpg", "1"}}}, {"b", {{"jpg", "3"}}}}));
  EXPECT_EQ(with(OnDuplicate::kLast, "last"),
            (Set{{"a", {{"cls", "1"}, {"jpg", "2"}}}, {"b", {{"jpg", "3"}}}}));
  EXPECT_EQ(
      with(OnDuplicate::kRename, "rename"),
      (Set{{"a", {{"cls", "1"}, {"jpg", "1"}}}, {"a-1", {{"jpg", "2"}}}, {"b", {{"jpg", "3"}}}}));
}

TEST_F(Pack, FieldsThatLack) {
  write_file(source() + "/a.jpg", "1");
  write_file(source() + "/a.cls", "1");
  write_file(source() + "/b.jpg", "2");
  write_file(source() + "/b.extra", "2");
  PackOptions o = options();
  o.fields = {"jpg", "cls"};
  const auto refused = run(o);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("'b'"), std::string::npos);
  const auto with = [&](OnMissing policy, const std::string& name) {
    o.on_missing = policy;
    o.out = folder_ / name;
    const auto report = run(o);
    EXPECT_TRUE(report.ok());
    return read(o.out);
  };
  using Set = std::map<std::string, Fields>;
  const Set both{{"a", {{"cls", "1"}, {"jpg", "1"}}}, {"b", {{"jpg", "2"}}}};
  EXPECT_EQ(with(OnMissing::kWarn, "warn"), both);
  EXPECT_EQ(with(OnMissing::kIgnore, "ignore"), both);
  EXPECT_EQ(with(OnMissing::kDropSample, "drop"), (Set{{"a", {{"cls", "1"}, {"jpg", "1"}}}}));
  EXPECT_EQ(with(OnMissing::kDropField, "field"),
            (Set{{"a", {{"jpg", "1"}}}, {"b", {{"jpg", "2"}}}}));
}

TEST_F(Pack, KeysByRegexAndDotsInKeys) {
  write_file(source() + "/tiger_desc_es.ogg", "1");
  write_file(source() + "/tiger.png", "2");
  write_file(source() + "/v1.5_x.png", "3");
  PackOptions o = options();
  o.key_rule = R"((?<key>[^_]*?)(?:_|\.(?=png$))(?<field>.*))";
  const auto report = run(o);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  const auto samples = read(out());
  EXPECT_EQ(samples.at("tiger"), (Fields{{"desc_es.ogg", "1"}, {"png", "2"}}));
  EXPECT_EQ(samples.at("v1_5"), (Fields{{"x.png", "3"}}));
}

TEST_F(Pack, AnEmptyFolderIsAnEmptyDataSet) {
  fs::create_directories(source());
  const auto report = run(options());
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->samples, 0U);
  EXPECT_FALSE(report->notes.empty());
  EXPECT_TRUE(read(out()).empty());
}

TEST_F(Pack, TheSameCommandAgainHasNothingToDo) {
  make_source(20);
  const auto first = run(options());
  ASSERT_TRUE(first.ok());
  const std::string before = digest(out());
  const auto again = run(options());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->complete_before);
  EXPECT_EQ(digest(out()), before);
}

TEST_F(Pack, AnotherDataSetIsReplacedOnlyOnDemand) {
  make_source(20);
  ASSERT_TRUE(run(options()).ok());
  write_file(source() + "/new.txt", "new");
  PackOptions o = options();
  EXPECT_EQ(run(o).error().code, Code::kUsage);
  EXPECT_EQ(read(out()).size(), 20U);
  o.replace = true;
  const auto report = run(o);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->shards[0].name.substr(0, 2), "v-");
  EXPECT_EQ(read(out()).size(), 21U);
  EXPECT_TRUE(fs::exists(out() + "/shard-000000.tar")) << "the old version stays";
}

TEST_F(Pack, ForeignFilesAreNotMixedIn) {
  make_source(5);
  write_file(out() + "/theirs.tar", "x");
  EXPECT_EQ(run(options()).error().code, Code::kUsage);
  PackOptions o = options();
  o.replace = true;
  EXPECT_TRUE(run(o).ok());
  EXPECT_EQ(read(out()).size(), 5U);
}

TEST_F(Pack, FilesThatVanishOrCannotBeReadAreNamedOrSkipped) {
  make_source(30);
  fs::create_symlink("nowhere", source() + "/c0/broken.jpg");
  const auto refused = run(options());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("broken.jpg"), std::string::npos);
  PackOptions o = options();
  o.on_error = OnBadSample::kSkip;
  const auto report = run(o);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->samples, 30U);
}

// Does something to the input once the plan is made and the first object is written.
class MeddlingStore : public MemoryStore {
 public:
  /// Meddles when the first object has taken `after` bytes; at once with 0.
  explicit MeddlingStore(std::function<void()> meddle, uint64_t after = 0)
      : MemoryStore("mem:meddling"), meddle_(std::move(meddle)), left_(after) {}
  Result<std::unique_ptr<ByteSink>> create(const std::string& path) override {
    if (left_ == 0) meddle();
    auto sink = MemoryStore::create(path);
    if (!sink.ok() || !meddle_ || !path.ends_with(".tar")) return sink;
    return std::unique_ptr<ByteSink>(std::make_unique<Sink>(*this, std::move(*sink)));
  }

 private:
  class Sink : public ByteSink {
   public:
    Sink(MeddlingStore& store, std::unique_ptr<ByteSink> inner)
        : store_(store), inner_(std::move(inner)) {}
    Status append(ByteView bytes) override {
      store_.left_ -= std::min<uint64_t>(store_.left_, bytes.size());
      if (store_.left_ == 0) store_.meddle();
      return inner_->append(bytes);
    }
    Status commit() override { return inner_->commit(); }
    Result<bool> commit_if_absent() override { return inner_->commit_if_absent(); }

   private:
    MeddlingStore& store_;
    std::unique_ptr<ByteSink> inner_;
  };

  void meddle() {
    if (meddle_) std::exchange(meddle_, nullptr)();
  }

  std::function<void()> meddle_;
  uint64_t left_;
};

TEST_F(Pack, FilesThatChangeAfterTheyWereListedAreNamedOrSkipped) {
  make_source(30);
  const std::string changed = source() + "/c1/s1010.jpg";
  const std::string vanished = source() + "/c2/s1011.txt";
  Progress progress;
  PackOptions o = options();
  o.out = "mem:meddling";
  {
    MeddlingStore store([&] { write_file(changed, "longer or shorter"); });
    const auto report = pack_to(store, o, progress);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, Code::kChanged);
    EXPECT_NE(report.error().message.find(changed), std::string::npos);
    EXPECT_FALSE(*store.exists("headrace.json"));
  }
  {
    MeddlingStore store([&] { fs::last_write_time(changed, fs::file_time_type::clock::now()); });
    EXPECT_EQ(pack_to(store, o, progress).error().code, Code::kChanged) << "the time alone";
  }
  o.on_error = OnBadSample::kSkip;
  MeddlingStore store([&] {
    write_file(changed, "x");
    fs::remove(vanished);
  });
  const auto report = pack_to(store, o, progress);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->samples, 28U);
  ASSERT_EQ(report->skipped.size(), 2U);
  EXPECT_EQ(report->skipped[0].key, "c1/s1010");
  EXPECT_EQ(report->skipped[1].key, "c2/s1011");
}

TEST_F(Pack, ASampleOfManyPiecesThatChangedIsLeftOutWhole) {
  make_source(3);
  const std::string large = source() + "/c0/large.bin";
  write_file(large, std::string(9 << 20, 'x'));
  write_file(source() + "/c0/large.txt", "beside it");
  Progress progress;
  PackOptions o = options();
  o.out = "mem:meddling";
  o.on_error = OnBadSample::kSkip;
  MeddlingStore store([&] { fs::remove(large); });
  const auto report = pack_to(store, o, progress);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->samples, 3U);
  ASSERT_EQ(report->skipped.size(), 1U);
  EXPECT_EQ(report->skipped[0].key, "c0/large");
}

// Its first pieces are written when it breaks: they are taken back, and what is around it stays.
TEST_F(Pack, ASampleThatBreaksWhileItsPiecesAreReadIsLeftOutWhole) {
  make_source(30);
  const std::string large = source() + "/c1/large.bin";
  const std::string other = source() + "/c1/other.bin";
  const std::vector<std::function<void()>> ways = {
      [&] { fs::remove(large); },
      [&] { fs::resize_file(large, 3 << 20); },
      [&] {
        fs::remove(large);
        fs::create_directory(large);  // is there and cannot be read
      },
      [&] {
        fs::remove(large);
        fs::remove(other);
      },
  };
  const auto restore = [&] {
    fs::remove_all(large);
    write_file(large, std::string(40 << 20, 'x'));
    write_file(other, std::string(8 << 20, 'y'));
  };
  PackOptions o = options();
  o.out = "mem:meddling";
  o.memory_bytes = 4 << 20;  // so that the end of the file is not read before its beginning is
  for (size_t way = 0; way < ways.size(); ++way) {
    Progress progress;
    restore();
    o.on_error = OnBadSample::kError;
    MeddlingStore broken(ways[way], 2 << 20);
    ASSERT_FALSE(pack_to(broken, o, progress).ok()) << way;
    EXPECT_FALSE(*broken.exists("headrace.json"));

    restore();
    o.on_error = OnBadSample::kSkip;
    MeddlingStore store(ways[way], 2 << 20);
    const auto report = pack_to(store, o, progress);
    ASSERT_TRUE(report.ok()) << way << ": " << report.error().to_string();
    const uint64_t lost = way == 3 ? 2 : 1;
    EXPECT_EQ(report->samples, 32 - lost) << way;
    ASSERT_EQ(report->skipped.size(), lost) << way;
    EXPECT_EQ(report->skipped[0].key, "c1/large");
    EXPECT_EQ(report->skipped[0].file, large);
    const std::string shard = *store.read(report->shards[0].name);
    EXPECT_EQ(shard.size(), report->shards[0].bytes);
    EXPECT_LT(shard.size(), way == 3 ? 1U << 20 : 9U << 20) << "no part of it is left behind";
  }
}

TEST_F(Pack, AFaultAtAnyOperationLeavesOldOrNewAndIsResumed) {
  make_source(25);
  PackOptions o = options();
  o.threads = 1;
  o.shard_samples = 10;
  MemoryStore whole("mem:whole");
  Progress progress;
  FaultyStore counting(whole, ~uint64_t{0}, Code::kNoSpace);
  const auto report = pack_to(counting, o, progress);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  ASSERT_GT(counting.operations(), 30U);
  const auto objects = [](Store& store) {
    std::map<std::string, std::string> all;
    const auto entries = store.list("");
    for (const StoreEntry& entry : *entries) all[entry.path] = *store.read(entry.path);
    return all;
  };
  const auto expected = objects(whole);
  for (uint64_t fail_at = 0; fail_at < counting.operations(); ++fail_at) {
    MemoryStore store("mem:some");
    FaultyStore faulty(store, fail_at, Code::kNoSpace);
    const auto failed = pack_to(faulty, o, progress);
    ASSERT_FALSE(failed.ok()) << fail_at;
    EXPECT_EQ(failed.error().code, Code::kNoSpace);
    const bool has_root = *store.exists("headrace.json");
    EXPECT_TRUE(has_root || store.list("")->empty() || *store.exists("_headrace/pending.json"))
        << fail_at;
    const auto resumed = pack_to(store, o, progress);
    ASSERT_TRUE(resumed.ok()) << fail_at << ": " << resumed.error().to_string();
    EXPECT_EQ(objects(store), expected) << fail_at;
  }
}

TEST_F(Pack, AStopIsResumedWithoutRedoingShards) {
  make_source(50);
  PackOptions o = options();
  o.threads = 1;
  o.shard_samples = 10;
  const auto store = std::make_shared<MemoryStore>("mem:stop");
  Progress progress;
  FaultyStore faulty(*store, 20, Code::kInterrupted);
  ASSERT_FALSE(pack_to(faulty, o, progress).ok());
  const auto resumed = pack_to(*store, o, progress);
  ASSERT_TRUE(resumed.ok());
  EXPECT_GT(resumed->shards_resumed, 0U);
  EXPECT_LT(resumed->shards_resumed, 5U);
  Progress stopped;
  stopped.stop = true;
  o.out = folder_ / "never";
  EXPECT_EQ(pack(o, stopped).error().code, Code::kInterrupted);
}

TEST_F(Pack, IndexOfItsShardsIsTheSameDataSet) {
  make_source(40);
  PackOptions o = options();
  o.shard_samples = 7;
  const auto packed = run(o);
  ASSERT_TRUE(packed.ok());
  const auto samples = read(out());
  fs::remove_all(out() + "/_headrace");
  fs::remove(out() + "/headrace.json");
  Progress progress;
  IndexOptions index;
  index.sources = {out()};
  index.fsync = false;
  const auto report = index_dataset(index, progress);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->fingerprint, packed->fingerprint);
  EXPECT_EQ(read(out()), samples);

  index.out = folder_ / "elsewhere";
  ASSERT_TRUE(index_dataset(index, progress).ok());
  EXPECT_EQ(read(index.out), samples);
}

TEST_F(Pack, IndexNamesEveryDamagedShardAndWritesNothing) {
  make_source(40);
  PackOptions o = options();
  o.shard_samples = 10;
  ASSERT_TRUE(run(o).ok());
  fs::remove_all(out() + "/_headrace");
  fs::remove(out() + "/headrace.json");
  fs::resize_file(out() + "/shard-000001.tar", 700);
  fs::resize_file(out() + "/shard-000003.tar", fs::file_size(out() + "/shard-000003.tar") - 1024);
  Progress progress;
  IndexOptions index;
  index.sources = {out()};
  const auto report = index_dataset(index, progress);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->findings.size(), 2U);
  EXPECT_NE(report->findings[0].origin.shard.find("shard-000001.tar"), std::string::npos);
  EXPECT_NE(report->findings[1].origin.shard.find("shard-000003.tar"), std::string::npos);
  EXPECT_NE(report->findings[1].origin.offset, Origin::kNoOffset);
  EXPECT_FALSE(fs::exists(out() + "/headrace.json"));
  EXPECT_FALSE(fs::exists(out() + "/_headrace"));
}

TEST_F(Pack, IndexReadsOnlyNewShardsAgain) {
  make_source(40);
  PackOptions o = options();
  o.shard_samples = 10;
  ASSERT_TRUE(run(o).ok());
  fs::remove_all(out() + "/_headrace");
  fs::remove(out() + "/headrace.json");
  fs::rename(out() + "/shard-000003.tar", folder_ / "kept.tar");
  Progress progress;
  IndexOptions index;
  index.sources = {out()};
  index.fsync = false;
  ASSERT_TRUE(index_dataset(index, progress).ok());
  EXPECT_TRUE(index_dataset(index, progress)->complete_before);
  fs::rename(folder_ / "kept.tar", out() + "/shard-000003.tar");
  const auto more = index_dataset(index, progress);
  ASSERT_TRUE(more.ok()) << more.error().to_string();
  EXPECT_EQ(more->shards_reused, 3U);
  EXPECT_EQ(more->samples, 40U);
  EXPECT_EQ(read(out()).size(), 40U);
}

TEST_F(Pack, IndexOfLooseFilesIsTheSameSamples) {
  make_source(40);
  ASSERT_TRUE(run(options()).ok());
  const auto samples = read(out());
  Progress progress;
  IndexOptions index;
  index.sources = {source()};
  index.fsync = false;
  const auto report = index_dataset(index, progress);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->container, Container::kFiles);
  EXPECT_EQ(read(source()), samples);
  EXPECT_TRUE(index_dataset(index, progress)->complete_before);
  EXPECT_TRUE(run(options())->complete_before) << "a manifest in place is no input of pack";
}

}  // namespace
}  // namespace headrace
