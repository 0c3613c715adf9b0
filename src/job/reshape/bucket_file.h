// A bucket of samples on scratch storage: appended by many threads in any order, read back whole.
//
//   record   position u64 | tar bytes u64 | key bytes u32 | members u32 | key
//            | (field u32, checksum u32, size u64, measure u64, unit u8)…
//            | the sample as it will lie in the archive, headers and padding included
//
// Ownership: the file has no name; it goes with the object, or with the process.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/result.h"
#include "io/growing_file.h"
#include "job/buffer_pool.h"
#include "job/shard_object.h"

namespace headrace {

/// The error of what lies between the passes and is not what was written: `how` ("is damaged").
Error damaged_between_passes(const std::string& how, Origin origin);

/// The record but for the tar bytes behind it, which are so many.
void append_record_head(std::string& out, uint64_t position, std::string_view key,
                        std::span<const PlacedMember> members, uint64_t tar_bytes);

/// Thread-safe while it is filled; load() when all have been added.
class BucketFile {
 public:
  static Result<std::unique_ptr<BucketFile>> create(const std::string& folder, size_t buffer_bytes);

  /// A record: append_record_head(), and the tar bytes.
  Status add(std::string_view head, ByteView tar);
  /// When all have been added: frees what it holds besides them.
  Status seal();
  /// How many bytes load() reads.
  uint64_t size() const { return file_->size() + buffer_.size(); }

  struct Entry {
    uint64_t position = 0;
    std::string_view key;  ///< in the memory that it was read into, as all that follows
    ByteView members;
    ByteView tar;
    ByteView record;  ///< all of it
  };
  /// Reads it into memory, which the entries keep, and frees its storage. By position.
  Result<std::vector<Entry>> load(SegmentBuffer& into);

 private:
  BucketFile(File file, std::string folder, size_t buffer_bytes)
      : file_(std::in_place, std::move(file), folder, kMostAhead),
        folder_(std::move(folder)),
        buffer_bytes_(buffer_bytes) {}
  static constexpr uint64_t kMostAhead = uint64_t{1} << 20;

  Status write(ByteView bytes);
  Status flush();

  std::optional<GrowingFile> file_;  // until it is loaded
  const std::string folder_;
  const size_t buffer_bytes_;
  std::mutex mutex_;
  std::string buffer_;
};

/// The record at the beginning of `bytes`, which may hold only a part of it. Gives its size: where
/// that is more than `bytes` has, or 0, nothing else was found out yet. Nothing: it is no record.
std::optional<uint64_t> parse_bucket_record(ByteView bytes, BucketFile::Entry& entry);

/// The members of an entry with this key, which `into` keeps; `at`: where its tar bytes begin.
/// False: they are not what its tar bytes can hold.
[[nodiscard]] bool read_members(const BucketFile::Entry& entry, std::string_view key, size_t at,
                                const std::vector<std::string>& fields,
                                std::vector<PlacedMember>& into);

}  // namespace headrace
