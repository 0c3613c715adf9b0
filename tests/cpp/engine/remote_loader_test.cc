// Loaders whose shards come over HTTP, from the product's own server: the same batches as from
// files, and an end at any moment. Under ThreadSanitizer this is the test of what is fetched ahead.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "headrace/loader.h"
#include "sample_shards.h"
#include "serve/file_server.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;

struct Epoch {
  std::vector<uint64_t> positions;
  std::string bytes;
};

class RemoteLoader : public ::testing::Test {
 protected:
  RemoteLoader()
      : paths_(write_shards(folder_, {150, 90, 120, 40})),
        server_(FileServer::start({.folder = folder_.path()}).value()) {
    for (std::string& path : paths_)
      urls_.push_back("http://127.0.0.1:" + std::to_string(server_->port()) +
                      path.substr(folder_.path().size()));
  }

  static std::unique_ptr<Loader> make(const std::vector<std::string>& shards,
                                      uint64_t memory = uint64_t{64} << 20) {
    LoaderOptions options;
    options.sets = {Dataset::open(shards).value()};
    options.shuffle = true;
    options.seed = 3;
    options.lanes = 4;
    options.window_bytes = 20'000;
    options.total = 16;
    options.threads = 3;
    options.memory_bytes = memory;
    options.fields = {{.name = "bin", .sources = {"bin"}, .kind = BytesSpec{}, .fallback = {}}};
    return Loader::create(std::move(options)).value();
  }

  static Epoch epoch(Loader& loader) {
    Epoch run;
    while (true) {
      const auto batch = loader.next();
      EXPECT_TRUE(batch.ok()) << batch.error().to_string();
      if (!batch.ok() || *batch == nullptr) return run;
      for (const auto& row : (*batch)->rows) run.positions.push_back(row.position);
      run.bytes += as_text((*batch)->columns[0].data);
    }
  }

  TemporaryFolder folder_;
  std::vector<std::string> paths_;
  std::vector<std::string> urls_;
  std::unique_ptr<FileServer> server_;
};

TEST_F(RemoteLoader, GivesWhatFilesGive) {
  const auto files = make(paths_);
  const auto parts = make(urls_);
  const auto rows = make(urls_, 30'000);  // windows do not fit
  EXPECT_NE(parts->explain().find("whole parts"), std::string::npos);
  EXPECT_NE(rows->explain().find("own bytes"), std::string::npos);
  for (int e = 0; e < 5; ++e) {  // from the second on the next one is read ahead
    const Epoch truth = epoch(*files);
    const Epoch from_parts = epoch(*parts);
    EXPECT_EQ(from_parts.positions, truth.positions);
    EXPECT_EQ(from_parts.bytes, truth.bytes);
    EXPECT_EQ(epoch(*rows).bytes, truth.bytes);
  }
}

TEST_F(RemoteLoader, EndsWithReadsUnderWay) {
  for (int i = 0; i < 20; ++i) {
    const auto loader = make(urls_);
    for (int step = 0; step < i; ++step) ASSERT_TRUE(loader->next().ok());
  }
}

TEST_F(RemoteLoader, IsStoppedByAnotherThreadAtAnyMoment) {
  for (int i = 0; i < 20; ++i) {
    const auto loader = make(urls_);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(700 * i));
      loader->stop();
    });
    // Epochs follow each other, so runs are replaced while stop() comes.
    auto batch = loader->next();
    while (batch.ok()) batch = loader->next();
    EXPECT_EQ(batch.error().code, Code::kInterrupted) << batch.error().to_string();
    stopper.join();
  }
}

}  // namespace
}  // namespace headrace
