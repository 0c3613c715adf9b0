// The body of a plan, under its right digest: what is read says where each of its shards lies.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "job/reshape/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  using nlohmann::json;
  const json body = json::parse(data, data + size, nullptr, false);
  if (!body.is_object()) return 0;
  const std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  const json plan{{"plan", sha256_hex(as_bytes(text))},
                  {"out", "mem:out"},
                  {"locations", json::array({json::array({"mem:in"})})},
                  {"body", body}};
  const auto place = open_store("mem:plan");
  if (!place.ok() || !put(**place, kPlanName, as_bytes(plan.dump())).ok()) std::abort();
  const auto read = ReshapePlan::load_head(**place);
  if (!read.ok()) return 0;
  uint64_t first = 0;
  for (uint64_t task = 0; task < std::min<uint64_t>(read->tasks(), 1000); ++task) {
    const OutputShard shard = read->shard(task);
    if (shard.first != first || shard.name.empty()) std::abort();
    first += shard.samples;
  }
  if (first > read->order().size()) std::abort();
  return 0;
}
