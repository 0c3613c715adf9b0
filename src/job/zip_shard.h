// A zip archive under construction, out of runs of tar: headers and padding go, payloads stay.
//
// A member whose payload lies in one run is deflated where that saves a sixteenth, else stored; one
// that comes in several runs is stored, with its CRC behind it.
// Thread-safety: one thread at a time. Ownership: `write` is called with bytes in their order.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "format/frame_map.h"
#include "format/zip_writer.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

class ZipShard {
 public:
  using Write = std::function<Status(ByteView)>;

  explicit ZipShard(Write write) : write_(std::move(write)) {}

  /// Bytes of a run that belong to the member begun before, if there is one; padding is passed
  /// over.
  Status go_on(ByteView bytes);
  /// A member of `size` bytes begins; `there`: of its payload, in this run.
  Status begin(std::string name, uint64_t size, ByteView there);
  /// The central directory.
  Status finish();

  const FrameMap& frames() const { return frames_; }
  /// Where the contents of the next member begin, among all contents.
  uint64_t contents() const { return contents_; }

 private:
  struct Open {
    std::string name;
    ZipEntry entry;
    uint64_t data = 0;  ///< where its data begins
    uint64_t left = 0;  ///< to come
  };

  Status put(const std::string& text, ByteView bytes = {});
  Status put_whole(const std::string& name, ByteView payload);
  Status end(const std::string& name, ZipEntry entry, uint64_t data);

  Write write_;
  uint64_t written_ = 0;
  uint64_t contents_ = 0;
  uint64_t entries_ = 0;
  std::string directory_;
  FrameMap frames_;
  std::optional<Open> open_;
};

}  // namespace headrace
