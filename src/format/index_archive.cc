#include "format/index_archive.h"

#include <utility>

#include "base/try.h"
#include "format/zip_directory.h"

namespace headrace {
namespace {

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

Result<bool> MemberGrouper::add(const TarMember& member) {
  ++out_.members;
  bool taken = member.type == TarType::kRegular;
  if (taken) {
    HR_TRY(taken, rule_.split(member.name, name_));
  }
  if (!taken) {
    ++out_.skipped;
    return false;
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
  HR_CHECK(check_duplicate(member));
  return true;
}

Status MemberGrouper::check_duplicate(const TarMember& member) {
  const uint32_t newest = out_.builder.size();
  const uint32_t field = out_.builder.index().members(newest - 1).back().field;
  if (field >= seen_in_.size()) seen_in_.resize(field + 1);
  if (std::exchange(seen_in_[field], newest) != newest) return Status::success();
  return Error{Code::kCorrupt,
               "the field '" + name_.field + "' comes twice in the sample '" + key_ + "'",
               {"", member.name, member.header_offset},
               "Give the members different extensions or keys"};
}

void finish_archive(const std::string& shard, uint64_t object_size, const TarEnd& end,
                    IndexedArchive& out) {
  out.end = end;
  add_warnings(shard, object_size, out);
}

Status check_not_empty(const std::string& shard, uint64_t object_size) {
  if (object_size > 0) return {};
  return Error{Code::kCorrupt,
               "an empty object: even an archive without members has 1024 bytes",
               {shard, "", 0},
               "The object was cut off: copy or pack it again"};
}

Result<IndexedArchive> index_archive(const std::string& shard, uint64_t object_size,
                                     const ReadAt& read, const KeyRule& rule) {
  HR_CHECK(check_not_empty(shard, object_size));
  IndexedArchive out;
  MemberGrouper grouper(rule, out);
  auto end = for_each_member(object_size, read, [&grouper](const TarMember& member) -> Status {
    HR_TRY(const bool taken, grouper.add(member));
    static_cast<void>(taken);  // what is no part of a sample is passed over
    return {};
  });
  if (!end.ok()) return std::move(end).error().at({shard});
  finish_archive(shard, object_size, *end, out);
  return out;
}

Result<IndexedArchive> index_zip(const std::string& shard, uint64_t object_size, const ReadAt& read,
                                 const KeyRule& rule) {
  auto members = read_zip_directory(object_size, read);
  if (!members.ok()) return std::move(members).error().at({shard});
  IndexedArchive out;
  MemberGrouper grouper(rule, out);
  FrameMap frames;
  for (const ZipMember& member : *members) {
    const uint64_t begin = frames.decoded_size();
    if (member.is_file && member.frame.decoded_size > 0) frames.add(member.frame);
    auto taken = grouper.add({.name = member.name,
                              .linkname = {},
                              .type = member.is_file ? TarType::kRegular : TarType::kOther,
                              .header_offset = begin,
                              .data_offset = begin,
                              .size = frames.decoded_size() - begin,
                              .end_offset = frames.decoded_size()});
    if (!taken.ok()) return std::move(taken).error().at({shard});
  }
  out.end.ending = TarEnding::kTwoBlocks;
  out.builder.set_frames(std::move(frames));
  return out;
}

}  // namespace headrace
