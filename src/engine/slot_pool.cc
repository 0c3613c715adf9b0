#include "engine/slot_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace headrace {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kPage = 4096;

/// Anonymous memory from the system. Move-only owner.
class Region {
 public:
  explicit Region(uint64_t bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    at_ = static_cast<std::byte*>(at);
#ifdef MADV_HUGEPAGE
    if (bytes >= kHugePage) madvise(at_, bytes, MADV_HUGEPAGE);
#endif
  }
  Region(Region&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Region& operator=(Region&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Region() {
    if (at_ != nullptr) munmap(at_, bytes_);
  }

  /// Gives up ownership: the memory stays mapped.
  void leak() { at_ = nullptr; }

  uint64_t size() const { return bytes_; }
  MutableBytes bytes() const { return {at_, bytes_}; }

 private:
  std::byte* at_ = nullptr;
  uint64_t bytes_ = 0;
};

/// Ragged batches differ in size: an eighth of slack, so that few slots have to be made anew.
uint64_t region_size(uint64_t bytes) {
  const uint64_t unit = bytes >= kHugePage ? kHugePage : kPage;
  return (bytes + bytes / 8 + unit) / unit * unit;
}

}  // namespace

struct SlotPool::Core {
  explicit Core(unsigned keep_free) : keep(keep_free) {}

  Region take(uint64_t bytes) {
    {
      std::scoped_lock lock(mutex);
      const auto fits = std::ranges::find_if(free, [&](auto& r) { return r.size() >= bytes; });
      if (fits != free.end()) {
        Region region = std::move(*fits);
        free.erase(fits);
        return region;
      }
      if (!free.empty()) drop(free.size() - 1);  // too small: a larger one takes its place
    }
    Region region(region_size(bytes));
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
  const pid_t pid = getpid();
  std::mutex mutex;
  std::vector<Region> free;
  Usage usage;
};

SlotPool::SlotPool(unsigned keep) : core_(std::make_shared<Core>(keep)) {}

std::shared_ptr<MutableBytes> SlotPool::take(uint64_t bytes) {
  struct Slot {
    Slot(std::shared_ptr<Core> of, Region from)
        : core(std::move(of)), region(std::move(from)), memory(region.bytes()) {}
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() {
      if (getpid() == core->pid)
        core->give_back(std::move(region));
      else
        region.leak();  // a forked child: the pool's lock may be held by a thread that is not here
    }

    std::shared_ptr<Core> core;
    Region region;
    MutableBytes memory;
  };
  const auto slot = std::make_shared<Slot>(core_, core_->take(bytes));
  return {slot, &slot->memory};
}

SlotPool::Usage SlotPool::usage() const {
  std::scoped_lock lock(core_->mutex);
  return core_->usage;
}

}  // namespace headrace
