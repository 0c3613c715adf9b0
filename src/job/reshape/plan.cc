#include "job/reshape/plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/digest.h"
#include "base/try.h"
#include "base/units.h"
#include "dataset/containers.h"
#include "job/reshape/spill_sort.h"

namespace headrace {
namespace {

using nlohmann::json;

// Part of every digest: a change of what the same plan writes changes it.
constexpr const char* kPlanVersion = "headrace-reshape-1";
constexpr const char* kKinds[] = {"identity", "permuted", "listed"};
constexpr const char* kMissing[] = {"error", "ignore", "drop-sample"};
constexpr const char* kConflicts[] = {"error", "first", "last"};

template <size_t N>
size_t choice(const char* const (&names)[N], const std::string& name) {
  return static_cast<size_t>(std::find(names, names + N, name) - names);
}

Error damaged(const std::string& place, const std::string& why) {
  return {.code = Code::kCorrupt,
          .message = "the plan " + why,
          .origin = {.shard = place},
          .hint = "Make it again with 'headrace plan'."};
}

json fields_to_json(const FieldMap& fields) {
  json out{{"others", fields.others},
           {"missing", kMissing[static_cast<int>(fields.missing)]},
           {"conflict", kConflicts[static_cast<int>(fields.conflict)]}};
  if (!fields.rules.empty()) out["rules"] = format_field_rules(fields.rules);
  return out;
}

Result<FieldMap> fields_from_json(const json& in) {
  FieldMap fields;
  fields.others = in.at("others");
  const size_t missing = choice(kMissing, in.at("missing"));
  const size_t conflict = choice(kConflicts, in.at("conflict"));
  if (missing == std::size(kMissing) || conflict == std::size(kConflicts))
    return damaged("", "has words that are not known");
  fields.missing = static_cast<FieldMap::Missing>(missing);
  fields.conflict = static_cast<FieldMap::Conflict>(conflict);
  if (in.contains("rules")) {
    HR_TRY(fields.rules, parse_field_rules(in.at("rules")));
  }
  return fields;
}

json map_to_json(const MapStep& step) {
  if (step.kind == MapStep::Kind::kPictures)
    return {{"pictures", picture_options_to_json(step.pictures)}, {"skip", step.skip}};
  return {{step.kind == MapStep::Kind::kPython ? "python" : "command", step.what},
          {"skip", step.skip}};
}

MapStep map_from_json(const json& in) {
  if (in.contains("pictures"))
    return {.kind = MapStep::Kind::kPictures,
            .pictures = picture_options_from_json(in.at("pictures")),
            .skip = in.at("skip")};
  const bool python = in.contains("python");
  return {.kind = python ? MapStep::Kind::kPython : MapStep::Kind::kCommand,
          .what = in.at(python ? "python" : "command"),
          .skip = in.at("skip")};
}

json groups_to_json(const std::vector<OutputGroup>& groups) {
  json out = json::array();
  for (const OutputGroup& group : groups) {
    json one{{"name", group.name}, {"samples", group.samples}, {"shards", group.shards}};
    if (!group.counts.empty()) one["counts"] = group.counts;
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<OutputGroup> groups_from_json(const json& in) {
  std::vector<OutputGroup> groups;
  for (const json& one : in)
    groups.push_back({.name = one.at("name"),
                      .counts = one.value("counts", std::vector<uint32_t>()),
                      .samples = one.at("samples"),
                      .shards = one.at("shards")});
  return groups;
}

std::string dump(const json& body) {
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

ByteView row_bytes(const Rows& rows, uint64_t first, uint64_t count) {
  return std::as_bytes(rows.numbers().subspan(first, count));
}

}  // namespace

Result<ReshapePlan> ReshapePlan::make(std::shared_ptr<Inputs> inputs, Assignment assignment,
                                      std::string out, unsigned threads) {
  ReshapePlan plan;
  HR_CHECK(inputs->pin(threads));
  plan.inputs_ = std::move(inputs);
  plan.assignment_ = std::move(assignment);
  plan.out_ = std::move(out);
  HR_CHECK(plan.settle());
  HR_CHECK(plan.check_names());
  if (plan.order().kind() == SampleOrder::Kind::kListed)
    for (uint64_t task = 0; task < plan.tasks(); ++task)
      plan.row_checks_.push_back(plan.rows_checksum(task));
  plan.digest_ = sha256_hex(as_bytes(plan.body()));
  return plan;
}

// Names and first positions of the shards.
Status ReshapePlan::settle() {
  for (const OutputGroup& group : assignment_.groups) {
    HR_TRY(const NameTemplate names, NameTemplate::parse(group.name, container_of(group.name)));
    if (group.shards > names.limit())
      return Error{.code = Code::kUsage,
                   .message = "the name '" + group.name + "' stands for " +
                              format_count(names.limit()) + " shards, but there are " +
                              format_count(group.shards),
                   .hint = "Widen its range, or make larger shards."};
    if (container_of(group.name) != container())
      return Error{.code = Code::kUsage,
                   .message = "the names of the shards are of several containers",
                   .hint = "Give them one ending."};
    names_.push_back(names);
    std::vector<uint64_t> firsts;
    uint64_t first = group_sample_.back();
    for (const uint32_t count : group.counts) {
      firsts.push_back(first);
      first += count;
    }
    const bool fits = group.counts.empty() ? (group.shards > 0) == (group.samples > 0)
                                           : group.counts.size() == group.shards &&
                                                 first == group_sample_.back() + group.samples;
    const bool overflows = group_shard_.back() + group.shards < group_shard_.back() ||
                           group_sample_.back() + group.samples < group_sample_.back();
    if (!fits || overflows || group.shards > group.samples)
      return damaged(group.name, "contradicts itself");
    firsts_.push_back(std::move(firsts));
    group_shard_.push_back(group_shard_.back() + group.shards);
    group_sample_.push_back(group_sample_.back() + group.samples);
  }
  return {};
}

// Templates of several groups may stand for the same name.
Status ReshapePlan::check_names() const {
  std::unordered_set<std::string> names;
  for (uint64_t task = 0; names_.size() > 1 && task < tasks(); ++task)
    if (const std::string name = shard(task).name; !names.insert(name).second)
      return Error{.code = Code::kUsage,
                   .message = "two shards would have the name '" + name + "'",
                   .hint = "Give the templates names that differ."};
  return {};
}

Container ReshapePlan::container() const {
  if (assignment_.groups.empty()) return Container::kTar;
  return container_of(assignment_.groups.front().name).value_or(Container::kTar);
}

OutputShard ReshapePlan::shard(uint64_t task) const {
  const auto after = std::ranges::upper_bound(group_shard_, task);
  const auto number = static_cast<size_t>(after - group_shard_.begin() - 1);
  const OutputGroup& group = assignment_.groups[number];
  const uint64_t in_group = task - group_shard_[number];
  OutputShard shard{.name = names_[number].name(in_group)};
  if (!group.counts.empty()) {
    shard.first = firsts_[number][in_group];
    shard.samples = group.counts[in_group];
    return shard;
  }
  const auto cut = [&](uint64_t i) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(i) * group.samples / group.shards);
  };
  shard.first = group_sample_[number] + cut(in_group);
  shard.samples = cut(in_group + 1) - cut(in_group);
  return shard;
}

std::string ReshapePlan::rows_checksum(uint64_t task) const {
  const OutputShard at = shard(task);
  const uint64_t columns = order().columns();
  return hex64(xxh3(row_bytes(order().rows(), at.first * columns, at.samples * columns)));
}

// Everything that the output's bytes depend on.
std::string ReshapePlan::body() const {
  json inputs = json::array();
  for (const PinnedSet& set : inputs_->pins())
    inputs.push_back({{"fingerprint", set.fingerprint}, {"versions", set.versions}});
  json order{{"kind", kKinds[static_cast<int>(assignment_.order.kind())]},
             {"samples", assignment_.order.size()},
             {"columns", assignment_.order.columns()}};
  if (!row_checks_.empty()) order["rows"] = row_checks_;
  if (assignment_.order.kind() == SampleOrder::Kind::kPermuted)
    order["key"] = assignment_.order.key();
  json body{{"version", kPlanVersion},
            {"verb", assignment_.verb},
            {"options", json::parse(assignment_.options_json)},
            {"inputs", std::move(inputs)},
            {"order", std::move(order)},
            {"fields", fields_to_json(assignment_.fields)},
            {"rekey", assignment_.rekey},
            {"shards", groups_to_json(assignment_.groups)}};
  if (assignment_.map) body["map"] = map_to_json(*assignment_.map);
  return dump(body);
}

Status ReshapePlan::save(Store& place, const std::string& folder) const {
  HR_TRY(const bool there, place.exists(folder + kPlanName));
  if (there) return {};
  if (order().kind() == SampleOrder::Kind::kListed)
    HR_CHECK(put(place, folder + kOrderName, row_bytes(order().rows(), 0, order().rows().size())));
  json locations = json::array();
  for (const PinnedSet& set : inputs_->pins()) locations.push_back(set.locations);
  const json plan{{"plan", digest_},
                  {"out", out_},
                  {"locations", std::move(locations)},
                  {"body", json::parse(body())}};
  const std::string text = plan.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  HR_TRY(const bool ours, put_if_absent(place, folder + kPlanName, as_bytes(text)));
  static_cast<void>(ours);  // the same plan, made at the same time
  return place.sync();
}

Result<ReshapePlan> ReshapePlan::load_head(const Store& place) {
  HR_TRY(const std::string text, place.read(kPlanName));
  const std::string name = place.name() + "/" + kPlanName;
  ReshapePlan plan;
  try {
    const json root = json::parse(text);
    const json& body = root.at("body");
    if (body.at("version") != kPlanVersion)
      return damaged(name, "was written by another version of headrace");
    plan.digest_ = root.at("plan");
    if (sha256_hex(as_bytes(dump(body))) != plan.digest_)
      return damaged(name, "does not have its digest");
    plan.out_ = root.at("out");
    for (size_t i = 0; i < body.at("inputs").size(); ++i)
      plan.pinned_.push_back({root.at("locations").at(i), body.at("inputs")[i].at("fingerprint"),
                              body.at("inputs")[i].at("versions")});
    Assignment& all = plan.assignment_;
    all.verb = body.at("verb");
    all.options_json = body.at("options").dump();
    all.rekey = body.at("rekey");
    all.groups = groups_from_json(body.at("shards"));
    HR_TRY(all.fields, fields_from_json(body.at("fields")));
    if (body.contains("map")) all.map = map_from_json(body.at("map"));
    const json& order = body.at("order");
    const uint64_t samples = order.at("samples");
    switch (choice(kKinds, order.at("kind"))) {
      case 0:
        all.order = SampleOrder::identity(samples);
        break;
      case 1:
        all.order = SampleOrder::permuted(samples, order.at("key"));
        break;
      default:
        all.order = SampleOrder::part(samples, 0, {}, order.at("columns"));
        plan.row_checks_ = order.at("rows").get<std::vector<std::string>>();
    }
  } catch (const json::exception& problem) {
    return damaged(name, std::string("cannot be read: ") + problem.what());
  }
  HR_CHECK(plan.settle());
  if (plan.order().size() != plan.group_sample_.back()) return damaged(name, "contradicts itself");
  return plan;
}

Result<ReshapePlan> ReshapePlan::load(const Store& place, unsigned threads, uint64_t task) {
  HR_TRY(ReshapePlan plan, load_head(place));
  HR_TRY(Inputs inputs, Inputs::open_pinned(std::move(plan.pinned_), threads));
  plan.inputs_ = std::make_shared<Inputs>(std::move(inputs));
  if (plan.order().kind() == SampleOrder::Kind::kListed)
    HR_CHECK(plan.read_rows(place, task));
  else if (plan.order().size() != plan.inputs_->samples())
    return damaged(place.name(), "contradicts itself");
  return plan;
}

Status ReshapePlan::read_rows(const Store& place, uint64_t task) {
  const std::string name = place.name() + "/" + kOrderName;
  const uint64_t samples = order().size();
  const uint32_t columns = order().columns();
  if (columns == 0 || columns > 64 || samples > inputs_->samples() ||
      row_checks_.size() != tasks() || (task != kAllTasks && task >= tasks()))
    return damaged(name, "contradicts itself");
  const uint64_t begin = task == kAllTasks ? 0 : task;
  const uint64_t end = task == kAllTasks ? tasks() : task + 1;
  const uint64_t first = begin == end ? 0 : shard(begin).first;
  HR_TRY(const auto source, place.open_known(kOrderName, samples * columns * sizeof(uint64_t)));
  RowsBuilder all(scratch_beside(out_));
  std::vector<uint64_t> rows;
  for (uint64_t t = begin; t < end; ++t) {
    const OutputShard at = shard(t);
    rows.resize(at.samples * columns);
    HR_CHECK(source->read_at(at.first * columns * sizeof(uint64_t),
                             std::as_writable_bytes(std::span(rows))));
    if (hex64(xxh3(std::as_bytes(std::span(rows)))) != row_checks_[t])
      return damaged(name, "does not have its checksum");
    for (const uint64_t row : rows)
      if (row != kNoSample && row >= inputs_->samples())
        return damaged(name, "names samples that do not exist");
    HR_CHECK(all.add(rows));
  }
  HR_TRY(Rows read, all.finish());
  assignment_.order = SampleOrder::part(samples, first, std::move(read), columns);
  return {};
}

}  // namespace headrace
