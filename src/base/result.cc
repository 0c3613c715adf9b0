#include "headrace/result.h"

namespace headrace {

int exit_code(Code code) {
  switch (code) {
    case Code::kFailure:
      return 1;
    case Code::kUsage:
      return 2;
    case Code::kNotFound:
      return 3;
    case Code::kCorrupt:
      return 4;
    case Code::kPartial:
      return 5;
    case Code::kChanged:
      return 6;
    case Code::kDenied:
      return 7;
    case Code::kNoSpace:
      return 8;
    case Code::kInterrupted:
      return 130;
  }
  return 1;
}

const char* code_name(Code code) {
  switch (code) {
    case Code::kFailure:
      return "failure";
    case Code::kUsage:
      return "usage";
    case Code::kNotFound:
      return "not_found";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kPartial:
      return "partial";
    case Code::kChanged:
      return "changed";
    case Code::kDenied:
      return "denied";
    case Code::kNoSpace:
      return "no_space";
    case Code::kInterrupted:
      return "interrupted";
  }
  return "failure";
}

std::string Error::to_string() const {
  std::string where;
  auto add = [&where](const std::string& part) { where += (where.empty() ? "" : ", ") + part; };
  if (!origin.shard.empty()) add("shard " + origin.shard);
  if (!origin.member.empty()) add("member " + origin.member);
  if (origin.offset != Origin::kNoOffset) add("at byte " + std::to_string(origin.offset));

  std::string text = message;
  if (!where.empty()) text += " (" + where + ")";
  if (!hint.empty()) text += ". " + hint;
  return text;
}

Error Error::at(const Origin& where) && {
  if (origin.shard.empty()) origin.shard = where.shard;
  if (origin.member.empty()) origin.member = where.member;
  if (origin.offset == Origin::kNoOffset) origin.offset = where.offset;
  return std::move(*this);
}

}  // namespace headrace
