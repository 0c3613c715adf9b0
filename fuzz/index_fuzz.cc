// Any bytes as an index section with a right checksum; what decodes must be in bounds and come back
// the same from the builder.
#include <cstdlib>
#include <cstring>

#include "base/digest.h"
#include "base/little_endian.h"
#include "format/shard_index.h"

namespace {

using namespace headrace;

void require(bool condition) {
  if (!condition) std::abort();
}

ShardIndexBuilder rebuild(const ShardIndex& index, uint64_t object_bytes) {
  ShardIndexBuilder builder;
  uint64_t end = 0;
  for (uint32_t s = 0; s < index.size(); ++s) {
    require(!index.key(s).empty());
    require(end <= index.sample_begin(s) && index.sample_begin(s) <= index.sample_end(s));
    end = index.sample_end(s);
    require(!index.is_archive() || end <= object_bytes);
    builder.add_sample(index.key(s), index.sample_begin(s));
    for (const IndexMember& member : index.members(s)) {
      const std::string& field = index.fields()[member.field];
      if (index.is_archive())
        require(member.offset <= object_bytes && member.size <= object_bytes - member.offset);
      require(index.find(s, member.field) == &member);
      if (index.is_archive())
        builder.add_member(field, member.offset, member.size);
      else
        builder.add_file(field, index.object(member.object), member.size);
      if (index.has_checksums()) builder.set_checksum(index.checksum(member));
    }
    builder.end_sample(end);
  }
  return builder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 24) return 0;
  const auto object_bytes = load_le<uint64_t>(reinterpret_cast<const std::byte*>(data));
  std::string section(reinterpret_cast<const char*>(data) + 8, size - 8);
  const uint64_t sum = xxh3(as_bytes(section).subspan(16));
  std::memcpy(section.data(), "HRIX\1\0\0\0", 8);
  std::memcpy(section.data() + 8, &sum, sizeof sum);

  const auto index = ShardIndex::decode(as_bytes(section), object_bytes, {"shard"});
  if (!index.ok()) return 0;
  const ShardIndexBuilder builder = rebuild(*index, object_bytes);
  const auto again = ShardIndex::decode(as_bytes(builder.encode()), object_bytes, {"shard"});
  require(again.ok() && rebuild(*again, object_bytes).encode() == builder.encode());
  return 0;
}
