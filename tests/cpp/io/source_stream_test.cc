// Streams over objects: the same bytes whatever is read and sought, few of them ahead, and errors
// at the place that they belong to. Against a server that misbehaves, too.
#include "io/source_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "io/hostile_server.h"
#include "io/http/curl.h"
#include "io/http/http_store.h"

namespace headrace {
namespace {

constexpr uint64_t kPart = SourceStream::kPartBytes;

std::byte byte_at(uint64_t offset) {
  return static_cast<std::byte>((offset * 0x9E3779B97F4A7C15U) >> 56U);
}

/// Bytes that follow from their offsets, brought by a thread of their own each, some time later.
class SlowSource : public ByteSource {
 public:
  SlowSource(uint64_t size, uint64_t bad_from, std::vector<std::jthread>& threads)
      : size_(size), bad_from_(bad_from), threads_(threads) {}

  const std::string& name() const override { return name_; }
  uint64_t size() const override { return size_; }
  Status read_at(uint64_t offset, MutableBytes into) const override {
    if (offset + into.size() > bad_from_) return Error{.message = "bad"};
    for (size_t i = 0; i < into.size(); ++i) into[i] = byte_at(offset + i);
    return {};
  }
  void will_need(uint64_t, uint64_t) const override {}
  bool is_remote() const override { return true; }
  void start_read(uint64_t offset, MutableBytes into, Deadline, const Done& done) const override {
    asked_ += into.size();
    threads_.emplace_back([=, this] {
      std::this_thread::sleep_for(std::chrono::microseconds(offset * 7919 % 3000));
      done(read_at(offset, into));
    });
  }
  uint64_t asked() const { return asked_; }

 private:
  const std::string name_ = "slow";
  const uint64_t size_;
  const uint64_t bad_from_;
  mutable std::atomic<uint64_t> asked_{0};
  std::vector<std::jthread>& threads_;
};

class SourceStreamTest : public testing::Test {
 protected:
  std::shared_ptr<SlowSource> slow(uint64_t size, uint64_t bad_from = UINT64_MAX) {
    return std::make_shared<SlowSource>(size, bad_from, threads_);
  }

 private:
  std::vector<std::jthread> threads_;  // not the source's: one of them may be the last to hold it
};

uint64_t wrong_bytes(std::span<const std::byte> bytes, uint64_t offset) {
  uint64_t wrong = 0;
  for (size_t i = 0; i < bytes.size(); ++i) wrong += bytes[i] != byte_at(offset + i);
  return wrong;
}

TEST_F(SourceStreamTest, GivesTheBytesWhateverIsReadAndSought) {
  const uint64_t size = 5 * kPart + 12345;
  const auto source = slow(size);
  SourceStream stream(source);
  std::mt19937_64 draw(3);
  std::vector<std::byte> into(3 * kPart);
  for (int i = 0; i < 300; ++i) {
    if (draw() % 4 == 0) stream.seek(draw() % (size + 1000));
    const uint64_t at = stream.position();
    const auto got = stream.read(MutableBytes(into).first(draw() % into.size()));
    ASSERT_TRUE(got.ok());
    ASSERT_EQ(wrong_bytes(std::span(into).first(*got), at), 0U);
    ASSERT_EQ(stream.position(), at + *got);
    ASSERT_TRUE(at < size || *got == 0);
  }
}

TEST_F(SourceStreamTest, ReadsAheadAFewPartsOnly) {
  const auto source = slow(100 * kPart);
  SourceStream stream(source);
  std::byte one{};
  ASSERT_TRUE(stream.read({&one, 1}).ok());
  EXPECT_EQ(source->asked(), 2 * kPart);
  std::vector<std::byte> part(kPart);
  while (stream.position() < 50 * kPart) ASSERT_TRUE(stream.read(part).ok());
  EXPECT_LE(source->asked(), stream.position() + SourceStream::kMostParts * kPart);
}

TEST_F(SourceStreamTest, GoesBackWithinAPartWithoutAskingAgain) {
  const auto source = slow(1000);
  SourceStream stream(source);
  std::vector<std::byte> into(2000);
  EXPECT_EQ(*stream.read(into), 1000U);
  stream.seek(0);
  EXPECT_EQ(*stream.read(into), 1000U);
  EXPECT_EQ(source->asked(), 1000U);
}

TEST_F(SourceStreamTest, AnErrorComesAtItsPlaceAndAgain) {
  SourceStream stream(slow(4 * kPart, 2 * kPart));
  std::vector<std::byte> part(kPart);
  uint64_t good = 0;
  for (;;) {
    const auto got = stream.read(part);
    if (!got.ok()) break;
    good += *got;
  }
  EXPECT_EQ(good, 2 * kPart);
  EXPECT_FALSE(stream.read(part).ok());
  stream.seek(0);
  EXPECT_TRUE(stream.read(part).ok());
}

TEST_F(SourceStreamTest, MayEndWhileItsPartsAreOnTheirWay) {
  const auto source = slow(10 * kPart);
  for (int i = 0; i < 20; ++i) {
    SourceStream stream(source);
    stream.wait(std::chrono::milliseconds(0));
  }
}

TEST_F(SourceStreamTest, ReadsThroughFaultsOfTheServer) {
  std::atomic<uint64_t> count{0};
  HostileServer server(9 * kPart + 17, [&](const HostileServer::Request&) {
    constexpr Fault kFaults[] = {Fault::none, Fault::reset_in_body, Fault::answer_503, Fault::none,
                                 Fault::reset_before_header};
    return kFaults[count++ % std::size(kFaults)];
  });
  ASSERT_TRUE(load_curl().ok());
  const auto fetcher =
      std::make_shared<Fetcher>(FetcherOptions{.first_delay = std::chrono::milliseconds(1)});
  uint64_t at = 0;
  {
    const HttpStore store(*Url::parse(server.url()), fetcher, nullptr);
    auto source = store.open_known("object", 9 * kPart + 17);
    ASSERT_TRUE(source.ok()) << source.error().to_string();
    SourceStream stream(std::move(*source));
    std::vector<std::byte> part(100'000);
    for (;;) {
      const auto got = stream.read(part);
      ASSERT_TRUE(got.ok()) << got.error().to_string();
      if (*got == 0) break;
      for (size_t i = 0; i < *got; ++i) ASSERT_EQ(part[i], server.byte_at(at + i));
      at += *got;
    }
  }
  // Its thread lets go of the last answer a moment after we have it, and must not be the one that
  // ends the fetcher.
  while (fetcher.use_count() > 1) std::this_thread::yield();
  EXPECT_EQ(at, 9 * kPart + 17);
}

}  // namespace
}  // namespace headrace
