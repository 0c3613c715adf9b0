// pread in threads against io_uring: which system call should read samples of local files?
//
//   ls shards/*.tar | read_calls THREADS BYTES     samples of BYTES at random places, in turn
//
// Both read the same places into the same memory, as large as a few batches. io_uring submits 32
// reads with one call and waits for all of them. Prints a line a round; the first warms up.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kDepth = 32;
constexpr size_t kMemory = size_t{64} << 20;  // a thread's part of the batches in flight
constexpr int kRounds = 6;

struct Place {
  int file;
  off_t offset;
};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::vector<Place> random_places(size_t bytes) {
  std::vector<Place> places;
  for (std::string path; std::getline(std::cin, path);) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0) fail(path.c_str());
    for (off_t at = 0; at + static_cast<off_t>(bytes) <= status.st_size;
         at += static_cast<off_t>(bytes))
      places.push_back({file, at});
  }
  std::shuffle(places.begin(), places.end(), std::mt19937_64(1));
  return places;
}

/// A ring of one thread, by the bare system calls.
class Ring {
 public:
  Ring() {
    io_uring_params made{};
    ring_ = static_cast<int>(syscall(SYS_io_uring_setup, kDepth, &made));
    if (ring_ < 0) fail("io_uring_setup");
    if ((made.features & IORING_FEAT_SINGLE_MMAP) == 0) fail("io_uring of an old kernel");
    const size_t size = std::max<size_t>(made.sq_off.array + made.sq_entries * sizeof(unsigned),
                                         made.cq_off.cqes + made.cq_entries * sizeof(io_uring_cqe));
    char* base = map(size, IORING_OFF_SQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(
        map(made.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    tail_ = reinterpret_cast<unsigned*>(base + made.sq_off.tail);
    array_ = reinterpret_cast<unsigned*>(base + made.sq_off.array);
    mask_ = *reinterpret_cast<unsigned*>(base + made.sq_off.ring_mask);
    done_head_ = reinterpret_cast<unsigned*>(base + made.cq_off.head);
    done_mask_ = *reinterpret_cast<unsigned*>(base + made.cq_off.ring_mask);
    done_ = reinterpret_cast<io_uring_cqe*>(base + made.cq_off.cqes);
  }
  ~Ring() { close(ring_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Reads `count` places, at most kDepth, and waits for them.
  void read(const Place* places, unsigned count, char* into, size_t bytes) {
    unsigned tail = *tail_;
    for (unsigned i = 0; i < count; ++i, ++tail) {
      io_uring_sqe& entry = entries_[tail & mask_];
      entry = {};
      entry.opcode = IORING_OP_READ;
      entry.fd = places[i].file;
      entry.off = static_cast<__u64>(places[i].offset);
      entry.addr = reinterpret_cast<__u64>(into + i * bytes);
      entry.len = static_cast<__u32>(bytes);
      array_[tail & mask_] = tail & mask_;
    }
    std::atomic_ref(*tail_).store(tail, std::memory_order_release);
    if (syscall(SYS_io_uring_enter, ring_, count, count, IORING_ENTER_GETEVENTS, nullptr, 0) < 0)
      fail("io_uring_enter");
    unsigned head = *done_head_;
    for (unsigned i = 0; i < count; ++i, ++head)
      if (done_[head & done_mask_].res != static_cast<int>(bytes)) fail("a read of io_uring");
    std::atomic_ref(*done_head_).store(head, std::memory_order_release);
  }

 private:
  char* map(size_t size, unsigned long long what) const {
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_,
                    static_cast<off_t>(what));
    if (at == MAP_FAILED) fail("mmap");
    return static_cast<char*>(at);
  }

  int ring_ = -1;
  unsigned mask_ = 0, done_mask_ = 0;
  unsigned *tail_ = nullptr, *array_ = nullptr, *done_head_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
  io_uring_cqe* done_ = nullptr;
};

void by_pread(const Place* places, unsigned count, char* into, size_t bytes) {
  for (unsigned i = 0; i < count; ++i)
    if (pread(places[i].file, into + i * bytes, bytes, places[i].offset) !=
        static_cast<ssize_t>(bytes))
      fail("pread");
}

/// GB/s of all threads. `reader()` makes a thread's function of (places, count, into, bytes).
template <typename MakeReader>
double measure(const std::vector<Place>& places, size_t bytes, std::vector<std::vector<char>>& all,
               MakeReader reader) {
  std::atomic<size_t> next{0};
  const auto work = [&](std::vector<char>& memory) {
    auto read = reader();
    size_t at = 0;
    for (size_t i = next.fetch_add(kDepth); i < places.size(); i = next.fetch_add(kDepth)) {
      const auto count = static_cast<unsigned>(std::min<size_t>(kDepth, places.size() - i));
      if (at + count * bytes > memory.size()) at = 0;
      read(&places[i], count, memory.data() + at, bytes);
      at += count * bytes;
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (auto& memory : all) threads.emplace_back(work, std::ref(memory));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return 1e-9 * static_cast<double>(places.size() * bytes) / seconds.count();
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc == 3 ? std::atoi(argv[1]) : 0;
  const long bytes = argc == 3 ? std::atol(argv[2]) : 0;
  if (threads < 1 || bytes < 1 || bytes > (1 << 20)) {
    std::fputs("usage: ls FILES | read_calls THREADS BYTES (at most 1 MiB)\n", stderr);
    return 2;
  }
  const auto size = static_cast<size_t>(bytes);
  const std::vector<Place> places = random_places(size);
  std::vector<std::vector<char>> memory(static_cast<size_t>(threads), std::vector<char>(kMemory));
  for (int round = 0; round < kRounds; ++round) {
    const double preads = measure(places, size, memory, [] { return &by_pread; });
    const double rings = measure(places, size, memory, [] {
      return [ring = std::make_unique<Ring>()](auto... what) { ring->read(what...); };
    });
    std::printf("%s pread %.2f GB/s  io_uring %.2f GB/s\n", round == 0 ? "warm-up" : "       ",
                preads, rings);
  }
  return 0;
}
