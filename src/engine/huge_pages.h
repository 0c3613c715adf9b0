// Huge pages for the memory of batches: its first use takes an eighth of the time where the system
// has them at hand. Where it has not, it makes room for each by moving others' pages.
//
// Thread-safety: these may be called from any thread. Systems without huge pages: they do nothing.
#pragma once

#include <cstdint>

#include "headrace/bytes.h"

namespace headrace {

inline constexpr uint64_t kHugePage = uint64_t{2} << 20;

/// `memory` gets huge pages when it is used, however long each takes: for what is used many times.
/// Precondition of both: `memory` begins at a page, and was not used yet.
void advise_huge_pages(MutableBytes memory);

/// Makes the huge pages of `memory` now, for as long as they cost no more than small ones: for
/// what somebody waits for. From there on it gets small ones when it is used.
void make_huge_pages_while_cheap(MutableBytes memory);

}  // namespace headrace
