#include "engine/block_hints.h"

#include <gtest/gtest.h>

#include "plan/shard_table.h"
#include "sample_shards.h"

namespace headrace {
namespace {

/// Notes what is announced.
class HintedSource : public ByteSource {
 public:
  struct Range {
    uint64_t offset, size;
    bool operator==(const Range&) const = default;
  };

  explicit HintedSource(uint64_t size) : size_(size) {}
  const std::string& name() const override { return name_; }
  uint64_t size() const override { return size_; }
  Status read_at(uint64_t, MutableBytes) const override { return {}; }
  void will_need(uint64_t offset, uint64_t size) const override { hints.push_back({offset, size}); }

  mutable std::vector<Range> hints;

 private:
  const std::string name_ = "shard";
  const uint64_t size_;
};

/// One shard of several blocks.
class BlockHintsTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kSamples = 6000;  // of 2 KiB each: three blocks or so

  BlockHintsTest() {
    write_shards(folder_, {kSamples});
    set_ = Dataset::open({folder_.path()}).value();
    view_.index = set_->index(0).value();
    view_.archive = source_;
    block_ = set_->table().block_samples[0];
  }

  void row(uint32_t sample) {
    hints_.row_will_be_read(*set_, {.set = 0, .id = {.shard = 0, .sample = sample}}, view_);
  }
  HintedSource::Range block(uint32_t number) const {
    const uint32_t first = number * block_;
    const uint64_t begin = view_.index->sample_begin(first);
    const uint32_t last = std::min(kSamples, first + block_) - 1;
    return {begin, view_.index->sample_end(last) - begin};
  }

  TemporaryFolder folder_;
  std::shared_ptr<const Dataset> set_;
  std::shared_ptr<const HintedSource> source_ = std::make_shared<HintedSource>(0);
  ShardView view_;
  uint32_t block_ = 0;
  BlockHints hints_;
};

TEST_F(BlockHintsTest, TheFirstRowOfABlockAnnouncesTheWholeBlockOnce) {
  ASSERT_GT(kSamples, 2 * block_) << "the shard should have several blocks";
  row(block_ + 1);
  row(block_);
  row(2 * block_ - 1);
  EXPECT_EQ(source_->hints, std::vector<HintedSource::Range>{block(1)});
  row(block_ - 1);
  EXPECT_EQ(source_->hints.back(), block(0));
}

TEST_F(BlockHintsTest, TheLastBlockEndsWithTheShard) {
  row(kSamples - 1);
  const uint32_t last = (kSamples - 1) / block_;
  EXPECT_EQ(source_->hints, std::vector<HintedSource::Range>{block(last)});
}

TEST_F(BlockHintsTest, AllBlocksTogetherAreAllSamples) {
  for (uint32_t sample = 0; sample < kSamples; ++sample) row(sample);
  uint64_t at = view_.index->sample_begin(0);
  for (const auto& hint : source_->hints) {
    EXPECT_EQ(hint.offset, at);
    at += hint.size;
  }
  EXPECT_EQ(at, view_.index->sample_end(kSamples - 1));
}

TEST_F(BlockHintsTest, LooseFilesAreNotAnnounced) {
  view_.archive = nullptr;
  row(0);
  EXPECT_TRUE(source_->hints.empty());
}

TEST(BlockHints, AreOffUntilAReadWasSlowAndForAWhileAfterIt) {
  BlockHints hints;
  for (int ticket = 0; ticket < 3; ++ticket) EXPECT_FALSE(hints.begin_ticket());
  hints.saw_slow_read();
  int on = 0;
  while (hints.begin_ticket()) ++on;
  EXPECT_EQ(on, 64);
  EXPECT_FALSE(hints.begin_ticket());
  hints.saw_slow_read();
  EXPECT_TRUE(hints.begin_ticket());
}

}  // namespace
}  // namespace headrace
