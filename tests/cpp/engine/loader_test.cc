#include "headrace/loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/digest.h"
#include "headrace/audit.h"
#include "sample_shards.h"

namespace headrace {
namespace {

std::shared_ptr<const Dataset> open_shards(const TemporaryFolder& folder,
                                           const std::vector<uint32_t>& counts) {
  write_shards(folder, counts);
  return Dataset::open({folder.path()}).value();
}

FieldSpec bytes_field(const std::string& name) {
  return {.name = name, .sources = {name}, .kind = BytesSpec{}, .fallback = {}};
}

LoaderOptions small_options(std::shared_ptr<const Dataset> set, uint64_t total) {
  LoaderOptions options;
  options.sets = {std::move(set)};
  options.shuffle = true;
  options.seed = 7;
  options.lanes = 4;
  options.window_bytes = 20'000;
  options.total = total;
  options.threads = 3;
  options.fields = {bytes_field("bin"),
                    {.name = "label", .sources = {"cls"}, .kind = IntegerSpec{}, .fallback = {}}};
  return options;
}

std::unique_ptr<Loader> make(LoaderOptions options) {
  auto loader = Loader::create(std::move(options));
  EXPECT_TRUE(loader.ok()) << (loader.ok() ? "" : loader.error().to_string());
  return loader.ok() ? std::move(*loader) : nullptr;
}

std::shared_ptr<const Batch> take(Loader& loader) {
  auto batch = loader.next();
  EXPECT_TRUE(batch.ok()) << (batch.ok() ? "" : batch.error().to_string());
  return batch.ok() ? *batch : nullptr;
}

int64_t label(const Batch& batch, size_t row) {
  int64_t value = 0;
  std::memcpy(&value, batch.columns[1].data.data() + row * sizeof value, sizeof value);
  return value;
}

/// The labels of the rows that are no padding; checks that every row's bytes are its sample's.
void collect(const Batch& batch, std::vector<int64_t>& labels) {
  const Column& bin = batch.columns[0];
  ASSERT_EQ(bin.offsets.size(), batch.rows.size() + 1);
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const auto begin = static_cast<size_t>(bin.offsets[i]);
    const auto size = static_cast<size_t>(bin.offsets[i + 1]) - begin;
    const int64_t n = label(batch, i);
    ASSERT_EQ(as_text(bin.data.subspan(begin, size)), sample_payload(static_cast<uint64_t>(n)));
    if (!batch.rows[i].padded) labels.push_back(n);
  }
}

std::vector<int64_t> epoch_labels(Loader& loader) {
  std::vector<int64_t> labels;
  while (auto batch = take(loader)) collect(*batch, labels);
  return labels;
}

void expect_each_once(std::vector<int64_t> labels, uint64_t n) {
  ASSERT_EQ(labels.size(), n);
  std::ranges::sort(labels);
  for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(labels[i], static_cast<int64_t>(i));
}

TEST(Loader, DeliversEverySampleOnceAnEpochWithItsBytes) {
  const TemporaryFolder folder;
  const auto loader = make(small_options(open_shards(folder, {100, 0, 37, 260}), 32));
  EXPECT_EQ(loader->steps(), 13u);
  const auto first = epoch_labels(*loader);
  const auto second = epoch_labels(*loader);
  expect_each_once(first, 397);
  expect_each_once(second, 397);
  EXPECT_NE(first, second) << "epochs differ in order";
}

TEST(Loader, GivesTheSameBatchesWhateverTheThreads) {
  const TemporaryFolder folder;
  const auto set = open_shards(folder, {100, 37, 260});
  std::vector<int64_t> one;
  for (const unsigned threads : {1U, 2U, 7U}) {
    auto options = small_options(set, 24);
    options.threads = threads;
    const auto labels = epoch_labels(*make(options));
    if (threads == 1) one = labels;
    EXPECT_EQ(labels, one);
  }
  // Pinned: a change of the order is a change of kOrderVersion.
  std::string text;
  for (const int64_t n : one) text += std::to_string(n) + " ";
  EXPECT_EQ(hex64(xxh3(as_bytes(text))), "e4d508c842e769d4");
}

TEST(Loader, RanksTogetherTakeEverySampleOnce) {
  const TemporaryFolder folder;
  const auto set = open_shards(folder, {100, 37, 260});
  for (const uint32_t world : {1U, 2U, 3U, 5U}) {
    std::vector<int64_t> labels;
    for (uint32_t rank = 0; rank < world; ++rank) {
      auto options = small_options(set, 20);
      options.rank = rank;
      options.world = world;
      const auto loader = make(options);
      EXPECT_EQ(loader->steps(), 20u);
      for (const int64_t n : epoch_labels(*loader)) labels.push_back(n);
    }
    expect_each_once(labels, 397);
  }
}

TEST(Loader, StopsAfterAnyStepAndGoesOnOnAnotherWorld) {
  const TemporaryFolder folder;
  const auto set = open_shards(folder, {40, 17, 60});
  for (const Tail tail : {Tail::kPad, Tail::kShort, Tail::kDrop}) {
    auto options = small_options(set, 12);
    options.tail = tail;
    const uint64_t steps = make(options)->steps();
    std::vector<int64_t> whole = epoch_labels(*make(options));
    std::ranges::sort(whole);
    for (uint64_t stop = 0; stop <= steps; ++stop) {
      std::vector<int64_t> labels;
      std::string state;
      for (uint32_t rank = 0; rank < 3; ++rank) {
        auto part = options;
        part.rank = rank;
        part.world = 3;
        const auto loader = make(part);
        for (uint64_t t = 0; t < stop; ++t) collect(*take(*loader), labels);
        state = loader->state();
        EXPECT_EQ(state, loader->state_at(0, stop).value());
      }
      for (uint32_t rank = 0; rank < 2; ++rank) {
        auto part = options;
        part.rank = rank;
        part.world = 2;
        const auto loader = make(part);
        ASSERT_TRUE(loader->load_state(state).ok());
        for (const int64_t n : epoch_labels(*loader)) labels.push_back(n);
        EXPECT_EQ(loader->epoch(), 1u);
      }
      std::ranges::sort(labels);
      ASSERT_EQ(labels, whole) << "stopped after " << stop << " steps, tail " << tail_name(tail);
    }
  }
}

TEST(Loader, WorkersOfARankShareItsSteps) {
  const TemporaryFolder folder;
  const auto set = open_shards(folder, {100, 37});
  std::vector<std::vector<int64_t>> steps;
  const auto whole = make(small_options(set, 8));
  while (auto batch = take(*whole)) collect(*batch, steps.emplace_back());
  for (const uint64_t skipped : {0u, 2u}) {
    for (uint32_t worker = 0; worker < 3; ++worker) {
      auto options = small_options(set, 8);
      options.worker = worker;
      options.workers = 3;
      const auto loader = make(options);
      ASSERT_TRUE(loader->skip(skipped).ok());
      for (uint64_t t = worker + skipped * 3; t < steps.size(); t += 3) {
        std::vector<int64_t> labels;
        collect(*take(*loader), labels);
        EXPECT_EQ(labels, steps[t]);
      }
      EXPECT_EQ(take(*loader), nullptr);
    }
  }
}

TEST(Loader, PacksRowsOnlyByWhatTheIndexCounts) {
  const TemporaryFolder folder;
  auto options = small_options(open_shards(folder, {50}), 12);
  options.pack_length = 16;
  const auto message = [&](const std::string& by) {
    options.pack_by = by;
    const auto loader = Loader::create(options);
    return loader.ok() ? std::string("no error") : loader.error().message;
  };
  EXPECT_EQ(message("bin"), "by=\"bin\" does not say how many tokens a document has");
  EXPECT_EQ(message("bin:pixels"), "by=\"bin:pixels\" does not say how many tokens a document has");
  EXPECT_NE(message("bin:tokens").find("were not all measured: 'bin' in tokens"),
            std::string::npos);
  EXPECT_NE(message("wav:tokens").find("no such field"), std::string::npos);
  options.bucket_steps = 2;
  options.bucket_by = "bin";
  EXPECT_EQ(message("bin:tokens"),
            "documents cannot be packed by their lengths with buckets by length");
}

TEST(Loader, RewindStartsTheEpochAgainButNotAfterLoading) {
  const TemporaryFolder folder;
  const auto set = open_shards(folder, {100});
  const auto loader = make(small_options(set, 20));
  std::vector<int64_t> first, again, on;
  collect(*take(*loader), first);
  const std::string state = loader->state();
  ASSERT_TRUE(loader->rewind().ok());
  collect(*take(*loader), again);
  EXPECT_EQ(first, again);
  ASSERT_TRUE(loader->load_state(state).ok());
  ASSERT_TRUE(loader->rewind().ok());
  collect(*take(*loader), on);
  EXPECT_NE(first, on);
  EXPECT_EQ(take(*loader)->step, 2u);
}

TEST(Loader, RefusesAStateOfOtherDataNamingTheField) {
  const TemporaryFolder a, b;
  const auto one = make(small_options(open_shards(a, {50}), 12));
  const auto other = make(small_options(open_shards(b, {51}), 12));
  const auto status = other->load_state(one->state());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("fingerprint"), std::string::npos);
}

