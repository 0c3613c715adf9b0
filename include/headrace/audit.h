// The audit: proof, afterwards, that every sample came exactly once an epoch, over all ranks,
// workers and restarts, and with the same bytes every time.
//
// A loader with an audit folder appends, as batches are handed out, what it delivered.
// `check_audit` reads all the files of a run and compares them with the data set. Batches that were
// delivered after the state a later start went on from do not count: the training forgot them too.
// Of a document that is packed into several steps, that with its beginning counts.
//
// File `RANK-WORKER-PID-N.audit`, little-endian, one a start:
//   header  48 bytes   "HRAUDIT1", u32 rank, world, worker, workers, u64 time of the start (ns),
//                      epoch, lane offset
//   batch   24 bytes   u32 'B', u32 rows, u64 epoch, lane offset before the batch
//     row   24 bytes   u32 set, shard, sample, 1 if padded; u64 XXH3 of the row's encoded fields
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/batch.h"
#include "headrace/dataset.h"
#include "headrace/result.h"

namespace headrace {

/// Where a run of batches begins.
struct AuditStart {
  uint32_t rank = 0, world = 1, worker = 0, workers = 1;
  uint64_t epoch = 0;
  uint64_t offset = 0;  ///< in every lane
};

/// Writes one file. Belongs to one thread. A crash loses at most the batch being written.
class AuditWriter {
 public:
  static Result<std::unique_ptr<AuditWriter>> open(const std::string& folder,
                                                   const AuditStart& start);
  ~AuditWriter();
  AuditWriter(const AuditWriter&) = delete;
  AuditWriter& operator=(const AuditWriter&) = delete;

  /// `digests`: one a row of the batch.
  Status append(const Batch& batch, uint64_t offset, const std::vector<uint64_t>& digests);

 private:
  AuditWriter(int file, std::string path) : file_(file), path_(std::move(path)) {}

  int file_;
  std::string path_;
};

struct AuditReport {
  struct Epoch {
    uint64_t epoch = 0;
    uint64_t delivered = 0;             ///< rows that count, without padded ones
    uint64_t padded = 0;                ///< repeats that filled the last step
    uint64_t missing = 0;               ///< samples that never came
    uint64_t duplicates = 0;            ///< rows of samples that had come already
    std::vector<std::string> examples;  ///< of what is wrong: keys, at most ten
  };
  uint64_t files = 0;
  uint64_t forgotten = 0;  ///< rows delivered, then rolled back by a restart
  uint64_t changed = 0;    ///< samples that came with different bytes at different times
  std::vector<Epoch> epochs;

  /// No sample missing, doubled or changed in the epochs that are complete; the last epoch, which
  /// may still run, may miss samples but not double them.
  bool passed() const;
  /// A few lines for people.
  std::string to_string() const;
};

/// Reads every audit file of `folders` and checks it against `set` (number 0 of a mixture).
/// Memory: 24 bytes a delivered row.
Result<AuditReport> check_audit(const std::vector<std::string>& folders, const Dataset& set);

}  // namespace headrace
