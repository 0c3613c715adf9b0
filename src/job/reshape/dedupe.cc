#include "job/reshape/dedupe.h"

#include <algorithm>

#include "base/digest.h"
#include "base/permutation.h"
#include "base/try.h"
#include "job/reshape/order_bytes.h"
#include "job/reshape/scan.h"

namespace headrace {
namespace {

struct Content {
  uint64_t first = 0;
  uint64_t second = 0;
};

// Fields in the order of their names: the same sample may lie in another order.
Status add_content(const ScannedSample& sample, std::vector<std::string> fields, Content& into) {
  if (fields.empty())
    for (const IndexMember& member : sample.members())
      fields.push_back(sample.field_names()[member.field]);
  std::ranges::sort(fields);
  std::string bytes;
  for (const std::string& field : fields) {
    const IndexMember* member = sample.find(field);
    if (member == nullptr) continue;
    HR_CHECK(sample.read(*member, bytes));
    const uint64_t name = xxh3(as_bytes(field));
    into.first = mix(into.first, mix(name, xxh3(as_bytes(bytes)) + bytes.size()));
    into.second = mix(into.second, mix(~name, xxh64(as_bytes(bytes), bytes.size())));
  }
  return {};
}

}  // namespace

Result<Rows> first_of_equal(const Inputs& inputs, const std::vector<std::string>& fields,
                            const WorkRoom& room) {
  SpillSort by_content(room.scratch, room.memory_bytes / 2);
  HR_CHECK(scan(inputs, room.threads, [&](uint32_t, const ScannedSample& sample) -> Status {
    Content content;
    HR_CHECK(add_content(sample, fields, content));
    std::string record;
    for (const uint64_t part : {content.first, content.second, sample.number()})
      append_ordered(record, part);
    return by_content.add(record);
  }));
  SpillSort by_number(room.scratch, room.memory_bytes / 2);
  std::string last;
  HR_CHECK(by_content.each([&](std::string_view record) -> Status {
    const std::string_view content = record.substr(0, 2 * sizeof(uint64_t));
    if (content == last) return {};
    last = content;
    return by_number.add(record.substr(content.size()));
  }));
  RowsBuilder rows(room.scratch);
  HR_CHECK(by_number.each([&](std::string_view number) { return rows.add(last_number(number)); }));
  return rows.finish();
}

}  // namespace headrace
