#include "job/reshape/verbs.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "base/permutation.h"
#include "base/try.h"
#include "base/units.h"
#include "dataset/containers.h"
#include "format/frame_codec.h"
#include "io/urls.h"
#include "job/key_map.h"
#include "job/picture_pass.h"
#include "job/reshape/dedupe.h"
#include "job/reshape/scan.h"
#include "job/reshape/zip.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr uint64_t kShuffleKey =
    0x73687566666C65;  // so that its order is not the loader's or pack's

json cut_to_json(const CutOptions& cut) {
  json out{{"name", cut.name}};
  if (cut.shard_bytes > 0) out["shard_size"] = cut.shard_bytes;
  if (cut.shard_samples > 0) out["samples"] = cut.shard_samples;
  if (cut.shards > 0) out["shards"] = cut.shards;
  if (cut.multiple_of > 1) out["multiple_of"] = cut.multiple_of;
  const auto container = container_of(cut.name);
  if (container && is_compressed(*container))
    out["codec"] = frame_codec(frame_encoding(*container));
  return out;
}

// Plans are read on other machines and from other folders.
std::string absolute_place(const std::string& out) {
  if (!url_scheme(out).empty()) return out;
  std::error_code problem;
  return std::filesystem::absolute(out, problem).lexically_normal().native();
}

// One verb's assignment under construction: its order, its fields, and what it says of itself.
class Assigner {
 public:
  Assigner(const Inputs& inputs, const ReshapeOptions& options)
      : inputs_(inputs), options_(options), room_(options.room) {
    room_.threads = thread_count(room_.threads);
    if (room_.scratch.empty()) room_.scratch = scratch_beside(options.out);
  }

  Result<Assignment> run() {
    all_.verb = options_.verb;
    all_.rekey = options_.rekey;
    all_.order = SampleOrder::identity(inputs_.samples());
    said_ = cut_to_json(options_.cut);
    if (options_.rekey) said_["rekey"] = true;
    const std::string& verb = options_.verb;
    HR_CHECK(verb == "shuffle"                       ? shuffle()
             : verb == "select"                      ? select()
             : verb == "sort"                        ? sort()
             : verb == "dedupe"                      ? dedupe()
             : verb == "join" || verb == "zip"       ? join()
             : verb == "map"                         ? map()
             : verb == "convert"                     ? convert()
             : verb == "rename" || verb == "project" ? fields()
                                                     : Status());
    if (all_.groups.empty()) HR_CHECK(cut(0, all_.order.size(), options_.cut));
    all_.options_json = said_.dump(-1, ' ', false, json::error_handler_t::replace);
    if (all_.order.size() == 0) all_.notes.push_back("there are no samples: the data set is empty");
    return std::move(all_);
  }

 private:
  Status cut(uint64_t first, uint64_t count, const CutOptions& options) {
    HR_TRY(OutputGroup group, cut_shards(inputs_, all_, first, count, options, room_));
    all_.groups.push_back(std::move(group));
    return {};
  }

  Status shuffle() {
    said_["seed"] = options_.seed;
    all_.order = SampleOrder::permuted(inputs_.samples(), mix(options_.seed, kShuffleKey));
    return {};
  }

  Status select() {
    const SelectOptions& by = options_.select;
    HR_TRY(auto numbers, select_samples(inputs_, by, room_));
    if (!by.keys.empty()) said_["keys"] = true;
    if (!by.regex.empty()) said_["regex"] = by.regex;
    if (!by.where.empty()) said_["where"] = by.where;
    said_["share"] = {by.share.begin, by.share.end};
    if (by.share.seed != 0) said_["seed"] = by.share.seed;
    if (by.invert) said_["invert"] = true;
    all_.order = SampleOrder::listed(std::move(numbers));
    return {};
  }

  Status sort() {
    constexpr const char* kKinds[] = {"text", "natural", "integer", "float", "md5"};
    const SortOptions& by = options_.sort;
    said_["by"] = by.by;
    said_["as"] = kKinds[static_cast<int>(by.kind)];
    if (by.reverse) said_["reverse"] = true;
    if (!options_.key_map.empty()) return sort_to_shards();
    const auto together = [](const ScannedSample&) { return std::optional(uint32_t{0}); };
    HR_TRY(Sorted sorted, sort_samples(inputs_, by, room_, 1, together));
    all_.order = SampleOrder::listed(std::move(sorted.rows));
    return {};
  }

