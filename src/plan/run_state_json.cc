// Text of a RunState and back. Strict: every field must be there, of its type and in its range, and
// no other, so that a damaged or foreign text is never half understood.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/try.h"
#include "plan/run_state.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kStateVersion = 1;
constexpr uint64_t kMost = uint64_t{1} << 60;  // of epochs, offsets and samples
constexpr uint64_t kMostBucketSteps = uint64_t{1} << 20;
constexpr uint64_t kMostBatch = uint64_t{1} << 32;
constexpr uint64_t kMostPackLength = uint64_t{1} << 30;

Error corrupt(const std::string& what) {
  return {.code = Code::kCorrupt,
          .message = "not a resume state: " + what,
          .origin = {},
          .hint = "Load what state_dict() returned, unchanged."};
}

/// A JSON object that is read field by field; `end` tells whether it had others.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  Result<uint64_t> number(const char* name, uint64_t least, uint64_t most) {
    HR_TRY(const Json* value, find(name));
    if (!value->is_number_integer() || (!value->is_number_unsigned() && value->get<int64_t>() < 0))
      return corrupt(std::string(name) + " is not a whole number");
    const auto number = value->get<uint64_t>();
    if (number < least || number > most)
      return corrupt(std::string(name) + " is " + std::to_string(number));
    return number;
  }

  Result<bool> boolean(const char* name) {
    HR_TRY(const Json* value, find(name));
    if (!value->is_boolean()) return corrupt(std::string(name) + " is not true or false");
    return value->get<bool>();
  }

  Result<std::string> string(const char* name) {
    HR_TRY(const Json* value, find(name));
    if (!value->is_string()) return corrupt(std::string(name) + " is not a text");
    return value->get<std::string>();
  }

  Result<const Json*> list(const char* name) {
    HR_TRY(const Json* value, find(name));
    if (!value->is_array() || value->empty())
      return corrupt(std::string(name) + " is not a list with elements");
    return value;
  }

  Result<const Json*> find(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) return corrupt(std::string(name) + " is missing");
    seen_.insert(name);
    return &*found;
  }

  bool has(const char* name) const { return object_.contains(name); }

  Status end() const {
    for (const auto& [name, value] : object_.items())
      if (!seen_.contains(name)) return corrupt("unknown field " + name);
    return {};
  }

 private:
  const Json& object_;
  std::set<std::string> seen_;
};

bool is_number(const Json& value, uint64_t most) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= most;
}

Result<std::vector<BatchSegment>> decode_batches(const Json& list, uint64_t lanes) {
  std::vector<BatchSegment> batches;
  for (const Json& item : list) {
    if (!item.is_array() || item.size() != 2 || !is_number(item[0], kMost) ||
        !is_number(item[1], kMostBatch))
      return corrupt("batches is not a list of [lane offset, rows]");
    batches.push_back({item[0].get<uint64_t>(), item[1].get<uint64_t>()});
    if (batches.back().total == 0 || batches.back().total % lanes != 0)
      return corrupt("the lanes do not divide a global batch in batches");
    const bool in_order =
        batches.size() == 1 ? batches[0].from == 0 : batches.end()[-2].from < batches.back().from;
    if (!in_order) return corrupt("batches are not in order from offset 0");
  }
  return batches;
}

Result<std::vector<WeightSegment>> decode_weights(const Json& list, size_t sets) {
  std::vector<WeightSegment> weights;
  for (const Json& item : list) {
    if (!item.is_array() || item.size() != 2 || !is_number(item[0], ~uint64_t{0}) ||
        !item[1].is_array() || item[1].size() != sets ||
        !std::all_of(item[1].begin(), item[1].end(),
                     [](const Json& count) { return is_number(count, kMixturePeriod); }))
      return corrupt("the mixture's weights are not a list of [run offset, [a count a data set]]");
    weights.push_back({item[0].get<uint64_t>(), item[1].get<std::vector<uint32_t>>()});
  }
  // Order and sums are the mixture's rules.
  if (auto mixture = Mixture::create(1, weights); !mixture.ok())
    return corrupt(mixture.error().message);
  return weights;
}

Status decode_options(Fields& fields, RunState& state) {
  OrderOptions& order = state.options.order;
  HR_TRY(order.shuffle, fields.boolean("shuffle"));
  HR_TRY(order.seed, fields.number("seed", 0, ~uint64_t{0}));
  HR_TRY(order.lanes, fields.number("lanes", 1, kMostBatch));
  HR_TRY(order.window_bytes, fields.number("window", 1, ~uint64_t{0}));
  HR_TRY(const std::string tail, fields.string("tail"));
  Result<Tail> parsed = parse_tail(tail);
  if (!parsed.ok()) return corrupt(parsed.error().message);
  order.tail = parsed.value();
  return {};
}

