#include "engine/huge_pages.h"

#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/thread_time.h"

namespace headrace {
#ifdef MADV_HUGEPAGE
namespace {

using std::chrono::microseconds;

/// Measured on a virtual machine: a huge page at hand takes 0.1 ms, most of it to clear it, and the
/// small ones in its place 0.7 ms. One that is not at hand takes 5 ms: the others make up for a
/// few.
constexpr microseconds kPrice{500};
constexpr microseconds kCredit{4'000};

}  // namespace

void advise_huge_pages(MutableBytes memory) {
  if (memory.size() >= kHugePage) madvise(memory.data(), memory.size(), MADV_HUGEPAGE);
}

void make_huge_pages_while_cheap(MutableBytes memory) {
  advise_huge_pages(memory);
  auto due = thread_time() + kCredit;
  for (uint64_t at = 0; at + kHugePage <= memory.size(); at += kHugePage) {
    memory[at] = std::byte{};
    due += kPrice;
    if (thread_time() <= due) continue;
    madvise(memory.data() + at, memory.size() - at, MADV_NOHUGEPAGE);
    return;
  }
}
#else
void advise_huge_pages(MutableBytes) {}
void make_huge_pages_while_cheap(MutableBytes) {}
#endif

}  // namespace headrace
