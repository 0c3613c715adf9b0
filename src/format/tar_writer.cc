#include "format/tar_writer.h"

#include <array>
#include <optional>

namespace headrace {
namespace {

using Block = std::array<char, kTarBlock>;

constexpr uint64_t kLargestOctalSize = (uint64_t{1} << 33) - 1;  // eleven octal digits

void put_text(Block& block, TarField field, std::string_view text) {
  text.copy(block.data() + field.offset, field.size);
}

/// Octal digits that fill the field but for its last byte, a NUL.
void put_octal(Block& block, TarField field, uint64_t value) {
  for (size_t i = field.size - 1; i-- > 0; value >>= 3)
    block[field.offset + i] = static_cast<char>('0' + (value & 7));
}

Block make_template() {
  Block block{};
  put_octal(block, kTarUid, 0);
  put_octal(block, kTarGid, 0);
  put_text(block, kTarMagic, "ustar");
  put_text(block, kTarVersion, "00");
  put_octal(block, kTarDevMajor, 0);
  put_octal(block, kTarDevMinor, 0);
  return block;
}

struct SplitName {
  std::string_view prefix;
  std::string_view name;
};

/// How `name` fits the two fields, or nothing.
std::optional<SplitName> split_name(std::string_view name) {
  if (name.size() <= kTarName.size) return SplitName{{}, name};
  if (name.size() > kTarPrefix.size + 1 + kTarName.size) return std::nullopt;
  // The leftmost '/' that leaves at most 100 bytes behind it gives the shortest prefix.
  const size_t slash = name.find('/', name.size() - kTarName.size - 1);
  if (slash == name.npos || slash == 0 || slash > kTarPrefix.size || slash + 1 == name.size())
    return std::nullopt;
  return SplitName{name.substr(0, slash), name.substr(slash + 1)};
}

bool fits(std::string_view text, TarField field) { return text.size() < field.size; }  // and a NUL

void append_block(std::string& out, const SplitName& name, uint64_t size, char type,
                  const TarAttributes& attributes) {
  static const Block kTemplate = make_template();
  Block block = kTemplate;
  put_octal(block, kTarMode, attributes.mode & 07777);
  put_octal(block, kTarMtime, attributes.mtime);
  if (fits(attributes.user, kTarUser)) put_text(block, kTarUser, attributes.user);
  if (fits(attributes.group, kTarGroup)) put_text(block, kTarGroup, attributes.group);
  put_text(block, kTarName, name.name);
  put_text(block, kTarPrefix, name.prefix);
  put_octal(block, kTarSize, size);
  block[kTarType.offset] = type;
  const ByteView bytes = as_bytes({block.data(), block.size()});
  const uint32_t checksum = tar_checksum(bytes, tar_byte_sum(bytes));
  put_octal(block, {kTarChecksum.offset, kTarChecksum.size - 1}, checksum);
  block[kTarChecksum.offset + kTarChecksum.size - 1] = ' ';
  out.append(block.data(), block.size());
}

/// "LENGTH KEY=VALUE\n", where LENGTH counts its own digits.
void append_record(std::string& out, std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;  // space, '=', line feed
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length)
    length = std::to_string(length).size() + rest;
  out += std::to_string(length);
  out += ' ';
  out += key;
  out += '=';
  out += value;
  out += '\n';
}

std::string pax_body(std::string_view name, uint64_t size, const TarAttributes& attributes) {
  std::string body;
  if (!split_name(name)) append_record(body, "path", name);
  if (!fits(attributes.user, kTarUser)) append_record(body, "uname", attributes.user);
  if (!fits(attributes.group, kTarGroup)) append_record(body, "gname", attributes.group);
  if (size > kLargestOctalSize) append_record(body, "size", std::to_string(size));
  return body;
}

}  // namespace

void append_tar_header(std::string& out, std::string_view name, uint64_t size,
                       const TarAttributes& attributes) {
  const auto split = split_name(name);
  const std::string body = pax_body(name, size, attributes);
  if (body.empty()) return append_block(out, *split, size, '0', attributes);

  // What a reader that knows no pax shows: the base name, cut.
  const std::string_view base = name.substr(name.rfind('/') + 1).substr(0, kTarName.size);
  append_block(out, {"PaxHeaders", base}, body.size(), 'x', attributes);
  out += body;
  out.append(tar_padding(body.size()), '\0');
  append_block(out, split.value_or(SplitName{{}, base}), size > kLargestOctalSize ? 0 : size, '0',
               attributes);
}

uint64_t tar_header_bytes(std::string_view name, uint64_t size) {
  const std::string body = pax_body(name, size, {});
  return body.empty() ? kTarBlock : 2 * kTarBlock + tar_padded(body.size());
}

void append_tar_end(std::string& out) { out.append(kTarEndBytes, '\0'); }

}  // namespace headrace