Status decode_mixture(const Json& object, RunState& state) {
  if (!object.is_object()) return corrupt("mixture is not an object");
  Fields fields(object);
  const uint64_t lanes = state.options.order.lanes;
  HR_TRY(state.options.epoch_samples, fields.number("samples", lanes, kMost));
  if (state.options.epoch_samples % lanes != 0)
    return corrupt("the lanes do not divide the mixture's samples");
  HR_TRY(const Json* weights, fields.list("weights"));
  HR_TRY(state.options.weights, decode_weights(*weights, state.fingerprints.size()));
  return fields.end();
}

Status check_version(Fields& fields) {
  HR_TRY(const uint64_t format, fields.number("headrace_state", 1, ~uint64_t{0}));
  HR_TRY(const uint64_t order, fields.number("order", 1, ~uint64_t{0}));
  if (format == kStateVersion && order == kOrderVersion) return {};
  return Error{.code = Code::kUsage,
               .message = "the state has version " + std::to_string(format) +
                          " and order version " + std::to_string(order) + ", this program " +
                          std::to_string(kStateVersion) + " and " + std::to_string(kOrderVersion),
               .origin = {},
               .hint = "Go on with the Headrace that wrote it, or start the epoch anew."};
}

Status decode_bucket(const Json& object, OrderOptions& order) {
  if (!object.is_object()) return corrupt("bucket is not an object");
  Fields fields(object);
  HR_TRY(order.bucket_by, fields.string("by"));
  HR_TRY(order.bucket_steps, fields.number("steps", 1, kMostBucketSteps));
  return fields.end();
}

/// Their rows depend on the global batch, so an epoch has one, and on nothing else that deals.
Status decode_pack(const Json& object, RunState& state) {
  if (!object.is_object()) return corrupt("pack is not an object");
  Fields fields(object);
  OrderOptions& order = state.options.order;
  HR_TRY(order.pack_by, fields.string("by"));
  HR_TRY(order.pack_length, fields.number("length", 1, kMostPackLength));
  if (state.batches.size() > 1) return corrupt("pack goes with one of batches");
  if (order.bucket_steps > 0 || !state.options.weights.empty())
    return corrupt("pack goes with neither bucket nor mixture");
  return fields.end();
}

Result<RunState> decode_fields(const Json& object) {
  Fields fields(object);
  RunState state;
  HR_CHECK(check_version(fields));
  HR_TRY(const Json* data, fields.list("data"));
  for (const Json& fingerprint : *data) {
    if (!fingerprint.is_string()) return corrupt("data is not a list of fingerprints");
    state.fingerprints.push_back(fingerprint.get<std::string>());
  }
  HR_CHECK(decode_options(fields, state));
  HR_TRY(state.epoch, fields.number("epoch", 0, kMost));
  HR_TRY(state.offset, fields.number("offset", 0, kMost));
  HR_TRY(state.over, fields.boolean("over"));
  HR_TRY(const Json* batches, fields.list("batches"));
  HR_TRY(state.batches, decode_batches(*batches, state.options.order.lanes));
  if (state.batches.back().from > state.offset)
    return corrupt("offset is before the last of batches");
  state.options.order.global_batch = state.batches.back().total;
  if (fields.has("mixture")) {
    HR_TRY(const Json* mixture, fields.find("mixture"));
    HR_CHECK(decode_mixture(*mixture, state));
  } else if (state.fingerprints.size() != 1) {
    return corrupt("mixture is missing");
  }
  if (fields.has("bucket")) {
    HR_TRY(const Json* bucket, fields.find("bucket"));
    HR_CHECK(decode_bucket(*bucket, state.options.order));
  }
  if (fields.has("pack")) {
    HR_TRY(const Json* pack, fields.find("pack"));
    HR_CHECK(decode_pack(*pack, state));
  }
  HR_CHECK(fields.end());
  return state;
}

}  // namespace

std::string encode_state(const RunState& state) {
  const OrderOptions& order = state.options.order;
  Json json;
  json["headrace_state"] = kStateVersion;
  json["order"] = kOrderVersion;
  json["data"] = state.fingerprints;
  json["shuffle"] = order.shuffle;
  json["seed"] = order.seed;
  json["lanes"] = order.lanes;
  json["window"] = order.window_bytes;
  json["tail"] = tail_name(order.tail);
  json["epoch"] = state.epoch;
  json["offset"] = state.offset;
  json["over"] = state.over;
  for (const BatchSegment& batch : state.batches)
    json["batches"].push_back(Json::array({batch.from, batch.total}));
  if (!state.options.weights.empty()) {
    json["mixture"]["samples"] = state.options.epoch_samples;
    for (const WeightSegment& segment : state.options.weights)
      json["mixture"]["weights"].push_back(Json::array({segment.from, segment.counts}));
  }
  if (order.bucket_steps > 0)
    json["bucket"] = Json{{"by", order.bucket_by}, {"steps", order.bucket_steps}};
  if (order.pack_length > 0)
    json["pack"] = Json{{"by", order.pack_by}, {"length", order.pack_length}};
  return json.dump();
}

Result<RunState> decode_state(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return corrupt("it is not JSON");
  if (!json.is_object()) return corrupt("it is not a JSON object");
  return decode_fields(json);
}

}  // namespace headrace
