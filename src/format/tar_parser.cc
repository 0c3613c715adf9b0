#include "format/tar_parser.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "format/tar_fields.h"

namespace headrace {
namespace {

constexpr const char* kCutHint = "The object was cut off: copy or pack it again";

Error corrupt(std::string message, std::string member, uint64_t offset, std::string hint = {}) {
  return {Code::kCorrupt, std::move(message), {"", std::move(member), offset}, std::move(hint)};
}

/// What other kind of file begins like `head`, or nothing.
std::string_view other_format(std::string_view head) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> kMagics[] = {
      {"\x1f\x8b"sv, "gzip"},
      {"\x28\xb5\x2f\xfd"sv, "zstd"},
      {"\xfd"
       "7zXZ"sv,
       "xz"},
      {"BZh"sv, "bzip2"},
      {"\x04\x22\x4d\x18"sv, "lz4"},
      {"PK\x03\x04"sv, "zip"},
      {"\x89HDF\r\n\x1a\n"sv, "HDF5"},
      {"PAR1"sv, "Parquet"},
  };
  for (const auto& [magic, name] : kMagics)
    if (head.starts_with(magic)) return name;
  return {};
}

/// Links, devices, directories and pipes have no payload.
bool has_payload(char type) { return type < '1' || type > '6'; }

TarType type_of(char type, std::string_view name) {
  switch (type) {
    case '0':
    case '\0':
    case '7':
      return name.ends_with('/') ? TarType::kDirectory : TarType::kRegular;
    case '1':
      return TarType::kHardlink;
    case '2':
      return TarType::kSymlink;
    case '5':
      return TarType::kDirectory;
    default:
      return TarType::kOther;
  }
}

Error sparse_error(std::string member, uint64_t offset) {
  return corrupt("a sparse member: the bytes stored are not the file's bytes", std::move(member),
                 offset, "Make the archive again without --sparse");
}

}  // namespace

Result<TarStep> TarParser::step(ByteView bytes) {
  switch (std::exchange(reading_, Reading::kNothing)) {
    case Reading::kHeader:
      return on_header(bytes);
    case Reading::kExtension:
      return on_extension(bytes);
    case Reading::kNothing:
      break;
  }
  return position();
}

Result<TarStep> TarParser::position() {
  const uint64_t left = object_size_ - next_;
  if (left >= kTarBlock) {
    wanted_ = {next_, kTarBlock};
    reading_ = Reading::kHeader;
    return TarStep::kRead;
  }
  if (left != 0 && zero_blocks_ >= 2) return finish(next_);
  if (left != 0) return corrupt("truncated inside a header", "", next_, kCutHint);
  if (pending_) return corrupt("truncated behind an extended header", "", next_, kCutHint);
  return finish(TarEnd::kNoTrailing);
}

TarStep TarParser::finish(uint64_t trailing) {
  end_.ending = static_cast<TarEnding>(std::min<uint64_t>(zero_blocks_, 2));
  end_.trailing = trailing;
  return TarStep::kEnd;
}

Result<TarStep> TarParser::on_header(ByteView block) {
  const uint32_t sum = tar_byte_sum(block);
  if (sum == 0) return on_zero_block();
  const uint32_t computed = tar_checksum(block, sum);
  if (tar_number(block, kTarChecksum) != computed) {
    const int32_t other = tar_signed_checksum(block);
    if (other < 0 || tar_number(block, kTarChecksum) != static_cast<uint32_t>(other))
      return on_bad_checksum(block, computed);
  }
  if (zero_blocks_ != 0) ++end_.archives;
  zero_blocks_ = 0;
  const char type = static_cast<char>(block[kTarType.offset]);
  switch (type) {
    case 'x':
    case 'X':  // Solaris' name for x
    case 'g':
    case 'L':
    case 'K':
      return begin_extension(block, type);
    default:
      return on_member(block, type);
  }
}

Result<TarStep> TarParser::on_zero_block() {
  if (pending_) return corrupt("an extended header that belongs to no member", "", pending_offset_);
  ++zero_blocks_;
  next_ += kTarBlock;
  return position();
}

Result<TarStep> TarParser::on_bad_checksum(ByteView block, uint32_t computed) {
  if (zero_blocks_ >= 2) return finish(next_);
  if (const auto other = other_format(as_text(block)); next_ == 0 && !other.empty())
    return corrupt("not a tar archive: it begins like " + std::string(other), "", 0,
                   "Unpack or convert it first");
  const auto stored = tar_number(block, kTarChecksum);
  return corrupt("bad header checksum: " + (stored ? std::to_string(*stored) : "no number") +
                     " is stored, " + std::to_string(computed) + " computed",
                 "", next_, "The object is damaged here or is no tar archive");
}

