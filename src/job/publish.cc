#include "job/publish.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/try.h"
#include "job/fault_point.h"
#include "job/tables.h"

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
  return path.starts_with('.') || path == "README.md" || path == "LICENSE";
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

std::string make_recipe(const std::string& verb, const std::string& options_json,
                        const std::string& plan) {
  return json{{"job", verb}, {"options", json::parse(options_json)}, {"plan", plan}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
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
  if (!there) return {};
  HR_TRY(const std::string text, store_->read(kManifestName));
  auto root = decode_manifest(as_bytes(text), store_->name() + "/" + kManifestName);
  if (root.ok() && plan_of(*root) == options_.plan) {
    state_ = State::kComplete;
    return {};
  }
  replaces_ = true;
  if (options_.replace) return {};
  return holds(*store_, root.ok() ? "another data set" : "a damaged data set",
               "Choose another place, or --replace it (readers see the old one until the new one "
               "is complete).");
}

Status Publication::look_at_marker() {
  const std::string folder = kRecordFolder + options_.plan.substr(0, 16);
  HR_TRY(const bool marked, store_->exists(kPendingName));
  std::string plan;
  if (marked) {
    HR_TRY(const std::string text, store_->read(kPendingName));
    const json marker = json::parse(text, nullptr, false);
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
    HR_TRY(const bool ours, put_if_absent(*store_, kPendingName, as_bytes(text)));
    if (!ours)
      return holds(*store_, "the beginnings of another job that started just now",
                   "Wait until it has ended.");
  }
  HR_CHECK(store_->sync());
  fault_point("marked");
  return {};
}

std::string Publication::record_path(uint64_t task) const {
  return kRecordFolder + options_.plan.substr(0, 16) + "/" + pad(task);
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

Result<Manifest> Publication::finish(Manifest facts, uint64_t tasks, uint64_t memory_bytes,
                                     const Progress& progress) {
  const RecordReader read = [this](uint64_t task) { return record(task); };
  HR_TRY(Manifest manifest,
         write_tables(*store_, std::move(facts), tasks, read, memory_bytes, progress));
  fault_point("tables");
  HR_CHECK(store_->sync());  // all that the root names, before the root
  fault_point("synced");
  HR_CHECK(put(*store_, kManifestName, as_bytes(encode_manifest(manifest))));
  HR_CHECK(store_->sync());
  fault_point("rooted");
  HR_CHECK(clean());
  HR_CHECK(store_->publish());
  return manifest;
}

Status Publication::clean() {
  HR_TRY(const auto records, store_->list(kRecordFolder));
  for (const StoreEntry& entry : records) HR_CHECK(store_->remove(entry.path));
  fault_point("records_removed");
  return store_->remove(kPendingName);
}

}  // namespace headrace
