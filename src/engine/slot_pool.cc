#include "engine/slot_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "engine/huge_pages.h"

namespace headrace {
namespace {

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

/// Ragged batches differ in size: an eighth of slack, so that few slots have to be made anew.
uint64_t with_slack(uint64_t bytes) {
  const uint64_t unit = bytes >= kHugePage ? kHugePage : kPage;
  return (bytes + bytes / 8 + unit) / unit * unit;
}

/// Memory from the system: anonymous, or a nameless file. Move-only owner.
class Region {
 public:
  /// Of at least `used` bytes. `lock` may be null.
  Region(uint64_t used, bool shared, bool awaited, const std::shared_ptr<PageLock>& lock)
      : bytes_(with_slack(used)) {
    if (shared) {
      static std::atomic<uint64_t> next_id{1};
      id_ = next_id++;
      descriptor_ = nameless_file();
      if (descriptor_ < 0) throw std::bad_alloc();
    }
    const int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    const bool sized = !shared || ftruncate(descriptor_, static_cast<off_t>(bytes_)) == 0;
    void* at =
        sized ? mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, descriptor_, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
      if (descriptor_ >= 0) close(descriptor_);
      throw std::bad_alloc();
    }
    at_ = static_cast<std::byte*>(at);
    if (awaited)
      make_huge_pages_while_cheap({at_, used});
    else
      advise_huge_pages({at_, bytes_});
    if (lock && lock->lock({at_, bytes_})) lock_ = lock;
  }
  Region(Region&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        id_(other.id_),
        descriptor_(std::exchange(other.descriptor_, -1)),
        lock_(std::move(other.lock_)) {}
  Region& operator=(Region&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    std::swap(id_, other.id_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(lock_, other.lock_);
    return *this;
  }
  ~Region() {
    if (lock_) lock_->unlock({at_, bytes_});
    if (at_ != nullptr) munmap(at_, bytes_);
    if (descriptor_ >= 0) close(descriptor_);
  }

  /// Gives up ownership: the memory stays mapped.
  void leak() {
    at_ = nullptr;
    descriptor_ = -1;
    lock_.reset();
  }

  uint64_t size() const { return bytes_; }
  Slot slot() const { return {{at_, bytes_}, id_, descriptor_}; }

 private:
  std::byte* at_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t id_ = 0;
  int descriptor_ = -1;
  std::shared_ptr<PageLock> lock_;  ///< nullptr: pageable
};

}  // namespace

struct SlotPool::Core {
  explicit Core(SlotPoolOptions o) : options(o) {}

  Region take(uint64_t bytes) {
    if (std::optional<Region> known = take_free(bytes)) return std::move(*known);
    const auto [is_first, lock_with] = for_new_slot();
    Region region(bytes, options.shared, is_first, lock_with);
    std::scoped_lock lock(mutex);
    ++usage.slots;
    usage.bytes += region.size();
    usage.peak_slots = std::max(usage.peak_slots, usage.slots);
    drop_what_is_too_much();
    return region;
  }

  /// The first slot's batch is waited for.
  std::pair<bool, std::shared_ptr<PageLock>> for_new_slot() {
    std::scoped_lock lock(mutex);
    return {usage.peak_slots == 0, page_lock};
  }

  /// The smallest that fits, and of those the one that came back last: a cache may still hold it.
  std::optional<Region> take_free(uint64_t bytes) {
    std::scoped_lock lock(mutex);
    const auto fits = free.lower_bound({bytes, 0});
    if (fits == free.end()) {
      // None does: where few are kept, the new one takes the place of one.
      if (options.keep > 0 && !free.empty()) drop_oldest();
      return std::nullopt;
    }
    Region region = std::move(fits->second);
    free.erase(fits);
    return region;
  }

  void give_back(Region region) {
    std::scoped_lock lock(mutex);
    const Place place{region.size(), ~returns++};
    free.emplace(place, std::move(region));
    drop_what_is_too_much();
  }

  /// Precondition of these: the lock is held.
  void drop_what_is_too_much() {
    while (options.keep > 0 && free.size() > options.keep) drop_oldest();
  }
  void drop_oldest() {
    const auto oldest =
        std::ranges::max_element(free, {}, [](const auto& each) { return each.first.recency; });
    --usage.slots;
    usage.bytes -= oldest->first.bytes;
    free.erase(oldest);
  }

  struct Place {
    uint64_t bytes;
    uint64_t recency;  ///< the lower, the later it came back
    auto operator<=>(const Place&) const = default;
  };

  const SlotPoolOptions options;
  const pid_t pid = getpid();
  std::mutex mutex;
  std::map<Place, Region> free;
  uint64_t returns = 0;
  Usage usage;
  std::shared_ptr<PageLock> page_lock;  ///< of new slots; nullptr: they stay pageable
};

SlotPool::SlotPool(SlotPoolOptions options) : core_(std::make_shared<Core>(options)) {}

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

void SlotPool::lock_slots(std::shared_ptr<PageLock> lock) {
  std::scoped_lock guard(core_->mutex);
  core_->page_lock = std::move(lock);
}

}  // namespace headrace
