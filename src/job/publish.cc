#include "job/publish.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/try.h"
#include "job/fault_point.h"
#include "job/tables.h"
#include "job/versions.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr const char* kRecordFolder = "_headrace/pending/";

std::string pad(uint64_t task) {
  std::string digits = std::to_string(task);
  return digits.insert(0, digits.size() < 9 ? 9 - digits.size() : 0, '0');
}

/// What lies beside data and is none: a repository's own files, its card.
bool is_about_data(const std::string& path) {
  return path.starts_with('.') || path == "README.md" || path == "LICENSE" ||
         path.starts_with(kPlanFolder);
}

Error holds(const Store& store, const std::string& what, const std::string& hint) {
  return {.code = Code::kUsage,
          .message = "'" + store.name() + "' already holds " + what,
          .origin = {},
          .hint = hint};
}

}  // namespace

std::string plan_of(const Manifest& manifest) {
  const json recipe = json::parse(manifest.recipe, nullptr, false);
  if (!recipe.is_object() || !recipe.contains("plan") || !recipe["plan"].is_string()) return "";
  return recipe["plan"];
}

std::vector<std::string> plans_of(const Manifest& manifest) {
  std::vector<std::string> plans{plan_of(manifest)};
  const json recipe = json::parse(manifest.recipe, nullptr, false);
  const json before = recipe.is_object() ? recipe.value("before", json()) : json();
  if (!before.is_array()) return plans;
  for (const json& plan : before)
    if (plan.is_string()) plans.push_back(plan);
  return plans;
}

std::string make_recipe(const std::string& verb, const std::string& options_json,
                        const std::string& plan) {
  return json{{"job", verb}, {"options", json::parse(options_json)}, {"plan", plan}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

std::string make_recipe(const std::string& verb, const std::string& options_json,
                        const std::string& plan, const Manifest& base) {
  json recipe = json::parse(make_recipe(verb, options_json, plan));
  recipe["before"] = plans_of(base);
  return recipe.dump();
}

Publication::Publication(Store& store, PublishOptions options)
    : store_(&store), options_(std::move(options)) {}

Result<Publication> Publication::look(Store& store, const PublishOptions& options) {
  Publication publication(store, options);
  HR_CHECK(publication.look_at_root());
  if (publication.state_ == State::kComplete) return publication;
  HR_CHECK(publication.look_at_marker());
  if (publication.state_ == State::kFresh && options.writes_shards && !publication.replaces_)
    HR_CHECK(publication.look_at_other_files());
  // Where two jobs are not kept apart, neither writes over the other's shards.
  const bool own_folder = publication.replaces_ || !store.creates_atomically();
  if (own_folder && options.writes_shards)
    publication.folder_ = "v-" + options.plan.substr(0, 8) + "/";
  return publication;
}

Status Publication::look_at_root() {
  HR_TRY(const bool there, store_->exists(kManifestName));
  if (!there && options_.append)
    return Error{.code = Code::kNotFound,
                 .message = "'" + store_->name() + "' holds no data set to append to",
                 .origin = {},
                 .hint = "Leave --append out to make one."};
  if (!there) return {};
  HR_TRY(const std::string text, store_->read(kManifestName));
  auto root = decode_manifest(as_bytes(text), store_->name() + "/" + kManifestName);
  if (root.ok() && is_part_of(*root)) {
    state_ = State::kComplete;
    return {};
  }
  replaces_ = true;
  if (options_.append && root.ok()) base_text_ = text;
  if (options_.replace || !base_text_.empty()) return {};
  return holds(*store_, root.ok() ? "another data set" : "a damaged data set",
               "Choose another place, or --replace it (readers see the old one until the new one "
               "is complete).");
}

bool Publication::is_part_of(const Manifest& root) const {
  if (!options_.append) return plan_of(root) == options_.plan;
  return std::ranges::count(plans_of(root), options_.plan) > 0;
}

Status Publication::look_at_marker() {
  const std::string folder = record_folder();
  const auto text = store_->read(kPendingName);
  if (!text.ok() && text.error().code != Code::kNotFound) return text.error();
  const bool marked = text.ok();
  std::string plan;
  if (marked) {
    const json marker = json::parse(*text, nullptr, false);
    if (marker.is_object() && marker.contains("plan") && marker["plan"].is_string())
      plan = marker["plan"];
    if (plan == options_.plan && store_->creates_atomically() && marker.contains("folder") &&
        marker["folder"].is_string())
      replaces_ = replaces_ || !marker["folder"].get_ref<const std::string&>().empty();
  }
  if (marked && plan != options_.plan) {
    if (!options_.replace)
      return holds(*store_, "an unfinished job of other inputs or options",
                   "Repeat that command to finish it, or give it up with --replace.");
    foreign_marker_ = replaces_ = true;
  }
  if (options_.writes_shards && plan != options_.plan) return {};

  HR_TRY(const auto records, store_->list(folder));
  for (const StoreEntry& entry : records) {
    const std::string digits = entry.path.substr(folder.size() + 1);
    uint64_t task = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), task);
    if (problem == std::errc() && end == digits.data() + digits.size()) finished_.insert(task);
  }
  if (marked || !finished_.empty()) state_ = State::kResumed;
  return {};
}