TEST(Loader, BatchesThatAreKeptAreNeverOverwritten) {
  const TemporaryFolder folder;
  const auto loader = make(small_options(open_shards(folder, {300, 300}), 12));
  std::vector<std::shared_ptr<const Batch>> kept;
  while (auto batch = take(*loader)) kept.push_back(batch);
  std::vector<int64_t> labels;
  for (const auto& batch : kept) collect(*batch, labels);
  expect_each_once(labels, 600);
  EXPECT_GT(loader->stats().slots_grown, 40u);
  kept.clear();
  EXPECT_LE(loader->stats().slots, 7u);
}

TEST(Loader, ABadSampleIsRaisedAtItsPositionOrLeftOutAndListed) {
  const TemporaryFolder folder;
  std::string tar;
  for (int n = 0; n < 40; ++n) {
    append_member(tar, "s" + std::to_string(n) + ".bin", sample_payload(static_cast<uint64_t>(n)));
    append_member(tar, "s" + std::to_string(n) + ".cls", n % 10 == 3 ? "x" : std::to_string(n));
  }
  append_tar_end(tar);
  write_file(folder / "a.tar", tar);
  auto options = small_options(Dataset::open({folder.path()}).value(), 16);
  const auto raising = make(options);
  Result<std::shared_ptr<const Batch>> batch = raising->next();
  while (batch.ok() && *batch) batch = raising->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().code, Code::kCorrupt);
  EXPECT_EQ(batch.error().origin.shard, folder / "a.tar");
  EXPECT_EQ(batch.error().origin.member.substr(0, 1), "s");
  EXPECT_NE(batch.error().origin.offset, Origin::kNoOffset);

  options.on_error = OnError::kSkip;
  const auto skipping = make(options);
  std::vector<int64_t> labels;
  size_t skipped = 0;
  while (auto good = take(*skipping)) {
    collect(*good, labels);
    EXPECT_EQ(good->columns[1].shape[0], static_cast<int64_t>(good->rows.size()));
    for (const RowError& error : good->errors) skipped += error.row.padded ? 0 : 1;
  }
  EXPECT_EQ(labels.size(), 36u);
  EXPECT_EQ(skipped, 4u);

  options.max_errors = 2;
  const auto budget = make(options);
  batch = budget->next();
  while (batch.ok() && *batch) batch = budget->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_NE(batch.error().message.find("max_errors"), std::string::npos);
}

