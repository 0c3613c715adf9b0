// Reads of a file past the page cache (O_DIRECT): for data sets that are larger than memory, on
// disks that are faster than copying, and beside others who need the cache.
//
//   asked for       |.....====================...|        any bytes
//   read     |  edge     |===============|  edge     |    whole blocks, from aligned places
//              through memory of the thread; the rest straight into its place where that is aligned
//
// Blocks are as large as statx says (STATX_DIOALIGN, Linux 6.1), else 4096 bytes. Small reads come
// as windows of 128 KiB that a thread keeps, so that headers that follow each other are not read
// one by one. Where a file system refuses it (tmpfs), files are read as always, and it is said
// once. Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "headrace/bytes.h"
#include "io/cache/io_threads.h"
#include "io/file.h"

namespace headrace {

/// Whether files are to be read directly: HEADRACE_DIRECT=1.
bool wants_direct_reads();

class DirectReads {
 public:
  /// Makes reads of this open file direct; nothing where its file system refuses that.
  static std::optional<DirectReads> begin(const File& file);

  /// As read_fully. Fewer bytes only at the end of the file. -1: errno.
  ssize_t read(int descriptor, MutableBytes into, uint64_t offset) const;

  /// Where reads wait that are not waited for: as many at once as a disk likes.
  static IoThreads& threads();

 private:
  DirectReads(uint64_t block, uint64_t memory);

  bool is_aligned(uint64_t offset, MutableBytes into) const;
  ssize_t read_window(int descriptor, MutableBytes into, uint64_t offset) const;

  uint64_t serial_;  // of the file, among all that were opened
  uint64_t block_;   // offsets and sizes are multiples of it
  uint64_t memory_;  // and places in memory of this
};

}  // namespace headrace
