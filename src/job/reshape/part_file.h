// A part of the input on its way to another order: its samples by their position in the output, as
// one object.
//
//   record …                       of BucketFile, those of task 0, of task 1 …
//   (offset u64, XXH3 u64) …       of each task's records; one more at the end
//
// Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "headrace/store.h"
#include "job/reshape/bucket_file.h"

namespace headrace {

class PartWriter {
 public:
  /// `ends`: of each task, the position behind its last sample.
  PartWriter(std::unique_ptr<ByteSink> sink, std::vector<uint64_t> ends)
      : sink_(std::move(sink)), ends_(std::move(ends)) {}

  /// By position.
  Status add(const BucketFile::Entry& entry);
  /// Whoever was first wins: the bytes are the same.
  Status commit();

 private:
  void end_task();
  Status flush();

  std::unique_ptr<ByteSink> sink_;
  const std::vector<uint64_t> ends_;
  size_t task_ = 0;
  uint64_t bytes_ = 0;
  uint64_t begin_ = 0;  // of the task's records
  Xxh3Stream digest_;
  std::string buffer_;
  std::string directory_;
};

/// The records of one task in a part, from the first to the last.
class PartReader {
 public:
  /// `window`: bytes to read at once.
  static Result<PartReader> open(std::unique_ptr<ByteSource> source, uint64_t tasks, uint64_t task,
                                 size_t window);

  /// The record that it stands at; good until move_on().
  const BucketFile::Entry& entry() const { return entry_; }
  /// Behind the last record.
  bool at_end() const { return at_end_; }
  Status move_on();

 private:
  PartReader(std::unique_ptr<ByteSource> source, size_t window)
      : source_(std::move(source)), window_(window) {}
  Status read_more(uint64_t wanted);
  Error damaged() const;

  std::unique_ptr<ByteSource> source_;
  size_t window_;
  uint64_t next_ = 0;  // to be read
  uint64_t end_ = 0;
  uint64_t wanted_digest_ = 0;
  Xxh3Stream digest_;
  std::vector<std::byte> buffer_;
  size_t at_ = 0;
  BucketFile::Entry entry_;
  bool at_end_ = false;
};

}  // namespace headrace
