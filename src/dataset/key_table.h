// Look-up by key in the key table of a manifest: entries sorted by hash, read by pages.
//
// Hashes are uniform, so interpolation finds the page of a hash in one or two reads of 64 KiB.
// Thread-safety: const methods may be called from any thread.
#pragma once

#include <memory>
#include <vector>

#include "headrace/dataset.h"
#include "headrace/store.h"

namespace headrace {

class KeyTable {
 public:
  /// `source` is the whole file; its header is checked for `entries` entries.
  static Result<KeyTable> open(std::unique_ptr<ByteSource> source, uint64_t entries);

  /// Samples with this key hash, in manifest order.
  Result<std::vector<SampleId>> find(uint64_t hash) const;

 private:
  KeyTable(std::unique_ptr<ByteSource> source, uint64_t entries)
      : source_(std::move(source)), entries_(entries) {}

  /// The number of the first entry whose hash is not below `hash`.
  Result<uint64_t> lower_bound(uint64_t hash) const;

  std::unique_ptr<ByteSource> source_;
  uint64_t entries_;
};

}  // namespace headrace
