#include "job/reshape/layout.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/try.h"
#include "format/tar_writer.h"
#include "job/index_cursor.h"
#include "job/shard_object.h"
#include "plan/manifest.h"

namespace headrace {

std::string numbered_key(uint64_t position) {
  constexpr size_t kDigits = 9;  // names sort as numbers do
  std::string digits = std::to_string(position);
  return digits.insert(0, digits.size() < kDigits ? kDigits - digits.size() : 0, '0');
}

namespace {

std::vector<std::string> all_fields(const Inputs& inputs) {
  std::set<std::string> fields;
  for (const auto& set : inputs.sets())
    for (const FieldSummary& field : set->manifest().fields) fields.insert(field.name);
  return {fields.begin(), fields.end()};
}

// Whether the members lie in the archive as they will be written, sizes of headers included.
bool is_verbatim(const Pick& pick, const SampleLayout& layout,
                 const std::vector<std::string>& fields) {
  const ShardIndex& index = *pick.index;
  if (layout.members.size() != index.members(pick.sample).size()) return false;
  uint64_t at = index.sample_begin(pick.sample);
  for (const LaidMember& member : layout.members) {
    at += header_bytes(layout.key, fields[member.field], member.size);
    if (member.shard != pick.shard || member.offset != at) return false;
    at += member.size + tar_padding(member.size);
  }
  return at == index.sample_end(pick.sample);
}

}  // namespace

uint64_t header_bytes(std::string_view key, std::string_view field, uint64_t size) {
  constexpr size_t kShortName = 100;
  constexpr uint64_t kSmall = uint64_t{8} << 30;
  if (key.size() + 1 + field.size() <= kShortName && size < kSmall) return kTarBlock;
  return tar_header_bytes(std::string(key) + "." + std::string(field), size);
}

namespace {

// Headers, payload and padding.
uint64_t member_bytes(std::string_view key, std::string_view field, uint64_t size) {
  return header_bytes(key, field, size) + size + tar_padding(size);
}

}  // namespace

uint64_t SampleLayout::bytes(const std::vector<std::string>& fields) const {
  uint64_t bytes = 0;
  for (const LaidMember& member : members)
    bytes += member_bytes(key, fields[member.field], member.size);
  return bytes;
}

SampleLayouts::SampleLayouts(const Inputs& inputs, const FieldMap& map, bool rekey)
    : inputs_(inputs), map_(map), rekey_(rekey), fields_(map.output(all_fields(inputs))) {}

Result<bool> SampleLayouts::lay_out(std::span<const Pick> picks, SampleLayout& into) const {
  const Pick& first = *std::ranges::find_if(picks, [](const Pick& pick) { return pick.index; });
  into.key = rekey_ ? numbered_key(first.position) : std::string(first.index->key(first.sample));
  into.members.clear();
  thread_local std::vector<Named> members;
  members.clear();
  for (const Pick& pick : picks)
    if (pick.index != nullptr) HR_CHECK(add_column(pick, members));
  if (!map_.is_identity()) {
    HR_TRY(const bool kept, apply_rules(first, members));
    if (!kept) return false;
  }
  for (const Named& named : members) {
    const auto field = std::ranges::lower_bound(fields_, named.name);
    if (field == fields_.end() || *field != named.name)
      return problem(first, Code::kCorrupt,
                     "the field '" + std::string(named.name) + "' is not in the manifest",
                     "Run 'headrace index' on the input again.");
    into.members.push_back(named.member);
    into.members.back().field = static_cast<uint32_t>(field - fields_.begin());
  }
  if (into.members.empty()) return false;
  into.verbatim = picks.size() == 1 && is_verbatim(first, into, fields_);
  into.begin = first.index->sample_begin(first.sample);
  into.end = first.index->sample_end(first.sample);
  return true;
}

Result<uint64_t> SampleLayouts::bytes(const Pick& pick) const {
  if (!map_.is_identity() || rekey_) {
    thread_local SampleLayout layout;
    HR_TRY(const bool kept, lay_out({&pick, 1}, layout));
    return kept ? layout.bytes(fields_) : 0;
  }
  const std::string_view key = pick.index->key(pick.sample);
  uint64_t bytes = 0;
  for (const IndexMember& member : pick.index->members(pick.sample))
    bytes += member_bytes(key, pick.index->fields()[member.field], member.size);
  return bytes;
}

Status SampleLayouts::add_column(const Pick& pick, std::vector<Named>& members) const {
  const size_t before = members.size();
  for (const IndexMember& member : pick.index->members(pick.sample)) {
    const Named named{pick.index->fields()[member.field],
                      {.shard = pick.shard,
                       .offset = member.offset,
                       .size = member.size,
                       .checksum = pick.index->checksum(member),
                       .measure = pick.index->measure(member)}};
    const auto end = members.begin() + static_cast<ptrdiff_t>(before);
    const auto same = std::find_if(members.begin(), end,
                                   [&](const Named& known) { return known.name == named.name; });
    if (same == end)
      members.push_back(named);
    else if (map_.conflict == FieldMap::Conflict::kLast)
      *same = named;
    else if (map_.conflict == FieldMap::Conflict::kError)
      return problem(pick, Code::kUsage,
                     "both samples have the field '" + std::string(named.name) + "'",
                     "Choose with --on-conflict first or last, or rename it before.");
  }
  return {};
}

// False: a field is missing and such samples are left out.
Result<bool> SampleLayouts::apply_rules(const Pick& first, std::vector<Named>& members) const {
  std::vector<Named> out;
  std::vector<const FieldRule*> rule_of(members.size());
  std::vector<size_t> chosen;
  for (const FieldRule& rule : map_.rules) {
    const size_t found = choose(rule, members, rule_of);
    if (found < members.size()) {
      chosen.push_back(found);
      out.push_back({rule.to, members[found].member});
    } else if (map_.missing == FieldMap::Missing::kDropSample) {
      return false;
    } else if (map_.missing == FieldMap::Missing::kError) {
      return problem(first, Code::kNotFound, "the sample has no field '" + rule.from.front() + "'",
                     "Go on without with --on-missing ignore, or leave such samples out with "
                     "--on-missing drop-sample.");
    }
  }
  if (map_.others) {  // in the order in which they lie
    out.clear();
    for (size_t i = 0; i < members.size(); ++i) {
      const bool is_chosen = std::ranges::find(chosen, i) != chosen.end();
      if (rule_of[i] != nullptr && !is_chosen) continue;
      const std::string_view name = is_chosen ? rule_of[i]->to : members[i].name;
      if (std::ranges::find(out, name, &Named::name) != out.end())
        return problem(first, Code::kUsage, "two fields would be named '" + std::string(name) + "'",
                       "Rename the other one too, or 'headrace project' to the fields wanted.");
      out.push_back({name, members[i].member});
    }
  }
  members = std::move(out);
  return !members.empty();
}

// The member that is the rule's, or members.size(). Marks all that the rule names.
size_t SampleLayouts::choose(const FieldRule& rule, const std::vector<Named>& members,
                             std::vector<const FieldRule*>& rule_of) {
  size_t found = members.size();
  for (size_t i = rule.from.size(); i-- > 0;)
    for (size_t m = 0; m < members.size(); ++m) {
      if (members[m].name != rule.from[i]) continue;
      rule_of[m] = &rule;
      found = m;
    }
  return found;
}

Error SampleLayouts::damaged(uint32_t shard, uint64_t offset) const {
  const auto name = inputs_.shard_name(shard);
  const auto index = inputs_.index(shard);
  IndexCursor at(index.ok() ? index->get() : nullptr);
  while (!at.at_end() && at.member().offset != offset) at.next();
  return damaged_payload(
      {.shard = name.ok() ? *name : "", .member = at.at_end() ? "" : at.name(), .offset = offset});
}

Error SampleLayouts::problem(const Pick& pick, Code code, std::string message,
                             std::string hint) const {
  const auto name = inputs_.shard_name(pick.shard);
  return {.code = code,
          .message = std::move(message),
          .origin = {.shard = name.ok() ? *name : "",
                     .member = std::string(pick.index->key(pick.sample)),
                     .offset = pick.index->sample_begin(pick.sample)},
          .hint = std::move(hint)};
}

}  // namespace headrace
