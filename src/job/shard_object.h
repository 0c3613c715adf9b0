// One shard on its way into a store: the bytes of a tar in order, and what lies in them. Checksum,
// index and summaries of the fields are made in the same pass. In a compressed container each run
// of bytes is one frame, so runs must not depend on threads or time.
//
// Thread-safety: one thread at a time. Ownership: until finish(), nothing of it is to be seen;
// destroyed before that, nothing remains.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "format/payload_checksum.h"
#include "format/shard_index.h"
#include "headrace/bytes.h"
#include "headrace/store.h"
#include "job/shard_record.h"
#include "job/zip_shard.h"

namespace headrace {

/// A member whose header lies in a run of bytes; offsets from the run's beginning.
struct PlacedMember {
  std::string_view key;  ///< of its sample
  uint32_t field = 0;    ///< number in the list of the fields
  bool first = false;    ///< of its sample,
  bool last = false;     ///< and the last one
  uint64_t header = 0;
  uint64_t data = 0;
  uint64_t size = 0;  ///< of the payload, which may go on in the next runs
  /// Of the payload, as the index that it comes from has it; whoever looks at the whole payload may
  /// put in what it is. kNoChecksum: nobody knows yet.
  uint32_t checksum = 0;
  Measure measure = {};  ///< of the payload
};

/// What to say of a payload whose checksum is not the one that the index of its shard has.
Error damaged_payload(Origin origin);

/// Takes the checksums of the payloads that lie whole in a run, so that append() need not, and
/// holds them against those that are known. The first that differs, or nullptr. From any thread.
const PlacedMember* take_checksums(ByteView bytes, std::span<PlacedMember> placed);

/// A run of bytes as a compressed container has it: a frame; empty for kTar, and for no bytes. May
/// be called from any thread.
std::string pack_run(Container container, ByteView bytes);

class ShardObject {
 public:
  /// `fields` outlives it, and may grow.
  ShardObject(Store& store, std::string name, const std::vector<std::string>& fields,
              Container container = Container::kTar);

  /// Headers, payloads and padding, as they follow each other. `placed`: whose headers are here.
  /// `packed`: pack_run() of the bytes where a thread has made it already. Code::kUsage for two
  /// samples of one key side by side, Code::kCorrupt for a payload in several runs that does not
  /// have its known checksum.
  Status append(ByteView bytes, std::span<const PlacedMember> placed,
                const std::string& packed = {});
  /// Takes the checksum of bytes that will be appended, which is left out then: in the same order,
  /// by another thread if need be. All bytes, or none; a compressed container does it when it
  /// writes.
  void digest(ByteView bytes);
  /// A sample that is not there.
  void skip(SkippedSample sample) { record_.skip(std::move(sample)); }
  /// Writes the archive's end and commits the object.
  Result<ShardRecord> finish();

 private:
  Status check_key(const PlacedMember& placed) const;
  void add_member(const PlacedMember& placed, uint64_t begin, uint64_t data, uint64_t end);
  Status append_zip(ByteView bytes, std::span<const PlacedMember> placed);
  /// `bytes` from the newest member's payload on, and what follows them.
  void begin_checksum(const PlacedMember& placed, ByteView bytes);
  Status go_on_with_checksum(ByteView bytes);
  Status append_run(ByteView bytes, const std::string& packed, bool digested = false);
  Status append_frame(ByteView bytes, const std::string& frame);
  Status finish_tar();
  Status finish_zip();
  Status write(ByteView bytes, bool digested = false);

  Store& store_;
  const std::vector<std::string>& fields_;
  const Container container_;
  std::unique_ptr<ByteSink> sink_;
  Xxh3Stream digest_;
  std::atomic<bool> digested_before_{false};  // of the bytes of the tar
  uint64_t tar_bytes_ = 0;
  uint32_t crc32_ = 0;  // of the tar, for gzip
  FrameMap frames_;     // of a compressed tar
  std::optional<ZipShard> zip_;
  ShardIndexBuilder builder_;
  PayloadChecksum payload_;  // of the newest member, if it lies in several runs,
  uint32_t known_checksum_ = kNoChecksum;
  std::vector<FieldSummary> summaries_;  // by number of the field
  ShardRecord record_;
};

}  // namespace headrace
