#include "job/reshape/sort.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/digest.h"
#include "base/try.h"
#include "job/reshape/order_bytes.h"

namespace headrace {
namespace {

using Kind = SortOptions::Kind;

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>)
    if (std::isnan(value)) return std::nullopt;
  return value;
}

std::string md5(std::string_view text) {
  std::array<std::byte, 16> digest{};
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
             EVP_md5(), nullptr);
  return hex(digest);
}

// Appends what the text is sorted by; false: it is not the number that it should be.
bool append_key(Kind kind, std::string_view text, std::string& out) {
  if (kind == Kind::kInteger) {
    const auto number = parse_number<int64_t>(text);
    if (number) append_ordered(out, *number);
    return number.has_value();
  }
  if (kind == Kind::kFloat) {
    const auto number = parse_number<double>(text);
    if (number) append_ordered(out, *number);
    return number.has_value();
  }
  if (kind == Kind::kNatural)
    append_natural(out, text);
  else
    append_ordered(out, kind == Kind::kMd5 ? std::string_view(md5(text)) : text);
  return true;
}

// Appends what the sample is sorted by; false: it has none.
Result<bool> append_key_of(const ScannedSample& sample, const SortOptions& options,
                           std::string& out) {
  if (options.by == "size") {
    append_ordered(out, sample.payload_bytes());
    return true;
  }
  bool has_key = false;
  const IndexMember* member = nullptr;
  if (options.by == "key") {
    has_key = append_key(options.kind, sample.key(), out);
  } else if (member = sample.find(options.by); member != nullptr) {
    std::string text;
    HR_CHECK(sample.read(*member, text));
    has_key = append_key(options.kind, text, out);
  }
  if (has_key || options.missing != SortOptions::Missing::kError) return has_key;
  return Error{.code = member == nullptr ? Code::kNotFound : Code::kCorrupt,
               .message = member == nullptr
                              ? "the sample has no field '" + options.by + "' to sort by"
                              : "the field '" + options.by + "' is not the number to sort by",
               .origin = sample.origin(),
               .hint = "Choose with --on-missing last or drop-sample."};
}

// group | 0, or 1 without a key: those are last, whichever way the others go | key | number
Result<bool> make_record(const ScannedSample& sample, uint32_t group, const SortOptions& options,
                         std::string& record) {
  record.clear();
  append_ordered(record, group);
  record += '\0';
  const size_t begin = record.size();
  HR_TRY(const bool has_key, append_key_of(sample, options, record));
  if (!has_key && options.missing == SortOptions::Missing::kDrop) return false;
  if (!has_key) record[begin - 1] = '\1';
  if (options.reverse)
    for (size_t i = begin; i < record.size(); ++i) record[i] = static_cast<char>(~record[i]);
  append_ordered(record, sample.number());
  return true;
}

}  // namespace

Result<Sorted> sort_samples(const Inputs& inputs, const SortOptions& options, const WorkRoom& room,
                            uint32_t groups, const GroupOf& group_of) {
  SpillSort sorted(room.scratch, room.memory_bytes);
  HR_CHECK(scan(inputs, room.threads, [&](uint32_t, const ScannedSample& sample) -> Status {
    HR_TRY(const auto group, group_of(sample));
    if (!group) return {};
    thread_local std::string record;
    HR_TRY(const bool stays, make_record(sample, *group, options, record));
    return stays ? sorted.add(record) : Status();
  }));
  Sorted result;
  result.counts.resize(groups);
  RowsBuilder rows(room.scratch);
  HR_CHECK(sorted.each([&](std::string_view record) {
    ++result.counts[number_at(record, 0) >> 32];
    return rows.add(last_number(record));
  }));
  HR_TRY(result.rows, rows.finish());
  return result;
}

}  // namespace headrace
