// What an index keeps of each payload, so that damage is found where it is: the low 32 bits of its
// XXH3, 1 instead of 0. 0 stands for a checksum that nobody took.
// Thread-safety: functions are pure; a PayloadChecksum belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/digest.h"
#include "headrace/bytes.h"

namespace headrace {

inline constexpr uint32_t kNoChecksum = 0;

inline uint32_t payload_checksum(uint64_t xxh3) {
  const auto low = static_cast<uint32_t>(xxh3);
  return low == kNoChecksum ? 1 : low;
}
inline uint32_t payload_checksum(ByteView payload) { return payload_checksum(xxh3(payload)); }

/// Whether these are other bytes than those whose checksum is `known`.
inline bool is_damaged(ByteView payload, uint32_t known) {
  return known != kNoChecksum && known != payload_checksum(payload);
}

/// The checksums of payloads that come in pieces, one payload after the other.
class PayloadChecksum {
 public:
  /// A payload of `size` bytes begins; one before that was not finished is forgotten.
  void begin(uint64_t size) {
    left_ = size;
    whole_ = true;
  }

  /// The next bytes; what lies behind the payload's end is not looked at. The checksum when the
  /// payload ends here, once.
  std::optional<uint32_t> take(ByteView bytes) {
    if (!left_) return std::nullopt;
    const ByteView part = bytes.first(std::min<uint64_t>(*left_, bytes.size()));
    *left_ -= part.size();
    if (*left_ == 0) {
      left_.reset();
      if (whole_) return payload_checksum(part);
      pieces_.update(part);
      return payload_checksum(pieces_.digest());
    }
    if (whole_) pieces_.reset();
    whole_ = false;
    pieces_.update(part);
    return std::nullopt;
  }

 private:
  std::optional<uint64_t> left_;  // nothing: no payload is open
  bool whole_ = true;             // nothing of it has come yet
  Xxh3Stream pieces_;
};

}  // namespace headrace
