#include "engine/slot_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace headrace {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kPage = 4096;

/// A file in memory that has no name.
int nameless_file() {
#ifdef __linux__
  return memfd_create("headrace-slot", MFD_CLOEXEC);
#else
  char path[] = "/tmp/headrace-slot-XXXXXX";
  const int descriptor = mkstemp(path);
  if (descriptor >= 0) unlink(path);
  return descriptor;
#endif
}

/// Memory from the system: anonymous, or a nameless file. Move-only owner.
class Region {
 public:
  Region(uint64_t bytes, bool shared, bool huge) : bytes_(bytes) {
    if (shared) {
      static std::atomic<uint64_t> next_id{1};
      id_ = next_id++;
      descriptor_ = nameless_file();
      if (descriptor_ < 0) throw std::bad_alloc();
    }
    const int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    const bool sized = !shared || ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0;
    void* at =
        sized ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor_, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
      if (descriptor_ >= 0) close(descriptor_);
      throw std::bad_alloc();
    }
    at_ = static_cast<std::byte*>(at);
#ifdef MADV_HUGEPAGE
    if (huge && bytes >= kHugePage) madvise(at_, bytes, MADV_HUGEPAGE);
#endif
  }
  Region(Region&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        id_(other.id_),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  Region& operator=(Region&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    std::swap(id_, other.id_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Region() {
    if (at_ != nullptr) munmap(at_, bytes_);
    if (descriptor_ >= 0) close(descriptor_);
  }

  /// Gives up ownership: the memory stays mapped.
  void leak() {
    at_ = nullptr;
    descriptor_ = -1;
  }

  uint64_t size() const { return bytes_; }
  Slot slot() const { return {{at_, bytes_}, id_, descriptor_}; }

 private:
  std::byte* at_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t id_ = 0;
  int descriptor_ = -1;
};

/// Ragged batches differ in size: an eighth of slack, so that few slots have to be made anew.
uint64_t region_size(uint64_t bytes) {
  const uint64_t unit = bytes >= kHugePage ? kHugePage : kPage;
  return (bytes + bytes / 8 + unit) / unit * unit;
}

}  // namespace

struct SlotPool::Core {
  Core(unsigned keep_free, bool share, bool huge_pages)
      : keep(keep_free), shared(share), huge(huge_pages) {}

  Region take(uint64_t bytes) {
    {
      std::scoped_lock lock(mutex);
      const auto fits = std::find_if(free.rbegin(), free.rend(),
                                     [&](const Region& r) { return r.size() >= bytes; });
      if (fits != free.rend()) {
        Region region = std::move(*fits);
        free.erase(std::next(fits).base());
        return region;
      }
      if (!free.empty()) drop(0);  // too small: a larger one takes its place
    }
    Region region(region_size(bytes), shared, huge);
    std::scoped_lock lock(mutex);
    ++usage.slots;
    usage.bytes += region.size();
    usage.peak_slots = std::max(usage.peak_slots, usage.slots);
    return region;
  }

  void give_back(Region region) {
    std::scoped_lock lock(mutex);
    free.push_back(std::move(region));
    if (free.size() > keep) drop(0);
  }

  /// Precondition: the lock is held.
  void drop(size_t i) {
    --usage.slots;
    usage.bytes -= free[i].size();
    free.erase(free.begin() + static_cast<ptrdiff_t>(i));
  }

  const unsigned keep;
  const bool shared;
  const bool huge;
  const pid_t pid = getpid();
  std::mutex mutex;
  std::vector<Region>
      free;  ///< the one that came back last, which a cache may still hold, goes first
  Usage usage;
};

SlotPool::SlotPool(unsigned keep, bool shared, bool huge)
    : core_(std::make_shared<Core>(keep, shared, huge)) {}

std::shared_ptr<const Slot> SlotPool::take(uint64_t bytes) {
  struct Held {
    Held(std::shared_ptr<Core> of, Region from)
        : core(std::move(of)), region(std::move(from)), slot(region.slot()) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      if (getpid() == core->pid)
        core->give_back(std::move(region));
      else
        region.leak();  // a forked child: the pool's lock may be held by a thread that is not here
    }

    std::shared_ptr<Core> core;
    Region region;
    Slot slot;
  };
  const auto held = std::make_shared<Held>(core_, core_->take(bytes));
  return {held, &held->slot};
}

SlotPool::Usage SlotPool::usage() const {
  std::scoped_lock lock(core_->mutex);
  return core_->usage;
}

}  // namespace headrace
