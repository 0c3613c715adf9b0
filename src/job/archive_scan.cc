#include "job/archive_scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/try.h"
#include "format/tar_fields.h"

namespace headrace {
namespace {

// Small enough that the hash finds the bytes in the second-level cache, large enough to read fast.
constexpr uint64_t kPieceBytes = 256 << 10;
constexpr uint64_t kRemotePieceBytes = 4 << 20;       // over a network a request has to be worth it
constexpr std::array<std::byte, kTarBlock> kZeros{};  // padding is shorter than a block

/// Feeds a TarParser from pieces that come in order.
class Scanner {
 public:
  Scanner(uint64_t size, const ScanCallbacks& callbacks)
      : size_(size), callbacks_(callbacks), parser_(size) {
    advance({});
  }

  /// `piece` follows the piece before.
  void feed(ByteView piece) {
    const uint64_t end = at_ + piece.size();
    while (!done_) {
      if (payload_left_ > 0) {
        if (member_.data_offset >= end) break;
        if (!pass_payload(piece)) break;
      }
      if (padding_ < padding_end_) {
        if (padding_ >= end) break;
        check_padding(piece, std::min(padding_end_, end));
        continue;
      }
      const uint64_t next = wanted_ + carry_.size();
      if (next >= end) break;
      const uint64_t count = std::min(wanted_end_, end) - next;
      const ByteView part = piece.subspan(next - at_, count);
      if (carry_.empty() && count == wanted_end_ - wanted_) {
        advance(part);
        continue;
      }
      carry_.insert(carry_.end(), part.begin(), part.end());
      if (carry_.size() == wanted_end_ - wanted_) advance(std::exchange(carry_, {}));
    }
    at_ = end;
  }

  uint64_t members() const { return members_; }
  const std::optional<TarEnd>& end() const { return end_; }

 private:
  /// Steps until the parser wants bytes, or ends.
  void advance(ByteView fed) {
    for (;;) {
      auto step = parser_.step(fed);
      fed = {};
      if (!step.ok()) {
        if (!recover(std::move(step).error())) return;
        continue;
      }
      if (*step == TarStep::kRead) {
        wanted_ = base_ + parser_.wanted().offset;
        wanted_end_ = wanted_ + parser_.wanted().size;
        return;
      }
      if (*step == TarStep::kMember)
        take_member();
      else
        return finish();
    }
  }

  void take_member() {
    member_ = parser_.member();
    member_.header_offset += base_;
    member_.data_offset += base_;
    member_.end_offset += base_;
    ++members_;
    padding_ = member_.data_offset + member_.size;
    padding_end_ = member_.end_offset;
    payload_left_ = callbacks_.on_payload ? member_.size : 0;
    callbacks_.on_member(member_);
  }

  /// Whether it ends in this piece.
  bool pass_payload(ByteView piece) {
    const uint64_t from = member_.data_offset + member_.size - payload_left_;
    const ByteView here = piece.subspan(from - at_);
    const ByteView part = here.first(std::min<uint64_t>(payload_left_, here.size()));
    payload_left_ -= part.size();
    callbacks_.on_payload(part);
    return payload_left_ == 0;
  }

  void finish() {
    done_ = true;
    end_ = parser_.end();
    end_->members_end += base_;
    if (end_->trailing != TarEnd::kNoTrailing) end_->trailing += base_;
  }

  /// Reports a damage and goes on at the next header that is known; false if there is none.
  bool recover(Error error) {
    if (error.origin.offset != Origin::kNoOffset) error.origin.offset += base_;
    const uint64_t from = std::max(error.origin.offset, at_);
    callbacks_.on_problem(ScanProblem::kHeader, std::move(error));
    const auto next = callbacks_.next_header(from);
    done_ = !next || *next >= size_;
    if (done_) return false;
    base_ = *next;
    parser_ = TarParser(size_ - base_);
    padding_ = padding_end_ = payload_left_ = 0;
    return true;
  }

  void check_padding(ByteView piece, uint64_t until) {
    const ByteView padding = piece.subspan(padding_ - at_, until - padding_);
    const uint64_t begin = std::exchange(padding_, until);
    if (std::memcmp(padding.data(), kZeros.data(), padding.size()) == 0) return;
    padding_ = padding_end_;
    const auto bad = std::ranges::find_if(padding, [](std::byte b) { return b != std::byte{0}; });
    const uint64_t offset = begin + static_cast<uint64_t>(bad - padding.begin());
    callbacks_.on_problem(ScanProblem::kPadding,
                          {.code = Code::kCorrupt,
                           .message = "the padding behind the data is not zero",
                           .origin = {.member = member_.name, .offset = offset}});
  }

  const uint64_t size_;
  const ScanCallbacks& callbacks_;
  TarParser parser_;
  uint64_t base_ = 0;  // where the parser's object begins
  uint64_t at_ = 0;    // first byte of the piece
  uint64_t wanted_ = 0, wanted_end_ = 0;
  uint64_t payload_left_ = 0;               // of the newest member, for who wants it
  uint64_t padding_ = 0, padding_end_ = 0;  // to be checked before the wanted bytes
  std::vector<std::byte> carry_;            // wanted bytes of earlier pieces
  TarMember member_;
  uint64_t members_ = 0;
  bool done_ = false;
  std::optional<TarEnd> end_;
};

}  // namespace

Result<ArchiveScan> scan_archive(const ByteSource& source, bool counts, Progress& progress,
                                 const ScanCallbacks& callbacks) {
  Scanner scanner(source.size(), callbacks);
  Xxh3Stream hash;
  const uint64_t piece_bytes = source.is_remote() ? kRemotePieceBytes : kPieceBytes;
  std::vector<std::byte> buffer(std::min(piece_bytes, source.size()));
  source.will_need(0, source.size());
  for (uint64_t at = 0; at < source.size();) {
    if (progress.stopped()) return Progress::interrupted();
    const auto piece =
        MutableBytes(buffer).first(std::min<uint64_t>(buffer.size(), source.size() - at));
    HR_CHECK(source.read_at(at, piece));
    hash.update(piece);
    scanner.feed(piece);
    at += piece.size();
    if (counts) progress.bytes += piece.size();
  }
  return ArchiveScan{scanner.members(), hash.digest(), scanner.end()};
}

}  // namespace headrace