Status Publication::look_at_other_files() {
  HR_TRY(auto entries, store_->list(""));
  std::erase_if(entries, [](const StoreEntry& entry) { return is_about_data(entry.path); });
  if (entries.empty()) return {};
  // Another task of this plan may have begun since the marker was looked for.
  HR_TRY(const std::string marked, marked_plan());
  if (!marked.empty()) return look_at_marker();
  replaces_ = true;
  if (options_.replace) return {};
  return holds(*store_, "files that are not a data set of Headrace, as '" + entries[0].path + "'",
               "Choose an empty folder, or go on beside them with --replace.");
}

Status Publication::begin() {
  if (!options_.writes_shards || (state_ == State::kResumed && !foreign_marker_)) return {};
  const json marker{{"pending",
                     "a job is writing this data set, or was stopped; the same command "
                     "finishes it"},
                    {"plan", options_.plan},
                    {"folder", folder_}};
  const std::string text = marker.dump(2) + "\n";
  if (foreign_marker_) {
    HR_CHECK(put(*store_, kPendingName, as_bytes(text)));
  } else {
    HR_TRY(const bool first, put_if_absent(*store_, kPendingName, as_bytes(text)));
    HR_TRY(const bool ours, first ? Result<bool>(true) : is_marked_with(text));
    if (!ours)
      return holds(*store_, "the beginnings of another job that started just now",
                   "Wait until it has ended.");
  }
  HR_CHECK(store_->sync());
  fault_point("marked");
  return {};
}

// The same plan may have been begun at the same instant: they write the same bytes.
Result<bool> Publication::is_marked_with(const std::string& text) const {
  const auto marker = store_->read(kPendingName);
  if (!marker.ok() && marker.error().code == Code::kNotFound) return true;  // and has ended already
  if (!marker.ok()) return marker.error();
  return *marker == text;
}

std::string Publication::record_folder() const {
  return kRecordFolder + options_.plan.substr(0, 16);
}

std::string Publication::record_path(uint64_t task) const {
  return record_folder() + "/" + pad(task);
}

Status Publication::put_record(uint64_t task, const ShardRecord& record) {
  HR_TRY(const bool first,
         put_if_absent(*store_, record_path(task), as_bytes(encode_record(record))));
  static_cast<void>(first);  // someone else finished the same task: the same bytes
  fault_point("recorded");
  return {};
}

Result<ShardRecord> Publication::record(uint64_t task) const {
  HR_TRY(const std::string bytes, store_->read(record_path(task)));
  return decode_record(as_bytes(bytes), store_->name() + "/" + record_path(task));
}

Result<std::vector<bool>> Publication::find_all_done(uint64_t tasks) {
  std::vector<bool> done(tasks);
  for (const uint64_t task : finished_) {
    if (task >= tasks) continue;
    HR_TRY(done[task], find_done(task));
  }
  return done;
}

Result<bool> Publication::find_done(uint64_t task) {
  if (!finished_.contains(task)) return false;
  const auto known = record(task);
  if (known.ok()) {
    const auto object = store_->open(known->name);
    if (object.ok() && (*object)->size() == known->bytes) return true;
  }
  HR_CHECK(forget(task));
  return false;
}

Result<Manifest> Publication::finish(Manifest facts, uint64_t tasks, uint64_t memory_bytes,
                                     const Progress& progress, const PublishedShards* base) {
  const uint64_t first = base != nullptr ? base->size() : 0;
  const RecordReader read = [this, base, first](uint64_t task) {
    return task < first ? base->record(task) : record(task - first);
  };
  HR_TRY(Manifest manifest,
         write_tables(*store_, std::move(facts), first + tasks, read, memory_bytes, progress));
  fault_point("tables");
  HR_CHECK(store_->sync());  // all that the root names, before the root
  fault_point("synced");
  HR_CHECK(put_root(encode_manifest(manifest)));
  fault_point("rooted");
  HR_CHECK(clean());
  HR_CHECK(store_->publish());
  return manifest;
}

// An index beside shards that it does not own has no versions: it is made again when they change.
Status Publication::put_root(const std::string& text) {
  if (!options_.writes_shards) {
    HR_CHECK(put(*store_, kManifestName, as_bytes(text)));
    return store_->sync();
  }
  return commit_root(*store_, text, options_.append ? std::optional(base_text_) : std::nullopt);
}

// Under this plan's marker nobody else writes, so all records go, those of plans that it replaced
// too. Without it another job may be under way.
Status Publication::clean() {
  HR_TRY(const std::string marked, marked_plan());
  const bool ours = marked == options_.plan;
  HR_TRY(const auto records, store_->list(ours ? kRecordFolder : record_folder()));
  for (const StoreEntry& entry : records) HR_CHECK(store_->remove(entry.path));
  fault_point("records_removed");
  return ours ? store_->remove(kPendingName) : Status();
}

/// The plan that the marker names; "" without a marker.
Result<std::string> Publication::marked_plan() const {
  const auto text = store_->read(kPendingName);
  if (!text.ok() && text.error().code == Code::kNotFound) return std::string();
  HR_TRY(const std::string bytes, text);
  const json marker = json::parse(bytes, nullptr, false);
  const json plan = marker.is_object() ? marker.value("plan", json()) : json();
  return plan.is_string() ? plan.get<std::string>() : std::string();
}

}  // namespace headrace
