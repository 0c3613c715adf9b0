#include "stream/tar_stream.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/try.h"
#include "format/tar_fields.h"

namespace headrace {
namespace {

Error cut_off(const std::string& where, const std::string& member, uint64_t offset) {
  return {Code::kCorrupt,
          "unexpected end of data: truncated " + where,
          {"", member, offset},
          "The archive was cut off: copy or pack it again"};
}

}  // namespace

Result<const TarStream::Member*> TarStream::next() {
  if (std::exchange(ended_, true)) return nullptr;  // also if reading throws
  Result<const Member*> member = advance();
  ended_ = !member.ok() || *member == nullptr;
  return member;
}

Result<const TarStream::Member*> TarStream::advance() {
  ByteView fed;
  for (;;) {
    Result<TarStep> step = parser_.step(fed);
    if (!step.ok()) {
      if (lenient_ && begin_ != 0) return nullptr;
      return std::move(step).error();
    }
    if (*step == TarStep::kEnd) return nullptr;
    if (*step == TarStep::kMember) {
      const TarMember& member = parser_.member();
      HR_TRY(const ByteView data, get(member.data_offset, member.size));
      if (data.size() < member.size)
        return cut_off("inside the data", member.name, member.data_offset + data.size());
      member_ = {member.name, member.type, member.data_offset, data};
      return &member_;
    }
    const TarParser::Range wanted = parser_.wanted();
    HR_TRY(fed, get(wanted.offset, wanted.size));
    if (fed.size() < wanted.size) return end_at_header(fed.size());
    if (wanted.size == kTarBlock && tar_byte_sum(fed) == 0) return nullptr;
  }
}

Result<const TarStream::Member*> TarStream::end_at_header(size_t got) {
  const uint64_t at = parser_.wanted().offset;
  if (at == 0 && got == 0) return Error{Code::kCorrupt, "empty file", {}, {}};
  if (lenient_ && at != 0) return nullptr;
  if (got == 0) return cut_off("before its end mark (no block of zeros)", "", at);
  return cut_off("inside a header", "", at + got);
}

Result<ByteView> TarStream::get(uint64_t offset, uint64_t size) {
  // What lies before `offset` is not needed any more, be it in the buffer or still to come.
  while (offset > begin_ + filled_) {
    begin_ += filled_;
    filled_ = 0;
    if (buffer_.empty()) buffer_.resize(kPiece);
    HR_TRY(filled_, read_(buffer_));
    if (filled_ == 0) return ByteView();
  }
  if (size > filled_ - (offset - begin_) && offset != begin_) {
    const size_t gone = offset - begin_;
    std::memmove(buffer_.data(), buffer_.data() + gone, filled_ - gone);
    begin_ = offset;
    filled_ -= gone;
  }
  while (begin_ + filled_ < offset + size) {
    if (filled_ == buffer_.size())
      buffer_.resize(std::max(kPiece, std::min<size_t>(2 * filled_, size + kPiece)));
    HR_TRY(const size_t got, read_(MutableBytes(buffer_).subspan(filled_)));
    if (got == 0) break;
    filled_ += got;
  }
  const size_t begin = offset - begin_;
  return ByteView(buffer_).subspan(begin, std::min<size_t>(size, filled_ - begin));
}

}  // namespace headrace