TEST(Loader, AColumnThatNoSampleHasIsRefusedAtOnce) {
  const TemporaryFolder folder;
  auto options = small_options(open_shards(folder, {5}), 4);
  options.fields.push_back(bytes_field("jpg"));
  const auto loader = Loader::create(options);
  ASSERT_FALSE(loader.ok());
  EXPECT_EQ(loader.error().hint, "Its fields are: bin, cls.");
}

TEST(Loader, EmptySetsAndRanksWithoutRowsGiveNoOrEmptyBatches) {
  const TemporaryFolder folder, empty;
  auto none = small_options(open_shards(empty, {0}), 8);
  none.fields = {};
  const auto nothing = make(none);
  EXPECT_EQ(nothing->steps(), 0u);
  EXPECT_EQ(take(*nothing), nullptr);
  EXPECT_EQ(take(*nothing), nullptr);

  auto options = small_options(open_shards(folder, {1}), 8);
  options.tail = Tail::kShort;
  options.world = 4;
  const auto loader = make(options);
  const auto batch = take(*loader);
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->rows.size(), 0u);
  EXPECT_EQ(batch->columns[1].shape, std::vector<int64_t>{0});
  EXPECT_EQ(batch->columns[0].offsets, std::vector<int64_t>{0});
}

TEST(Loader, StopAndInterruptEndAWaitingConsumer) {
  const TemporaryFolder folder;
  const auto loader = make(small_options(open_shards(folder, {100}), 20));
  take(*loader);
  loader->stop();
  const auto after = loader->next();
  ASSERT_FALSE(after.ok());
  EXPECT_EQ(after.error().code, Code::kInterrupted);
}

