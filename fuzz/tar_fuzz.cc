// Any bytes as a tar archive. An odd first byte makes the checksum of every block right, so that
// the fuzzer gets behind it.
#include <cstdlib>
#include <cstring>

#include "format/index_archive.h"
#include "format/tar_fields.h"

namespace {

using namespace headrace;

void require(bool condition) {
  if (!condition) std::abort();
}

void fix_checksums(std::string& archive) {
  for (size_t at = 0; at + kTarBlock <= archive.size(); at += kTarBlock) {
    const ByteView block = as_bytes(archive).subspan(at, kTarBlock);
    const uint32_t sum = tar_byte_sum(block);
    if (sum == 0) continue;
    char text[16];
    std::snprintf(text, sizeof text, "%06o", tar_checksum(block, sum));
    std::memcpy(archive.data() + at + kTarChecksum.offset, text, 7);
  }
}

std::string read_by(const auto& walk, uint64_t size) {
  std::string seen;
  uint64_t end = 0;
  const auto result = walk([&](const TarMember& member) {
    require(end <= member.header_offset && member.header_offset < member.data_offset);
    require(member.size <= size && member.data_offset + member.size <= member.end_offset);
    require(member.end_offset <= size);
    end = member.end_offset;
    seen += member.name + '\0' + member.linkname + '\0' + std::to_string(member.data_offset) + ' ';
    return Status::success();
  });
  return seen + (result.ok() ? std::to_string(result->members_end) : result.error().to_string());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string archive(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] & 1) fix_checksums(archive);
  const ReadAt read = [&archive](uint64_t offset, MutableBytes into) {
    require(offset <= archive.size() && into.size() <= archive.size() - offset);
    std::memcpy(into.data(), archive.data() + offset, into.size());
    return Status::success();
  };
  const std::string whole =
      read_by([&](const OnMember& visit) { return for_each_member(as_bytes(archive), visit); },
              archive.size());
  const std::string ranges =
      read_by([&](const OnMember& visit) { return for_each_member(archive.size(), read, visit); },
              archive.size());
  require(whole == ranges);

  const auto indexed = index_archive("shard", archive.size(), read, KeyRule());
  if (!indexed.ok()) return 0;
  const std::string section = indexed->builder.encode();
  const auto decoded = ShardIndex::decode(as_bytes(section), archive.size(), {});
  require(decoded.ok() && decoded->size() == indexed->builder.size());
  return 0;
}
