#include "io/cache/entry_header.h"

#include <bit>

#include "base/digest.h"
#include "base/little_endian.h"

namespace headrace {
namespace {

constexpr std::string_view kMagic = "HRCACHE1";
constexpr uint64_t kSummedFrom = 16;
constexpr uint32_t kSmallestGranule = 4096;
constexpr uint32_t kLargestGranule = 64 << 20;
constexpr uint64_t kLargestObject = uint64_t{1} << 52;
constexpr uint64_t kPage = 4096;

uint64_t next_page(uint64_t offset) { return (offset + kPage - 1) / kPage * kPage; }

Error corrupt(const std::string& path, const std::string& problem) {
  return {.code = Code::kCorrupt,
          .message = "the header of the cache file " + problem,
          .origin = {.shard = path, .offset = 0}};
}

}  // namespace

uint64_t EntryHeader::records_offset() const { return next_page(kFixedBytes + name.size()); }

uint64_t EntryHeader::data_offset() const {
  return next_page(records_offset() + sizeof(GranuleRecord) * granules());
}

std::string encode_entry_header(const EntryHeader& header) {
  std::string summed;
  append_le(summed, header.object_bytes);
  append_le(summed, header.granule_bytes);
  append_le(summed, static_cast<uint32_t>(header.name.size()));
  summed += header.name;
  std::string out(kMagic);
  append_le(out, xxh3(as_bytes(summed)));
  return out + summed;
}

Result<EntryHeader> decode_entry_header(ByteView bytes, const std::string& path) {
  if (bytes.size() < EntryHeader::kFixedBytes) return corrupt(path, "is cut");
  if (as_text(bytes.first(kMagic.size())) != kMagic) return corrupt(path, "is of another format");
  const auto name_bytes = load_le<uint32_t>(bytes.data() + 28);
  if (name_bytes > EntryHeader::kLargestName ||
      name_bytes > bytes.size() - EntryHeader::kFixedBytes)
    return corrupt(path, "is cut");
  const uint64_t end = EntryHeader::kFixedBytes + name_bytes;
  if (load_le<uint64_t>(bytes.data() + 8) != xxh3(bytes.subspan(kSummedFrom, end - kSummedFrom)))
    return corrupt(path, "does not have its checksum");
  EntryHeader header{
      .object_bytes = load_le<uint64_t>(bytes.data() + 16),
      .granule_bytes = load_le<uint32_t>(bytes.data() + 24),
      .name = std::string(as_text(bytes.subspan(EntryHeader::kFixedBytes, name_bytes)))};
  if (header.object_bytes == 0 || header.object_bytes > kLargestObject ||
      header.granule_bytes < kSmallestGranule || header.granule_bytes > kLargestGranule ||
      !std::has_single_bit(header.granule_bytes))
    return corrupt(path, "has sizes that cannot be");
  return header;
}

GranuleRecord granule_record(ByteView bytes) {
  const GranuleRecord sum = xxh3(bytes);
  return sum == 0 ? 1 : sum;
}

}  // namespace headrace
