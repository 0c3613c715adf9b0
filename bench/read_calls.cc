// pread in threads against io_uring, for what the engine does: reads of single samples out of files
// in the page cache, straight into a slot. Prints GB/s of both in turn, and the ratio.
//
//   read_calls FILE [THREADS]
//
// The file should be larger than the caches and smaller than the memory; a photo shard will do.
#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr size_t kSlotBytes = size_t{64} << 20;
constexpr unsigned kDepth = 32;  // requests of a ring in flight

struct Job {
  int file;
  size_t file_bytes;
  size_t read_bytes;
  size_t reads;
};

/// Random places, as a shuffled epoch reads them; destinations go round in a slot.
class Reads {
 public:
  Reads(const Job& job, unsigned seed) : job_(job), random_(seed), slot_(kSlotBytes, 1) {}
  off_t offset() { return static_cast<off_t>(random_() % (job_.file_bytes - job_.read_bytes)); }
  char* place() {
    at_ = at_ + 2 * job_.read_bytes > kSlotBytes ? 0 : at_ + job_.read_bytes;
    return slot_.data() + at_;
  }

 private:
  const Job& job_;
  std::mt19937_64 random_;
  std::vector<char> slot_;
  size_t at_ = 0;
};

void check(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

void read_by_pread(const Job& job, Reads& reads) {
  for (size_t i = 0; i < job.reads; ++i)
    check(pread(job.file, reads.place(), job.read_bytes, reads.offset()) ==
              static_cast<ssize_t>(job.read_bytes),
          "pread");
}

void read_by_uring(const Job& job, Reads& reads) {
  io_uring ring{};
  check(io_uring_queue_init(kDepth, &ring, 0) == 0, "io_uring_queue_init");
  for (size_t done = 0; done < job.reads;) {
    const auto batch = static_cast<unsigned>(std::min<size_t>(kDepth, job.reads - done));
    for (unsigned i = 0; i < batch; ++i)
      io_uring_prep_read(io_uring_get_sqe(&ring), job.file, reads.place(),
                         static_cast<unsigned>(job.read_bytes),
                         static_cast<uint64_t>(reads.offset()));
    io_uring_submit_and_wait(&ring, batch);
    for (unsigned i = 0; i < batch; ++i) {
      io_uring_cqe* cqe = nullptr;
      check(io_uring_wait_cqe(&ring, &cqe) == 0 && cqe->res == static_cast<int>(job.read_bytes),
            "io_uring read");
      io_uring_cqe_seen(&ring, cqe);
    }
    done += batch;
  }
  io_uring_queue_exit(&ring);
}

/// GB/s of all threads together.
double measure(const Job& job, unsigned threads, void (*read)(const Job&, Reads&)) {
  std::vector<Reads> reads;
  for (unsigned t = 0; t < threads; ++t) reads.emplace_back(job, t);
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> workers;
    for (Reads& r : reads) workers.emplace_back([&job, &r, read] { read(job, r); });
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  const size_t bytes = job.reads * job.read_bytes * threads;
  return static_cast<double>(bytes) / spent.count() / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  check(argc >= 2, "usage: read_calls FILE [THREADS]");
  const int file = open(argv[1], O_RDONLY | O_CLOEXEC);
  struct stat info {};
  check(file >= 0 && fstat(file, &info) == 0, argv[1]);
  const unsigned threads = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 2;
  std::printf("%10s %12s %12s %12s\n", "read", "pread GB/s", "uring GB/s", "pread/uring");
  for (const size_t bytes : std::array<size_t, 3>{2560, 86 << 10, 1 << 20}) {
    const Job job{.file = file,
                  .file_bytes = static_cast<size_t>(info.st_size),
                  .read_bytes = bytes,
                  .reads = (size_t{256} << 20) / bytes};
    std::vector<double> pread_rates, uring_rates;
    for (int round = 0; round < 6; ++round) {  // the first one warms up
      pread_rates.push_back(measure(job, threads, read_by_pread));
      uring_rates.push_back(measure(job, threads, read_by_uring));
    }
    const auto median = [](std::vector<double> rates) {
      std::sort(rates.begin() + 1, rates.end());
      return rates[3];
    };
    const double a = median(pread_rates), b = median(uring_rates);
    std::printf("%10zu %12.2f %12.2f %12.2f\n", bytes, a, b, a / b);
  }
  close(file);
}
