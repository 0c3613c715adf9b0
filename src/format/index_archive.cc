#include "format/index_archive.h"

#include <utility>

#include "base/try.h"

namespace headrace {
namespace {

class Grouper {
 public:
  Grouper(const KeyRule& rule, IndexedArchive& out) : rule_(rule), out_(out) {}

  Status add(const TarMember& member) {
    ++out_.members;
    bool taken = member.type == TarType::kRegular;
    if (taken) {
      HR_TRY(taken, rule_.split(member.name, name_));
    }
    if (!taken) {
      ++out_.skipped;
      return Status::success();
    }
    ShardIndexBuilder& builder = out_.builder;
    if (builder.size() == 0 || name_.key != key_) {
      if (builder.size() == ~uint32_t{0})
        return Error{Code::kUsage, "more than 4294967295 samples in one shard"};
      builder.add_sample(name_.key, member.header_offset);
      std::swap(key_, name_.key);
    }
    builder.add_member(name_.field, member.data_offset, member.size);
    builder.end_sample(member.end_offset);
    return check_duplicate(member);
  }

 private:
  Status check_duplicate(const TarMember& member) {
    const uint32_t newest = out_.builder.size();
    const uint32_t field = out_.builder.index().members(newest - 1).back().field;
    if (field >= seen_in_.size()) seen_in_.resize(field + 1);
    if (std::exchange(seen_in_[field], newest) != newest) return Status::success();
    return Error{Code::kCorrupt,
                 "the field '" + name_.field + "' comes twice in the sample '" + key_ + "'",
                 {"", member.name, member.header_offset},
                 "Give the members different extensions or keys"};
  }

  const KeyRule& rule_;
  IndexedArchive& out_;
  KeyField name_;
  std::string key_;                // of the newest sample
  std::vector<uint32_t> seen_in_;  // by field: the sample, counted from 1, that had it last
};

void add_warnings(const std::string& shard, uint64_t object_size, IndexedArchive& out) {
  const auto warn = [&](std::string message, uint64_t offset, std::string hint) {
    out.warnings.push_back(
        {Code::kCorrupt, std::move(message), {shard, "", offset}, std::move(hint)});
  };
  if (out.end.archives > 1)
    warn("several archives in one object: zero blocks lie between members", Origin::kNoOffset,
         "All were read here; other readers stop at the first end");
  if (out.end.trailing != TarEnd::kNoTrailing)
    warn(std::to_string(object_size - out.end.trailing) +
             " bytes behind the end of the archive were not read",
         out.end.trailing, "");
  if (out.end.ending == TarEnding::kNoBlock)
    warn("no end-of-archive blocks", out.end.members_end,
         "It may have been cut off between two members: compare its size with the original");
  if (out.end.ending == TarEnding::kOneBlock)
    warn("one end-of-archive block instead of two", out.end.members_end, "");
}

}  // namespace

Result<IndexedArchive> index_archive(const std::string& shard, uint64_t object_size,
                                     const ReadAt& read, const KeyRule& rule) {
  if (object_size == 0)
    return Error{Code::kCorrupt,
                 "an empty object: even an archive without members has 1024 bytes",
                 {shard, "", 0},
                 "The object was cut off: copy or pack it again"};
  IndexedArchive out;
  Grouper grouper(rule, out);
  auto end = for_each_member(object_size, read,
                             [&grouper](const TarMember& member) { return grouper.add(member); });
  if (!end.ok()) return std::move(end).error().at({shard});
  out.end = *end;
  add_warnings(shard, object_size, out);
  return out;
}

}  // namespace headrace
