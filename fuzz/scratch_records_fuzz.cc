// Any bytes as what lies between the two passes of a reshaping job: records of samples. What is
// taken for one lies inside, and is the same when it is written again.
#include <cstdlib>
#include <string>
#include <vector>

#include "format/tar_writer.h"
#include "job/reshape/bucket_file.h"

namespace {

using namespace headrace;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_members(const BucketFile::Entry& entry, ByteView record) {
  const std::vector<std::string> fields{"jpg", "cls", "json"};
  std::vector<PlacedMember> members;
  if (!read_members(entry, entry.key, 1000, fields, members)) return;
  uint64_t at = 1000;
  for (const PlacedMember& member : members) {
    require(member.header == at && member.data > member.header && member.field < fields.size());
    at = member.data + member.size;
    require(at <= 1000 + entry.tar.size());
    at += tar_padding(member.size);
  }
  std::string again;
  append_record_head(again, entry.position, entry.key, members, entry.tar.size());
  require(again + std::string(as_text(entry.tar)) == as_text(record));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteView rest(reinterpret_cast<const std::byte*>(data), size);
  while (!rest.empty()) {
    BucketFile::Entry entry;
    const auto bytes = parse_bucket_record(rest, entry);
    if (!bytes || *bytes == 0 || *bytes > rest.size()) return 0;
    require(entry.record.size() == *bytes);
    check_members(entry, entry.record);
    rest = rest.subspan(*bytes);
  }
  return 0;
}