Status TarParser::check_range(const std::string& member, uint64_t offset, uint64_t size,
                              const std::string& inside) const {
  const uint64_t left = object_size_ - offset;
  if (size > left)
    return corrupt("truncated inside " + inside + ": " + std::to_string(left) + " of " +
                       std::to_string(size) + " bytes are there",
                   member, object_size_, kCutHint);
  if (tar_padded(size) > left)
    return corrupt("truncated inside the padding behind " + inside, member, object_size_, kCutHint);
  return Status::success();
}

Result<TarStep> TarParser::begin_extension(ByteView block, char type) {
  const auto size = tar_number(block, kTarSize);
  if (!size) return corrupt("the size of an extended header is not a number", "", next_);
  if (*size > kMaxExtension)
    return corrupt(
        "an extended header of " + std::to_string(*size) + " bytes, more than the 1048576 allowed",
        "", next_);
  const bool is_pax = type != 'L' && type != 'K';
  HR_CHECK(check_range("", next_ + kTarBlock, *size,
                       is_pax ? "a pax header" : "a GNU long-name header"));
  if (type != 'g' && !std::exchange(pending_, true)) pending_offset_ = next_;
  extension_ = type;
  wanted_ = {next_ + kTarBlock, *size};
  if (*size == 0) return on_extension({});
  reading_ = Reading::kExtension;
  return TarStep::kRead;
}

Result<TarStep> TarParser::on_extension(ByteView body) {
  if (extension_ == 'L' || extension_ == 'K') {
    const std::string_view text = as_text(body);
    const std::string_view name = text.substr(0, text.find('\0'));
    if (name.empty()) return corrupt("a GNU long-name header without a name", "", next_);
    (extension_ == 'L' ? long_name_ : long_link_) = name;
  } else {
    auto parsed = parse_pax(body, extension_ == 'g' ? global_ : local_);
    if (!parsed.ok()) {
      parsed.error().origin.offset += wanted_.offset;
      return std::move(parsed).error();
    }
  }
  next_ = wanted_.offset + tar_padded(wanted_.size);
  return position();
}

void TarParser::name_member(ByteView block, char type) {
  std::string& name = member_.name;
  if (local_.path) {
    name = *local_.path;
  } else if (!long_name_.empty()) {
    name = long_name_;
  } else if (global_.path) {
    name = *global_.path;
  } else {
    name.clear();
    // GNU's own magic is "ustar  ", and it keeps other things where the prefix is.
    if (as_text(block).substr(kTarMagic.offset, kTarMagic.size) == std::string_view("ustar", 6)) {
      name = tar_text(block, kTarPrefix);
      if (!name.empty()) name += '/';
    }
    name += tar_text(block, kTarName);
  }
  member_.type = type_of(type, name);

  if (member_.type != TarType::kHardlink && member_.type != TarType::kSymlink) {
    member_.linkname.clear();
  } else if (local_.linkpath) {
    member_.linkname = *local_.linkpath;
  } else if (!long_link_.empty()) {
    member_.linkname = long_link_;
  } else if (global_.linkpath) {
    member_.linkname = *global_.linkpath;
  } else {
    member_.linkname = tar_text(block, kTarLinkname);
  }
}

Result<TarStep> TarParser::on_member(ByteView block, char type) {
  name_member(block, type);
  if (type == 'S' || local_.sparse || global_.sparse) return sparse_error(member_.name, next_);
  if (type == 'M')
    return corrupt("a member continued from another volume", member_.name, next_,
                   "Join the volumes into one archive first");

  auto size = tar_number(block, kTarSize);
  if (local_.size || global_.size) size = local_.size ? local_.size : global_.size;
  if (!size)
    return corrupt("the size is not a number, or is negative or over 63 bits", member_.name, next_);

  member_.header_offset = pending_ ? pending_offset_ : next_;
  member_.data_offset = next_ + kTarBlock;
  member_.size = has_payload(type) ? *size : 0;
  HR_CHECK(check_range(member_.name, member_.data_offset, member_.size, "the data"));
  member_.end_offset = member_.data_offset + tar_padded(member_.size);
  next_ = end_.members_end = member_.end_offset;
  if (std::exchange(pending_, false)) {
    long_name_.clear();
    long_link_.clear();
    local_ = {};
  }
  return TarStep::kMember;
}

}  // namespace headrace
