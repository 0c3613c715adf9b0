// Walks over a tar archive and groups its members to samples.
//
// The convention is webdataset's: members that follow each other and have the same key (see
// KeyRule) are one sample; a key that comes again later is another sample. Members that are no part
// of a sample (directories, symbolic and hard links, devices, names that the rule skips) are passed
// over and do not end a sample. A hard link has no bytes of its own; webdataset does not see it,
// nor do we. A field that comes twice in one sample is an error that names the second member.
//
// Thread-safety: pure functions; `read` is called from the calling thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/key_rule.h"
#include "format/shard_index.h"
#include "format/tar_walk.h"
#include "headrace/result.h"

namespace headrace {

struct IndexedArchive {
  ShardIndexBuilder builder;
  TarEnd end;
  uint64_t members = 0;  ///< of every type
  uint64_t skipped = 0;  ///< of them, no part of a sample
  /// What is odd but no error: no end-of-archive blocks, bytes behind the end, several archives in
  /// one object. With shard, offset and hint.
  std::vector<Error> warnings;
};

/// Makes samples of members that come one after the other. Thread-compatible.
class MemberGrouper {
 public:
  /// What it is given outlives it.
  MemberGrouper(const KeyRule& rule, IndexedArchive& out) : rule_(rule), out_(out) {}

  /// Whether the member is part of a sample: the newest of out.builder.
  Result<bool> add(const TarMember& member);

 private:
  Status check_duplicate(const TarMember& member);

  const KeyRule& rule_;
  IndexedArchive& out_;
  KeyField name_;
  std::string key_;                // of the newest sample
  std::vector<uint32_t> seen_in_;  // by field: the sample, counted from 1, that had it last
};

/// For an archive whose members have all been added: its end, and what is odd about it.
void finish_archive(const std::string& shard, uint64_t object_size, const TarEnd& end,
                    IndexedArchive& out);
/// An object without a byte is no archive.
Status check_not_empty(const std::string& shard, uint64_t object_size);

/// Indexes an archive of `object_size` bytes; `shard` is its name in messages.
Result<IndexedArchive> index_archive(const std::string& shard, uint64_t object_size,
                                     const ReadAt& read, const KeyRule& rule);

/// The same of a zip archive. Offsets are in its contents, one behind the other; the index has the
/// frames that say where they are.
Result<IndexedArchive> index_zip(const std::string& shard, uint64_t object_size, const ReadAt& read,
                                 const KeyRule& rule);

}  // namespace headrace
