// The two ways in which Parquet packs whole numbers: runs of small ones (levels, numbers of
// dictionary entries, booleans), and differences.
// Format: Encodings.md of apache/parquet-format 2.11. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headrace/bytes.h"

namespace headrace::parquet {

/// The bits that hold 0 … most.
unsigned bits_for(uint32_t most);

/// Fills `out` from runs of numbers of `width` (at most 32) bits, repeated or packed; false if the
/// bytes end before. What follows is not looked at.
bool unpack_runs(ByteView bytes, unsigned width, std::span<uint32_t> out);

/// Takes `count` numbers of DELTA_BINARY_PACKED off the front of `bytes`; nothing if they are
/// damaged or of another count.
std::optional<std::vector<uint64_t>> take_deltas(ByteView& bytes, uint64_t count);

}  // namespace headrace::parquet