TEST(Loader, AForkedChildIsToldAndEndsCleanly) {
  const TemporaryFolder folder;
  auto loader = make(small_options(open_shards(folder, {100}), 20));
  const auto held = take(*loader);
  const pid_t child = fork();
  if (child == 0) {
    const auto batch = loader->next();
    const bool told = !batch.ok() && batch.error().message.find("fork") != std::string::npos;
    loader.reset();
    _exit(told ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_NE(take(*loader), nullptr);
}

TEST(Loader, MixturesKeepTheirProportions) {
  const TemporaryFolder a, b;
  LoaderOptions options = small_options(open_shards(a, {400}), 32);
  options.sets.push_back(open_shards(b, {100}));
  options.weights = {3, 1};
  const auto loader = make(options);
  uint64_t rows[2] = {0, 0};
  while (auto batch = take(*loader))
    for (const RowOrigin& row : batch->rows) ++rows[row.set];
  EXPECT_NEAR(static_cast<double>(rows[0]) / static_cast<double>(rows[1]), 3.0, 0.05);
}

TEST(Audit, ProvesExactlyOnceOverRanksAndRestarts) {
  const TemporaryFolder folder, audit;
  const auto set = open_shards(folder, {40, 17, 60});
  std::string checkpoint;
  for (uint32_t rank = 0; rank < 3;
       ++rank) {  // three ranks; two steps after the checkpoint are lost
    auto options = small_options(set, 12);
    options.audit_folder = audit.path();
    options.rank = rank;
    options.world = 3;
    const auto loader = make(options);
    for (int t = 0; t < 3; ++t) take(*loader);
    checkpoint = loader->state();
    for (int t = 0; t < 2; ++t) take(*loader);
  }
  const auto half = check_audit({audit.path()}, *set).value();
  EXPECT_EQ(half.epochs.at(0).missing, 117u - 60u);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    auto options = small_options(set, 12);
    options.audit_folder = audit.path();
    options.rank = rank;
    options.world = 2;
    const auto loader = make(options);
    ASSERT_TRUE(loader->load_state(checkpoint).ok());
    while (take(*loader)) {
    }
    while (take(*loader)) {
    }
  }
  const auto report = check_audit({audit.path()}, *set).value();
  EXPECT_TRUE(report.passed()) << report.to_string();
  EXPECT_EQ(report.forgotten, 24u);
  ASSERT_EQ(report.epochs.size(), 2u);
  for (const auto& epoch : report.epochs) {
    EXPECT_EQ(epoch.delivered, 117u);
    EXPECT_EQ(epoch.missing, 0u);
    EXPECT_EQ(epoch.padded, 3u);
  }
}

TEST(Audit, NoticesASampleThatCameTwiceAndOneThatNeverCame) {
  const TemporaryFolder folder, audit;
  const auto set = open_shards(folder, {40});
  auto writer = AuditWriter::open(audit.path(), {}).value();
  Batch batch;
  for (uint32_t i = 0; i < 40; ++i)
    batch.rows.push_back({.set = 0, .id = {0, i == 7 ? 8 : i}, .position = i, .padded = false});
  ASSERT_TRUE(writer->append(batch, 0, std::vector<uint64_t>(40, 1)).ok());
  writer.reset();
  const auto report = check_audit({audit.path()}, *set).value();
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.epochs.at(0).missing, 1u);
  EXPECT_EQ(report.epochs.at(0).duplicates, 1u);
}

}  // namespace
}  // namespace headrace
