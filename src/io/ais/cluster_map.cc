#include "io/ais/cluster_map.h"

#include <algorithm>
#include <bit>

#include "base/digest.h"
#include "base/try.h"
#include "io/json_fields.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr uint64_t kSeed = 1103515245;
constexpr uint64_t kInMaintenance = 4 | 8;  // flags of a node: in maintenance, being taken away

/// One step of xoshiro256**, its state filled by SplitMix64 (Blackman and Vigna).
uint64_t weight(uint64_t seed) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
  const auto scramble = [](uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  const uint64_t state = scramble(scramble(seed + kGolden) + kGolden);
  return std::rotl(state * 5, 7) * 9;
}

Error not_a_map(const std::string& where) {
  return {.code = Code::kCorrupt,
          .message = "the answer is not the map of an AIStore cluster",
          .origin = {.shard = where},
          .hint = "Check that AIS_ENDPOINT is the address of an AIStore gateway."};
}

}  // namespace

Result<ClusterMap> ClusterMap::parse(std::string_view text, const std::string& where) {
  const json root = json::parse(text, nullptr, false);
  if (!field_of(root, "tmap").is_object()) return not_a_map(where);
  ClusterMap map;
  map.version_ = text_of(root, "version");
  for (const json& node : field_of(root, "tmap")) {
    const std::string id = text_of(node, "daemon_id");
    if (id.empty()) return not_a_map(where);
    HR_TRY(Url url, Url::parse(text_of(field_of(node, "public_net"), "direct_url")));
    const bool away = (number_of(node, "flags").value_or(0) & kInMaintenance) != 0;
    map.targets_.push_back(
        {.url = std::move(url), .digest = xxh64(as_bytes(id), kSeed), .takes_objects = !away});
  }
  return map;
}

bool ClusterMap::has(const Url& url) const {
  return std::ranges::any_of(targets_, [&](const Target& t) { return t.url.same_origin(url); });
}

const Url* ClusterMap::owner(std::string_view bucket, std::string_view object) const {
  std::string name = "ais/@#/";
  name.append(bucket).append("/").append(object);
  const uint64_t digest = xxh64(as_bytes(name), kSeed);
  const Target* best = nullptr;
  uint64_t most = 0;
  for (const Target& target : targets_) {
    if (!target.takes_objects) continue;
    const uint64_t its = weight(target.digest ^ digest);
    if (best != nullptr && its < most) continue;
    best = &target;
    most = its;
  }
  return best == nullptr ? nullptr : &best->url;
}

}  // namespace headrace
