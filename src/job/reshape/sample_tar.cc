#include "job/reshape/sample_tar.h"

#include <cstring>

#include "format/tar_writer.h"

namespace headrace {

PlacedMember place_member(const SampleLayout& layout, std::string_view key, uint32_t number,
                          const std::vector<std::string>& fields, size_t at) {
  const LaidMember& member = layout.members[number];
  return {.key = key,
          .field = member.field,
          .first = number == 0,
          .last = number + 1 == layout.members.size(),
          .header = at,
          .data = at + header_bytes(key, fields[member.field], member.size),
          .size = member.size,
          .checksum = member.checksum,
          .measure = member.measure};
}

size_t place_members(const SampleLayout& layout, std::string_view key,
                     const std::vector<std::string>& fields, size_t at,
                     std::vector<PlacedMember>& into) {
  for (uint32_t i = 0; i < layout.members.size(); ++i) {
    into.push_back(place_member(layout, key, i, fields, at));
    at = into.back().data + into.back().size + tar_padding(into.back().size);
  }
  return at;
}

void write_headers(MutableBytes bytes, std::span<const PlacedMember> placed,
                   const std::vector<std::string>& fields) {
  thread_local std::string name;
  thread_local std::string header;
  for (const PlacedMember& member : placed) {
    name.assign(member.key);
    name += '.';
    name += fields[member.field];
    header.clear();
    append_tar_header(header, name, member.size);
    std::memcpy(bytes.data() + member.header, header.data(), header.size());
    const uint64_t end = member.data + member.size;
    if (end < bytes.size()) std::memset(bytes.data() + end, 0, tar_padding(member.size));
  }
}

}  // namespace headrace