  // To the shards that the map names, sorted within them.
  Status sort_to_shards() {
    said_["key_map"] = true;
    HR_TRY(const KeyMap map, KeyMap::read(options_.key_map));
    const auto category = [&](const ScannedSample& sample) -> Result<std::optional<uint32_t>> {
      const auto found = map.find(sample.key());
      if (found) return std::optional(static_cast<uint32_t>(*found));
      if (options_.drop_unmapped) return std::optional<uint32_t>();
      return Error{.code = Code::kNotFound,
                   .message = "the key map does not name '" + std::string(sample.key()) + "'",
                   .origin = sample.origin(),
                   .hint = "Add it, or leave such samples out with --on-missing drop-sample."};
    };
    const auto& templates = map.templates();
    HR_TRY(Sorted sorted, sort_samples(inputs_, options_.sort, room_,
                                       static_cast<uint32_t>(templates.size()), category));
    all_.order = SampleOrder::listed(std::move(sorted.rows));
    uint64_t first = 0;
    for (size_t i = 0; i < templates.size(); ++i) {
      CutOptions named = options_.cut;
      named.name = templates[i];
      HR_CHECK(cut(first, sorted.counts[i], named));
      first += sorted.counts[i];
    }
    return {};
  }

  Status dedupe() {
    HR_TRY(auto numbers, first_of_equal(inputs_, options_.dedupe_fields, room_));
    if (!options_.dedupe_fields.empty()) said_["by"] = options_.dedupe_fields;
    all_.notes.push_back(format_number_of(inputs_.samples() - numbers.size(), "duplicate") +
                         " left out");
    all_.order = SampleOrder::listed(std::move(numbers));
    return {};
  }

  Status join() {
    constexpr const char* kMissing[] = {"error", "inner", "left", "outer"};
    said_["missing"] = kMissing[static_cast<int>(options_.join)];
    all_.fields.conflict = options_.on_conflict;
    HR_TRY(auto rows, options_.verb == "zip" ? zip_samples(inputs_, options_.join, room_)
                                             : join_samples(inputs_, options_.join, room_));
    all_.order = SampleOrder::listed(std::move(rows), static_cast<uint32_t>(inputs_.sets().size()));
    return {};
  }

  Status fields() {
    HR_TRY(all_.fields.rules, parse_field_rules(options_.fields));
    all_.fields.others = options_.verb == "rename";
    all_.fields.missing = options_.on_missing;
    said_["fields"] = options_.fields;
    return {};
  }

  Status map() {
    all_.map = options_.map;
    said_[all_.map->kind == MapStep::Kind::kPython ? "python" : "command"] = all_.map->what;
    if (all_.map->skip) said_["on_error"] = "skip";
    return {};
  }

  Status convert() {
    if (!options_.pictures.any()) return {};
    HR_CHECK(PicturePass::make(options_.pictures));  // says what contradicts itself
    all_.map = MapStep{.kind = MapStep::Kind::kPictures,
                       .pictures = options_.pictures,
                       .skip = options_.pictures.drop_corrupt};
    said_.update(picture_options_to_json(options_.pictures));
    return {};
  }

  const Inputs& inputs_;
  const ReshapeOptions& options_;
  WorkRoom room_;
  Assignment all_;
  json said_;
};

}  // namespace

Result<Assignment> assign(const Inputs& inputs, const ReshapeOptions& options) {
  return Assigner(inputs, options).run();
}

Result<ReshapePlan> plan_reshape(const ReshapeOptions& options) {
  const unsigned threads = thread_count(options.room.threads);
  const bool apart = options.verb == "join" || options.verb == "zip";
  HR_TRY(Inputs opened, Inputs::open(options.sources, apart, threads));
  auto inputs = std::make_shared<Inputs>(std::move(opened));
  HR_TRY(Assignment assignment, assign(*inputs, options));
  return ReshapePlan::make(std::move(inputs), std::move(assignment), absolute_place(options.out),
                           threads);
}

}  // namespace headrace
