// A sample as it will lie in the output: where its members go, and the bytes around their payloads.
//
//   |header|payload……|pad|header|payload|pad|
//    └ place_members() says where, write_headers() fills in all but the payloads
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/bytes.h"
#include "job/reshape/layout.h"
#include "job/shard_object.h"

namespace headrace {

/// One member of a sample whose header begins at `at`; `key` is what it keeps.
PlacedMember place_member(const SampleLayout& layout, std::string_view key, uint32_t number,
                          const std::vector<std::string>& fields, size_t at);

/// Appends all members of a sample that begins at `at`, one behind the other. Gives its end.
size_t place_members(const SampleLayout& layout, std::string_view key,
                     const std::vector<std::string>& fields, size_t at,
                     std::vector<PlacedMember>& into);

/// Headers, and the padding of payloads that end in `bytes`.
void write_headers(MutableBytes bytes, std::span<const PlacedMember> placed,
                   const std::vector<std::string>& fields);

}  // namespace headrace
