// The decoded bytes of a compressed archive, readable at random: a read decodes the frames that it
// touches, straight into its place where it wants all of a frame.
//
//   read           [offset ............................ end)
//   frames    |  f4   |   f5    |   f6   |   f7    |
//                 part    whole    whole    part        parts come from a small cache
//
// Reading takes so long that loaders shall ask ahead, so the source calls itself remote; what it is
// asked for ahead is decoded by threads of its own. An archive whose frames are stored is neither.
// Row groups need the footer of their file, which is read when the first one is decoded.
// Thread-safety: any number of threads may read at once, also after fork().
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "dataset/lru_cache.h"
#include "format/frame_map.h"
#include "format/parquet/footer.h"
#include "headrace/store.h"
#include "io/cache/io_threads.h"
#include "io/cache/per_process.h"

namespace headrace {

/// Frames decoded of late, and the threads that decode; shared by the shards of a data set.
class DecodedFrames {
 public:
  static constexpr uint64_t kDefaultBytes = uint64_t{64} << 20;

  static std::shared_ptr<DecodedFrames> make() { return std::make_shared<DecodedFrames>(); }

  /// The frame number `frame` of shard `shard`, from `load()` when it is not here.
  template <typename Load>
  Result<std::shared_ptr<const std::string>> get(uint32_t shard, size_t frame, const Load& load) {
    return kept_.get(uint64_t{shard} << 32 | frame, load,
                     [](const std::string& bytes) { return bytes.size(); });
  }
  IoThreads& threads() const;

 private:
  LruCache<std::string> kept_{kDefaultBytes};
  PerProcess<IoThreads> threads_;
};

class DecodedSource final : public ByteSource {
 public:
  /// `shard`: a number of its own among the users of `decoded`.
  DecodedSource(std::shared_ptr<const ByteSource> object, std::shared_ptr<const FrameMap> frames,
                std::shared_ptr<DecodedFrames> decoded, uint32_t shard);

  const std::string& name() const override { return object_->name(); }
  uint64_t size() const override { return frames_->decoded_size(); }
  std::string version() const override { return object_->version(); }
  bool is_remote() const override { return object_->is_remote() || !stored_; }
  bool is_spooled() const override { return object_->is_spooled(); }
  Status read_at(uint64_t offset, MutableBytes into) const override;
  void will_need(uint64_t offset, uint64_t size) const override;
  void start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                  const Done& done) const override;

 private:
  /// Encoded bytes of the object that are in memory already.
  struct Fetched;

  Status check_range(uint64_t offset, uint64_t size) const;
  Status decode(uint64_t offset, MutableBytes into, const Fetched& fetched) const;
  Status decode_part(size_t number, uint64_t from, MutableBytes into, const Fetched& fetched) const;
  Status decode_whole(const Frame& frame, MutableBytes into, const Fetched& fetched) const;
  Status decode_rows(const Frame& frame, ByteView encoded, MutableBytes into) const;

  const std::shared_ptr<const ByteSource> object_;
  const std::shared_ptr<const FrameMap> frames_;
  const std::shared_ptr<DecodedFrames> decoded_;
  const uint32_t shard_;
  const bool stored_;
  mutable std::atomic<std::shared_ptr<const parquet::Footer>> footer_;  // of a Parquet file
};

}  // namespace headrace
