// Makes tar archives by hand for tests: any field may lie, the checksum is made right at the end.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "format/tar_walk.h"
#include "format/tar_writer.h"

namespace headrace {

/// Writes the right checksum into the header at `offset` of an archive.
inline void fix_checksum(std::string& archive, size_t offset) {
  const ByteView block = as_bytes(archive).subspan(offset, kTarBlock);
  char text[9];
  std::snprintf(text, sizeof text, "%06o", tar_checksum(block, tar_byte_sum(block)));
  text[7] = ' ';
  std::memcpy(archive.data() + offset + kTarChecksum.offset, text, 8);
}

/// Overwrites a field of the header at `offset`, and fixes the checksum.
inline void set_field(std::string& archive, size_t offset, TarField field, std::string_view value) {
  archive.replace(offset + field.offset, field.size, field.size, '\0');
  archive.replace(offset + field.offset, value.size(), value);
  fix_checksum(archive, offset);
}

/// Header, payload and padding of a member of any type.
inline std::string raw_member(std::string_view name, std::string_view payload, char type = '0') {
  std::string out;
  append_tar_header(out, name, payload.size());
  set_field(out, out.size() - kTarBlock, kTarType, std::string_view(&type, 1));
  out += payload;
  out.append(tar_padding(payload.size()), '\0');
  return out;
}

inline std::string tar_end() { return std::string(kTarEndBytes, '\0'); }

struct Walked {
  std::vector<TarMember> members;
  Result<TarEnd> end;
};

inline Walked walk(std::string_view archive) {
  std::vector<TarMember> members;
  auto end = for_each_member(as_bytes(archive), [&members](const TarMember& member) {
    members.push_back(member);
    return Status::success();
  });
  return {std::move(members), std::move(end)};
}

/// The whole error of a walk, or "ok".
inline std::string error_of(std::string_view archive) {
  const Walked walked = walk(archive);
  return walked.end.ok() ? "ok" : walked.end.error().to_string();
}

}  // namespace headrace
