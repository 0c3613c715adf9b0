#include "engine/span_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>

namespace headrace {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t whole_pages(uint64_t size) { return (std::max(size, kPage) + kPage - 1) / kPage * kPage; }

// Written and read once each, spans gain nothing from huge pages; the first epoch waited for them.
std::byte* map_pages(uint64_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(at);
}

}  // namespace

struct SpanMemory::Core {
  explicit Core(uint64_t bytes) : limit(bytes) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() {
    for (const auto& [at, size] : free_at) munmap(at, size);
  }

  std::byte* take(uint64_t size) {
    std::scoped_lock lock(mutex);
    const auto fits = free_sizes.lower_bound({size, nullptr});
    if (fits == free_sizes.end()) {
      std::byte* fresh = map_pages(size);
      usage.held += size;
      usage.mapped += size;
      drop_what_is_too_much();
      return fresh;
    }
    const auto [free_size, at] = *fits;
    remove(at, free_size);
    if (free_size > size) add(at + size, free_size - size);
    usage.held += size;
    return at;
  }

  void give_back(std::byte* at, uint64_t size) {
    std::scoped_lock lock(mutex);
    usage.held -= size;
    const auto next = free_at.lower_bound(at);
    if (next != free_at.end() && next->first == at + size) {
      size += next->second;
      remove(next->first, next->second);
    }
    const auto after = free_at.lower_bound(at);
    if (after != free_at.begin()) {
      const auto [before, before_size] = *std::prev(after);
      if (before + before_size == at) {
        remove(before, before_size);
        at = before;
        size += before_size;
      }
    }
    add(at, size);
    drop_what_is_too_much();
  }

  // Precondition of all below: the lock is held.

  void add(std::byte* at, uint64_t size) {
    free_at.emplace(at, size);
    free_sizes.emplace(size, at);
  }
  void remove(std::byte* at, uint64_t size) {
    free_at.erase(at);
    free_sizes.erase({size, at});
  }
  void drop_what_is_too_much() {
    while (usage.mapped > limit && !free_sizes.empty()) {
      const auto [size, at] = *free_sizes.rbegin();
      const uint64_t drop = std::min(size, whole_pages(usage.mapped - limit));
      remove(at, size);
      if (size > drop) add(at, size - drop);
      munmap(at + (size - drop), drop);
      usage.mapped -= drop;
    }
  }

  const uint64_t limit;
  const pid_t pid = getpid();
  std::mutex mutex;
  std::map<std::byte*, uint64_t> free_at;
  std::set<std::pair<uint64_t, std::byte*>> free_sizes;  // the same pieces
  Usage usage;
};

SpanMemory::SpanMemory(uint64_t bytes) : core_(std::make_shared<Core>(bytes)) {}

std::shared_ptr<std::byte> SpanMemory::take(uint64_t size) {
  const uint64_t pages = whole_pages(size);
  return {core_->take(pages), [core = core_, pages](std::byte* at) {
            // A forked child: the lock may be held by a thread that is not here.
            if (getpid() == core->pid) core->give_back(at, pages);
          }};
}

bool SpanMemory::has_room() const { return usage().held < core_->limit - core_->limit / 8; }

SpanMemory::Usage SpanMemory::usage() const {
  std::scoped_lock lock(core_->mutex);
  return core_->usage;
}

}  // namespace headrace
