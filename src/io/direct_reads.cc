#include "io/direct_reads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "headrace/notes.h"
#include "io/cache/per_process.h"
#include "io/environment.h"

namespace headrace {
namespace {

constexpr uint64_t kUsualBlock = 4096;
constexpr uint64_t kSmallWindow = uint64_t{128} << 10;
constexpr uint64_t kLargestWindow = uint64_t{1} << 20;
constexpr unsigned kThreads = 16;

uint64_t round_down(uint64_t number, uint64_t block) { return number / block * block; }
uint64_t round_up(uint64_t number, uint64_t block) { return round_down(number + block - 1, block); }

/// The last bytes that a thread has read through memory of its own.
struct Window {
  std::vector<std::byte> memory;
  MutableBytes aligned;  // in it
  uint64_t serial = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  bool holds(uint64_t file, uint64_t offset) const {
    return serial == file && begin <= offset && offset < end;
  }
  void take_memory() {
    memory.resize(kLargestWindow + kSmallWindow);
    const uint64_t at = reinterpret_cast<uintptr_t>(memory.data());
    aligned = MutableBytes(memory).subspan(round_up(at, kSmallWindow) - at, kLargestWindow);
  }
};

struct Alignment {
  uint64_t block = kUsualBlock;
  uint64_t memory = kUsualBlock;
};

Alignment alignment_of([[maybe_unused]] const File& file) {
#ifdef STATX_DIOALIGN
  struct statx info {};
  const bool known = ::statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 &&
                     (info.stx_mask & STATX_DIOALIGN) != 0 && info.stx_dio_offset_align != 0;
  // A block that does not fit into a window is none that a file system has.
  if (known && info.stx_dio_offset_align <= kSmallWindow)
    return {info.stx_dio_offset_align, std::max<uint64_t>(info.stx_dio_mem_align, 1)};
#endif
  return {};
}

bool set_direct(int descriptor, bool direct) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return flags >= 0 && ::fcntl(descriptor, F_SETFL, wanted) == 0;
}

void note_refusal() {
  note_once(
      "HEADRACE_DIRECT=1 asks for reads past the page cache, which a file system refuses: its "
      "files are read through the page cache");
}

}  // namespace

bool wants_direct_reads() { return environment_flag({"HEADRACE_DIRECT"}); }

DirectReads::DirectReads(uint64_t block, uint64_t memory) : block_(block), memory_(memory) {
  static std::atomic<uint64_t> files{0};
  serial_ = ++files;
}

std::optional<DirectReads> DirectReads::begin(const File& file) {
  if (!set_direct(file.get(), true)) {
    note_refusal();
    return std::nullopt;
  }
  const Alignment alignment = alignment_of(file);
  return DirectReads(alignment.block, alignment.memory);
}

IoThreads& DirectReads::threads() {
  static PerProcess<IoThreads> threads;
  return threads.get([] { return std::make_unique<IoThreads>(kThreads); });
}

bool DirectReads::is_aligned(uint64_t offset, MutableBytes into) const {
  return into.size() >= block_ && offset % block_ == 0 &&
         reinterpret_cast<uintptr_t>(into.data()) % memory_ == 0;
}

ssize_t DirectReads::read(int descriptor, MutableBytes into, uint64_t offset) const {
  size_t done = 0;
  while (done < into.size()) {
    const MutableBytes rest = into.subspan(done);
    const uint64_t from = offset + done;
    const ssize_t got =
        is_aligned(from, rest)
            ? read_fully(descriptor, rest.first(round_down(rest.size(), block_)), from, block_)
            : read_window(descriptor, rest, from);
    // Some take the flag, and refuse the first read.
    if (got < 0 && errno == EINVAL && set_direct(descriptor, false)) {
      note_refusal();
      return read_fully(descriptor, into, offset);
    }
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

// What of the bytes lies in one window.
ssize_t DirectReads::read_window(int descriptor, MutableBytes into, uint64_t offset) const {
  thread_local Window window;
  if (!window.holds(serial_, offset)) {
    if (window.memory.empty()) window.take_memory();
    window.serial = 0;  // until the read has been made
    window.begin = round_down(offset, block_);
    const uint64_t wanted = round_up(offset - window.begin + into.size(), block_);
    const MutableBytes memory =
        window.aligned.first(std::clamp(wanted, kSmallWindow, kLargestWindow));
    const ssize_t got = read_fully(descriptor, memory, window.begin, block_);
    if (got < 0) return -1;
    window.end = window.begin + static_cast<uint64_t>(got);
    window.serial = serial_;
    if (offset >= window.end) return 0;
  }
  const size_t size = std::min<uint64_t>(into.size(), window.end - offset);
  std::memcpy(into.data(), window.aligned.data() + (offset - window.begin), size);
  return static_cast<ssize_t>(size);
}

}  // namespace headrace
