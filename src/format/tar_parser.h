// TarParser reads the headers of a tar archive and never a payload: sans-I/O, it says which bytes
// it needs and is fed exactly those. A sequential reader skips the bytes between; a reader with
// random access does not touch them.
//
//   TarParser parser(object_size);
//   ByteView fed;
//   for (;;) {
//     HR_TRY(TarStep step, parser.step(fed));
//     fed = {};
//     if (step == TarStep::kRead) fed = /* the bytes of parser.wanted() */;
//     if (step == TarStep::kMember) /* use parser.member() */;
//     if (step == TarStep::kEnd) break;
//   }
//
// Reads v7, ustar, GNU (L, K, base-256) and pax (x, g), and any mix of them in one archive.
//
// A member and its place:
//
//   |x hdr|pax body..|pad|ustar hdr|payload ........|pad|next member
//   ^                              ^                ^   ^
//   header_offset                  data_offset      |   end_offset
//                                                   data_offset + size
//
// The end. Two zero blocks end an archive. Behind them zero blocks go on as padding; a valid header
// there begins another archive (`cat a.tar b.tar`), whose members are read as well and which
// TarEnd::archives counts; anything else is trailing data, not read. After one zero block anything
// but a header, a zero block or the end of the object is an error: it may be a header lost. No zero
// block at all is accepted at a member boundary: whether the object was cut there only a manifest
// that knows the size can tell.
//
// Refused: sparse members (their stored bytes are not the file's), members continued from another
// volume, extended headers over 1 MiB, any malformed number, checksum or pax record. Links,
// directories and devices have no payload, whatever their size field says (as GNU tar and Python
// have it). Names are passed on byte by byte: see base/safe_path.h before writing files.
//
// Errors are Code::kCorrupt with member and byte offset; the caller adds the shard.
// Thread-safety: one parser belongs to one thread.
#pragma once

#include <cstdint>
#include <string>

#include "format/tar_pax.h"
#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

enum class TarType : uint8_t { kRegular, kHardlink, kSymlink, kDirectory, kOther };

struct TarMember {
  std::string name;      ///< as in the archive, not normalised
  std::string linkname;  ///< target of a link
  TarType type = TarType::kRegular;
  uint64_t header_offset = 0;
  uint64_t data_offset = 0;
  uint64_t size = 0;
  uint64_t end_offset = 0;
};

enum class TarEnding : uint8_t { kNoBlock, kOneBlock, kTwoBlocks };

/// How an archive ended.
struct TarEnd {
  static constexpr uint64_t kNoTrailing = ~uint64_t{0};

  TarEnding ending = TarEnding::kNoBlock;
  uint64_t members_end = 0;         ///< the byte after the last member's padding
  uint64_t archives = 1;            ///< more than 1: zero blocks lie between members
  uint64_t trailing = kNoTrailing;  ///< where bytes begin that are no part of an archive
};

enum class TarStep : uint8_t {
  kRead,    ///< feed the bytes of wanted() to the next step
  kMember,  ///< member() is new
  kEnd,     ///< end() is known
};

class TarParser {
 public:
  struct Range {
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  static constexpr uint64_t kMaxExtension = uint64_t{1} << 20;

  /// `object_size`: of the whole object, in bytes.
  explicit TarParser(uint64_t object_size) : object_size_(object_size) {}

  /// Goes on. `bytes` are those of wanted() if the step before was kRead, and nothing otherwise;
  /// they are needed during the call only. Do not call again after an error or kEnd.
  Result<TarStep> step(ByteView bytes);

  const Range& wanted() const { return wanted_; }
  /// Valid until the next step.
  const TarMember& member() const { return member_; }
  const TarEnd& end() const { return end_; }

 private:
  enum class Reading : uint8_t { kNothing, kHeader, kExtension };

  Result<TarStep> position();
  TarStep finish(uint64_t trailing);
  Result<TarStep> on_header(ByteView block);
  Result<TarStep> on_zero_block();
  Result<TarStep> on_bad_checksum(ByteView block, uint32_t computed);
  Result<TarStep> begin_extension(ByteView block, char type);
  Result<TarStep> on_extension(ByteView body);
  Result<TarStep> on_member(ByteView block, char type);
  void name_member(ByteView block, char type);
  Status check_range(const std::string& member, uint64_t offset, uint64_t size,
                     const std::string& inside) const;

  uint64_t object_size_;
  uint64_t next_ = 0;  ///< where the next header is
  uint64_t zero_blocks_ = 0;
  Reading reading_ = Reading::kNothing;
  Range wanted_;
  char extension_ = 0;  ///< type of the extended header whose body is being read

  // What extension headers said about the member to come, and, global_, about all of them.
  bool pending_ = false;
  uint64_t pending_offset_ = 0;
  std::string long_name_;
  std::string long_link_;
  PaxValues local_;
  PaxValues global_;

  TarMember member_;
  TarEnd end_;
};

}  // namespace headrace
