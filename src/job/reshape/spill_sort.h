// Sorts strings of bytes, any number of them, in bounded memory: runs that fill it are sorted and
// written to a scratch file without a name, and merged in the end.
//
// What is to be sorted says so in bytes: order_bytes.h writes numbers and texts so that bytes
// compare as they do. Equal strings come in no particular order, so put a number behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/result.h"
#include "io/spool.h"

namespace headrace {

/// Where a job may keep what it is working on.
struct WorkRoom {
  unsigned threads = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;
  std::string scratch;  ///< a local folder; empty: TMPDIR
};

/// A local folder for what is written to `out`: the nearest one to it that is there. Empty: there
/// is none that can be written to.
std::string scratch_beside(const std::string& out);

/// Thread-safe while it is filled; each() once, when all have been added.
class SpillSort {
 public:
  SpillSort(const std::string& scratch, uint64_t memory_bytes);

  /// Code::kUsage for one that does not fit into the memory.
  Status add(std::string_view bytes);
  /// All of them, the least first. They are good until `take` returns.
  Status each(const std::function<Status(std::string_view)>& take);

 private:
  struct Item {
    uint64_t prefix;  // its first bytes as a number
    uint64_t at;      // in bytes_
    uint64_t size;
  };

  std::string_view text(const Item& item) const { return {bytes_.get() + item.at, item.size}; }
  void sort();
  Status spill();
  Status merge(const std::function<Status(std::string_view)>& take);

  std::mutex mutex_;
  const size_t capacity_;    // of bytes_
  const size_t most_items_;  // in items_
  std::unique_ptr<char[]> bytes_;
  size_t used_ = 0;
  std::vector<Item> items_;
  Spool spool_;
  std::vector<uint64_t> run_ends_;  // in spool_
};

}  // namespace headrace
