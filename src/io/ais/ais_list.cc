#include "io/ais/ais_list.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/try.h"
#include "io/ais/ais_error.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr int kPageEntries = 10'000;
constexpr int kMostTries = 4;

Error not_a_list(const std::string& name) {
  return {.code = Code::kCorrupt,
          .message = "the answer is not the listing of an AIStore bucket",
          .origin = {.shard = name}};
}

/// Adds an entry of a page. Sizes are texts, and missing for empty objects.
Status add_entry(const json& entry, const std::string& name, std::vector<StoreEntry>* out) {
  constexpr uint64_t kIsDirectory = 256;
  if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string())
    return not_a_list(name);
  const json flags = entry.value("flags", json(0));
  if (flags.is_number_integer() && (flags.get<uint64_t>() & kIsDirectory) != 0) return {};
  StoreEntry object{.path = entry["name"].get<std::string>()};
  const json size = entry.value("size", json("0"));
  const std::string text = size.is_string() ? size.get<std::string>() : size.dump();
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), object.bytes);
  if (problem != std::errc() || end != text.data() + text.size()) return not_a_list(name);
  out->push_back(std::move(object));
  return {};
}

/// With a target that does not answer the gateway fails the whole list with a 400.
bool is_passing(const HttpResponse& answer) {
  return answer.status == 400 && answer.body.find("failed to call") != std::string::npos;
}

Result<json> read_page(AisCluster& cluster, const std::string& bucket, const json& message,
                       const std::string& name) {
  HttpCall call = cluster.call("GET", "/v1/buckets/" + percent_encode(bucket), "", name);
  const auto body = std::make_shared<const std::string>(message.dump());
  call.request.body = as_bytes(*body);
  call.request.body_owner = body;
  call.request.headers.set("Content-Type", "application/json");
  call.again = [](Url&, const HttpResponse* answer, bool usual) {
    return usual || (answer != nullptr && is_passing(*answer));
  };
  HR_TRY(const HttpResponse answer, cluster.fetcher().send(std::move(call)));
  if (!answer.is_success()) return ais_error("list", name, answer);
  json page = json::parse(answer.body, nullptr, false);
  if (!page.is_object()) return not_a_list(name);
  return page;
}

Result<std::vector<StoreEntry>> list_once(AisCluster& cluster, const std::string& bucket,
                                          const std::string& prefix, const std::string& name) {
  std::vector<StoreEntry> entries;
  json value{{"prefix", prefix}, {"props", "name,size"}, {"pagesize", kPageEntries},
             {"flags", "0"},     {"uuid", ""},           {"continuation_token", ""},
             {"start_after", ""}};
  for (;;) {
    HR_TRY(const json page,
           read_page(cluster, bucket, {{"action", "list"}, {"value", value}}, name));
    const json rows = page.value("entries", json());
    if (rows.is_array())
      for (const json& row : rows) HR_CHECK(add_entry(row, name, &entries));
    const std::string token = page.value("continuation_token", "");
    if (token.empty()) return entries;
    if (token <= value["continuation_token"].get_ref<const std::string&>())
      return not_a_list(name);  // it would page for ever
    value["continuation_token"] = token;
    value["uuid"] = page.value("uuid", "");
  }
}

}  // namespace

Result<std::vector<StoreEntry>> list_bucket(AisCluster& cluster, const std::string& bucket,
                                            const std::string& prefix, const std::string& name) {
  HR_TRY(std::string before, cluster.map_version());
  for (int i = 0; i < kMostTries; ++i) {
    HR_TRY(auto entries, list_once(cluster, bucket, prefix, name));
    HR_TRY(std::string after, cluster.map_version());
    if (after == before) return entries;
    before = std::move(after);
  }
  return Error{.message =
                   "the targets of the AIStore cluster come and go, so that its list of "
                   "objects cannot be relied on",
               .origin = {.shard = name},
               .hint = "Try again when the cluster is at rest."};
}

}  // namespace headrace
