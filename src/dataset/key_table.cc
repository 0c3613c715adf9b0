#include "dataset/key_table.h"

#include <algorithm>
#include <array>

#include "base/try.h"
#include "plan/manifest.h"

namespace headrace {
namespace {

constexpr uint64_t kPageEntries = 4096;  // 64 KiB

/// Entries [first, first + count) of the table.
Result<std::vector<KeyEntry>> read_entries(const ByteSource& source, uint64_t first,
                                           uint64_t count) {
  std::vector<std::byte> bytes(count * kKeyBytes);
  HR_CHECK(source.read_at(kKeyHeaderBytes + first * kKeyBytes, bytes));
  std::vector<KeyEntry> entries(count);
  for (uint64_t i = 0; i < count; ++i) entries[i] = decode_key_entry(&bytes[i * kKeyBytes]);
  return entries;
}

/// Where `hash` should be among `n` uniform hashes between `low` and `high`.
uint64_t interpolate(uint64_t hash, uint64_t low, uint64_t high, uint64_t n) {
  if (high <= low) return n / 2;
  const double share = static_cast<double>(hash - low) / static_cast<double>(high - low);
  return std::min(static_cast<uint64_t>(share * static_cast<double>(n)), n - 1);
}

}  // namespace

Result<KeyTable> KeyTable::open(std::unique_ptr<ByteSource> source, uint64_t entries) {
  if (source->size() != kKeyHeaderBytes + entries * kKeyBytes)
    return Error{.code = Code::kCorrupt,
                 .message = "the key table has " + std::to_string(source->size()) +
                            " bytes instead of " +
                            std::to_string(kKeyHeaderBytes + entries * kKeyBytes),
                 .origin = {.shard = source->name()}};
  std::array<std::byte, kKeyHeaderBytes> header{};
  HR_CHECK(source->read_at(0, header));
  HR_CHECK(check_key_header(header, entries, source->name()));
  return KeyTable(std::move(source), entries);
}

Result<uint64_t> KeyTable::lower_bound(uint64_t hash) const {
  uint64_t begin = 0, end = entries_;  // the answer is in [begin, end]
  uint64_t low = 0, high = ~uint64_t{0};
  bool halve = false;  // every second probe halves the range: bounded reads for any table
  while (begin < end) {
    const uint64_t n = end - begin;
    const uint64_t guess = begin + (halve ? n / 2 : interpolate(hash, low, high, n));
    const uint64_t first = std::max(begin, guess - std::min(guess, kPageEntries / 2));
    const uint64_t last = std::min(end, first + kPageEntries);
    HR_TRY(const auto page, read_entries(*source_, first, last - first));
    if (page.back().hash < hash) {
      begin = last;
      low = page.back().hash;
    } else if (page.front().hash >= hash) {
      end = first;
      high = page.front().hash;
    } else {
      const auto it = std::ranges::lower_bound(page, hash, {}, &KeyEntry::hash);
      return first + static_cast<uint64_t>(it - page.begin());
    }
    halve = !halve;
  }
  return begin;
}

Result<std::vector<SampleId>> KeyTable::find(uint64_t hash) const {
  HR_TRY(uint64_t at, lower_bound(hash));
  std::vector<SampleId> found;
  while (at < entries_) {
    const uint64_t count = std::min<uint64_t>(64, entries_ - at);
    HR_TRY(const auto page, read_entries(*source_, at, count));
    for (const KeyEntry& entry : page) {
      if (entry.hash != hash) return found;
      found.push_back({entry.shard, entry.sample});
    }
    at += count;
  }
  return found;
}

}  // namespace headrace
