// TarStream reads the members of a tar archive front to back from anything that gives bytes in
// order: a file, a pipe, a decompressor. Each member's data is whole in memory when it is shown.
//
//   stream    |hdr|data..|pad|hdr|data......|pad|hdr|...
//   buffer            [ consumed | shown to the caller | read ahead      ]
//
// One buffer, filled in pieces of kPiece and as large as the largest member. It grows only with
// bytes that did arrive, whatever sizes headers claim.
//
// Ends at the first zero block, as Python's tarfile does. An archive that ends without one was cut
// off, even at a member boundary: Code::kCorrupt. With `lenient` such an archive, one cut inside a
// header, or one with a damaged header behind the first just ends (and loses what came after).
// Thread-safety: one object belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "format/tar_parser.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// Fills the beginning of `into` and says how much; 0: the end. May give less than there is room.
using ReadSome = std::function<Result<size_t>(MutableBytes into)>;

class TarStream {
 public:
  /// Valid until the next call of next().
  struct Member {
    std::string_view name;
    TarType type = TarType::kRegular;
    uint64_t offset = 0;  ///< of the data in the stream
    ByteView data;
  };

  TarStream(ReadSome read, bool lenient) : read_(std::move(read)), lenient_(lenient) {}

  /// The next member of whatever type; nullptr: the end, which stays the end. After an error the
  /// stream has ended.
  Result<const Member*> next();

 private:
  static constexpr size_t kPiece = size_t{256} << 10;
  static constexpr uint64_t kUnknownSize = uint64_t{1} << 62;

  Result<const Member*> advance();
  Result<const Member*> end_at_header(size_t got);
  /// Up to `size` bytes from `offset` on, fewer only at the end; forgets what lies before.
  Result<ByteView> get(uint64_t offset, uint64_t size);

  ReadSome read_;
  const bool lenient_;
  TarParser parser_{kUnknownSize};
  Member member_;
  bool ended_ = false;

  std::vector<std::byte> buffer_;
  uint64_t begin_ = 0;  ///< of the buffer in the stream
  size_t filled_ = 0;
};

}  // namespace headrace
