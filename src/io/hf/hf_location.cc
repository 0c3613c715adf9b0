#include "io/hf/hf_location.h"

#include <algorithm>
#include <string_view>

#include "io/http/url.h"

namespace headrace {
namespace {

Error bad_location(const std::string& location, const std::string& why) {
  return {.code = Code::kUsage,
          .message = why,
          .origin = {.shard = location},
          .hint =
              "Write it as hf://datasets/ORGANISATION/NAME, with @REVISION and /PATH if need "
              "be."};
}

/// Takes the part before the next '/' off the front.
std::string_view take_part(std::string_view& rest) {
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view part = rest.substr(0, slash);
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  return part;
}

/// A revision ends at the next '/', but for pull requests and conversions, whose names hold two.
std::string take_revision(std::string_view& rest) {
  for (const std::string_view folder : {"refs/pr/", "refs/convert/"}) {
    if (!rest.starts_with(folder)) continue;
    rest.remove_prefix(folder.size());
    return std::string(folder) + std::string(take_part(rest));
  }
  return percent_decode(take_part(rest));
}

}  // namespace

Result<HfLocation> HfLocation::parse(const std::string& location) {
  std::string_view rest(location);
  rest.remove_prefix(std::min(rest.find(':') + 1, rest.size()));
  if (rest.starts_with("//")) rest.remove_prefix(2);
  HfLocation parsed{.kind = "models", .id = "", .revision = "main", .path = ""};
  for (const std::string_view kind : {"datasets", "models", "spaces", "buckets", "kernels"}) {
    if (!rest.starts_with(kind) || !rest.substr(kind.size()).starts_with('/')) continue;
    rest.remove_prefix(kind.size() + 1);
    parsed.kind = kind;
  }
  if (parsed.kind != "datasets" && parsed.kind != "models")
    return bad_location(location, "only data sets and models of the Hub are read");

  const std::string_view owner = take_part(rest);
  const size_t end = std::min(rest.find_first_of("@/"), rest.size());
  const std::string_view name = rest.substr(0, end);
  const bool has_revision = end < rest.size() && rest[end] == '@';
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (owner.empty() || name.empty() || owner.find('@') != std::string_view::npos)
    return bad_location(location, "this names no repository of the Hub");
  parsed.id = std::string(owner) + "/" + std::string(name);
  if (has_revision) parsed.revision = take_revision(rest);
  if (parsed.revision.empty()) return bad_location(location, "there is nothing after the '@'");
  while (rest.ends_with('/')) rest.remove_suffix(1);
  while (rest.starts_with('/')) rest.remove_prefix(1);
  parsed.path = rest;
  return parsed;
}

std::string HfLocation::name() const {
  std::string repository = "hf://" + kind + "/" + id;
  if (revision == "main") return repository;
  const bool keeps_slashes =
      revision.starts_with("refs/pr/") || revision.starts_with("refs/convert/");
  return repository + "@" + percent_encode(revision, keeps_slashes ? "/" : "");
}

}  // namespace headrace
