#include "job/index_comparison.h"

#include "format/tar_fields.h"

namespace headrace {

void IndexComparison::member(const TarMember& member) {
  if (shard_.index == nullptr || member.type != TarType::kRegular) return;
  while (!cursor_.at_end() && cursor_.member().offset < member.data_offset) lose();
  if (cursor_.at_end() || cursor_.member().offset > member.data_offset) return extra(member);
  if (cursor_.member().size != member.size)
    report_.corrupt(FindingKind::kIndex,
                    "the member has " + std::to_string(member.size) + " bytes, the index says " +
                        std::to_string(cursor_.member().size),
                    member.name, member.header_offset);
  if (!same_name(member.name))
    report_.corrupt(FindingKind::kIndex, "the index has '" + cursor_.name() + "' at this place",
                    member.name, member.header_offset);
  cursor_.next();
}

void IndexComparison::problem(ScanProblem kind, Error error) {
  const uint64_t offset = error.origin.offset;
  const bool cut = size_ < shard_.bytes && offset + kTarBlock > size_;
  const bool behind = size_ > shard_.bytes && offset >= shard_.bytes;
  if (cut || behind) return;  // the size has been reported
  if (error.origin.member.empty()) error.origin.member = name_behind(offset);
  report_.add(Severity::kError,
              kind == ScanProblem::kPadding ? FindingKind::kPadding : FindingKind::kHeader,
              std::move(error));
}

std::optional<uint64_t> IndexComparison::next_header(uint64_t offset) {
  blind_until_ = ~uint64_t{0};
  if (shard_.index == nullptr) return std::nullopt;
  const ShardIndex& index = *shard_.index;
  uint32_t low = 0, high = index.size();
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (index.sample_begin(middle) > offset)
      high = middle;
    else
      low = middle + 1;
  }
  if (low == index.size()) return std::nullopt;
  blind_until_ = index.sample_begin(low);
  return blind_until_;
}

void IndexComparison::finish() {
  while (!cursor_.at_end()) lose();
  if (lost_ == 0) return;
  report_.corrupt(FindingKind::kIndex,
                  "no member begins where the index has one; " + std::to_string(lost_) +
                      " such places in this shard",
                  lost_name_, lost_offset_);
}

void IndexComparison::lose() {
  const IndexMember& member = cursor_.member();
  const bool cut = size_ < shard_.bytes && member.offset + member.size > size_;
  if (!cut && member.offset >= blind_until_ && lost_++ == 0) {
    lost_name_ = cursor_.name();
    lost_offset_ = member.offset;
  }
  cursor_.next();
}

void IndexComparison::extra(const TarMember& member) {
  const auto taken = shard_.rule.split(member.name, split_);
  if (!taken.ok() || !*taken) return;
  report_.warn(FindingKind::kIndex, "a member that the index does not have: '" + member.name + "'",
               member.header_offset);
}

bool IndexComparison::same_name(const std::string& name) {
  if (name == cursor_.name()) return true;
  const auto taken = shard_.rule.split(name, split_);
  return taken.ok() && *taken && split_.key == cursor_.key() &&
         split_.field == shard_.index->fields()[cursor_.member().field];
}

std::string IndexComparison::name_behind(uint64_t offset) const {
  IndexCursor cursor = cursor_;
  while (!cursor.at_end() && cursor.member().offset <= offset) cursor.next();
  return cursor.at_end() ? std::string() : cursor.name();
}

}  // namespace headrace
