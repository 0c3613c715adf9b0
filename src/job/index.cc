#include "job/index.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/digest.h"
#include "base/little_endian.h"
#include "base/parallel.h"
#include "base/try.h"
#include "io/urls.h"
#include "job/index_input.h"
#include "job/index_known.h"
#include "job/index_shard.h"
#include "job/publish.h"
#include "job/samples.h"

namespace headrace {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Part of every digest: a change of what index writes for the same input changes it.
constexpr const char* kIndexVersion = "headrace-index-1";

std::string options_to_json(const IndexOptions& options, const IndexInput& input) {
  json out{{"key", options.key_rule}};
  if (input.container != Container::kFiles) {
    out["checksums"] = options.checksums;
  } else {
    out["hidden"] = options.hidden;
    out["fields"] = options.fields;
    out["on_missing"] = options.on_missing ? static_cast<int>(*options.on_missing) : -1;
    out["on_duplicate"] = static_cast<int>(options.on_duplicate);
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string digest_files(const FileList& files, const std::string& options_json,
                         const std::string& base) {
  Sha256Stream digest;
  digest.update(as_bytes(std::string(kIndexVersion) + '\0' + options_json + '\0' + base + '\0'));
  std::string piece;
  for (size_t i = 0; i < files.size(); ++i) {
    piece.clear();
    append_le(piece, files[i].path_bytes);
    append_le(piece, files[i].bytes);
    append_le(piece, files[i].mtime_ns);
    piece += files.path(i);
    digest.update(as_bytes(piece));
  }
  return digest.hex();
}

/// An index job: the input, the destination and what is common to shards and loose files.
class Indexer {
 public:
  Indexer(const IndexOptions& options, Progress& progress)
      : options_(options), progress_(progress), threads_(thread_count(options.threads)) {}

  Result<IndexReport> run() {
    HR_TRY(input_, find_index_input(options_, threads_));
    report_.container = input_.container;
    report_.folder = input_.folder;
    report_.out = options_.out.empty() ? input_.folder : options_.out;
    report_.notes = input_.notes;
    options_json_ = options_to_json(options_, input_);
    HR_CHECK(find_base());
    HR_TRY(out_,
           open_store(report_.out, options_.fsync ? Durability::kDurable : Durability::kFast));
    HR_CHECK(input_.container == Container::kFiles ? index_files() : index_shards());
    return std::move(report_);
  }

 private:
  // Where the manifest says that the shards are: nothing when they lie beside it.
  Status find_base() {
    std::error_code problem;
    const fs::path folder = fs::canonical(input_.folder, problem);
    if (problem)
      return Error{.code = Code::kNotFound, .message = "no folder '" + input_.folder + "'"};
    const fs::path out = fs::weakly_canonical(local_path(report_.out), problem);
    if (out != folder) base_ = folder.native();
    return {};
  }

  Result<Publication> look(const std::string& plan) {
    PublishOptions publish{.plan = plan, .replace = options_.replace, .writes_shards = false};
    // A manifest that index made before is renewed without asking.
    publish.replace = publish.replace || known_.made_by_index();
    return Publication::look(*out_, publish);
  }

  Status index_shards() {
    const FileList& shards = input_.shards;
    const std::string plan = digest_files(shards, options_json_, base_);
    HR_TRY(known_, KnownShards::read(out_, options_json_, base_));
    HR_TRY(Publication publication, look(plan));
    report_.shards = shards.size();
    for (size_t i = 0; i < shards.size(); ++i) report_.bytes += shards[i].bytes;
    report_.complete_before = publication.state() == Publication::State::kComplete;
    if (report_.complete_before || options_.dry_run) return {};

    progress_.total_bytes = report_.bytes;
    progress_.total_items = shards.size();
    HR_CHECK(publication.begin());
    HR_CHECK(run_tasks(publication));
    if (!report_.findings.empty()) return publication.clean();
    return publish(publication, shards.size(), input_.container);
  }

  Status run_tasks(Publication& publication) {
    HR_TRY(const KeyRule rule, KeyRule::parse(options_.key_rule));
    HR_TRY(const auto data, open_store(input_.folder));
    std::vector<std::optional<Error>> failures(input_.shards.size());
    std::vector<std::vector<Error>> warnings(input_.shards.size());
    std::atomic<size_t> next{0};
    run_on_threads(std::min<size_t>(threads_, input_.shards.size()), [&] {
      for (size_t task; (task = next++) < input_.shards.size() && !progress_.stopped();) {
        Status status = index_one(publication, *data, rule, task, warnings[task]);
        if (!status.ok()) failures[task] = std::move(status).error();
        ++progress_.items;
      }
    });
    if (progress_.stopped()) return Progress::interrupted();
    for (std::optional<Error>& failure : failures) {
      if (!failure) continue;
      if (failure->code != Code::kCorrupt) return std::move(*failure);
      report_.findings.push_back(std::move(*failure));
    }
    for (const auto& of_shard : warnings)
      for (const Error& warning : of_shard) report_.notes.push_back(warning.to_string());
    return {};
  }

  Status index_one(Publication& publication, const Store& data, const KeyRule& rule, size_t task,
                   std::vector<Error>& warnings) {
    const FileList::Entry& file = input_.shards[task];
    const std::string name(input_.shards.path(task));
    if (publication.finished().contains(task)) {
      if (publication.record(task).ok()) {
        progress_.bytes += file.bytes;
        return {};
      }
      HR_CHECK(publication.forget(task));
    }
    HR_TRY(std::optional<ShardRecord> known, known_.find(name, file.bytes, file.mtime_ns));
    if (known) {
      progress_.bytes += file.bytes;
      ++reused_;
      return publication.put_record(task, *known);
    }
    HR_TRY(IndexedShard shard,
           index_one_shard(data, name, rule, options_.checksums, options_.lenient, progress_));
    if (shard.record.bytes != file.bytes)
      return Error{.code = Code::kChanged,
                   .message = "the shard changed while it was indexed",
                   .origin = {name, "", Origin::kNoOffset},
                   .hint = "Run it again when nobody writes to the folder."};
    warnings = std::move(shard.warnings);
    return publication.put_record(task, shard.record);
  }

  Status index_files() {
    PackOptions as_pack;
    as_pack.sources = {input_.folder};
    as_pack.key_rule = options_.key_rule;
    as_pack.fields = options_.fields;
    as_pack.on_missing = options_.on_missing;
    as_pack.on_duplicate = options_.on_duplicate;
    HR_TRY(const Sources sources,
           find_sources(as_pack.sources, options_.hidden, threads_,
                        url_scheme(report_.out) == "mem" || base_.empty() ? "" : report_.out));
    if (!sources.notes.unreadable.empty()) return sources.notes.unreadable.front();
    HR_TRY(const SampleSet set, group_samples(sources, as_pack));
    report_.notes.insert(report_.notes.end(), set.notes.begin(), set.notes.end());
    HR_TRY(known_, KnownShards::read(out_, options_json_, base_));
    HR_TRY(Publication publication, look(digest_files(sources.files, options_json_, base_)));
    report_.samples = set.samples.size();
    report_.complete_before = publication.state() == Publication::State::kComplete;
    if (report_.complete_before || options_.dry_run) return {};
    HR_CHECK(publication.begin());
    HR_TRY(const uint64_t tasks, put_virtual_shards(sources, set, publication));
    return publish(publication, tasks, Container::kFiles);
  }

  Result<uint64_t> put_virtual_shards(const Sources& sources, const SampleSet& set,
                                      Publication& publication) {
    uint64_t tasks = 0;
    ShardIndexBuilder builder;
    ShardRecord record;
    progress_.total_items = set.samples.size();
    const auto close = [&]() -> Status {
      record.name = "files-" + std::to_string(tasks);
      fill_record(builder, record);
      HR_CHECK(publication.forget(tasks));  // cheap to make again
      HR_CHECK(publication.put_record(tasks++, record));
      builder = {};
      record = {};
      return {};
    };
    for (const SampleEntry& sample : set.samples) {
      if (progress_.stopped()) return Progress::interrupted();
      builder.add_sample(set.key(sample), record.bytes);
      for (uint32_t i = 0; i < sample.members; ++i) {
        const SampleMember& member = set.members[sample.member_begin + i];
        const uint64_t bytes = sources.files[member.file].bytes;
        builder.add_file(set.fields[member.field], sources.files.path(member.file), bytes);
        record.bytes += bytes;
      }
      builder.end_sample(record.bytes);
      ++progress_.items;
      if (builder.size() == kVirtualShardSamples || record.bytes >= kVirtualShardBytes)
        HR_CHECK(close());
    }
    if (builder.size() > 0) HR_CHECK(close());
    return tasks;
  }

  Status publish(Publication& publication, uint64_t tasks, Container container) {
    Manifest facts;
    facts.container = container;
    facts.base = base_;
    facts.tool = options_.tool;
    facts.recipe = make_recipe("index", options_json_, publication.plan());
    HR_TRY(const Manifest manifest,
           publication.finish(std::move(facts), tasks, options_.memory_bytes, progress_));
    report_.shards = manifest.shards;
    report_.samples = manifest.samples;
    report_.bytes = manifest.bytes;
    report_.shards_reused = reused_;
    report_.fingerprint = manifest.fingerprint();
    return {};
  }

  const IndexOptions& options_;
  Progress& progress_;
  const unsigned threads_;
  IndexInput input_;
  std::string base_;
  std::string options_json_;
  std::shared_ptr<Store> out_;
  KnownShards known_;
  std::atomic<uint64_t> reused_{0};
  IndexReport report_;
};

}  // namespace

Result<IndexReport> index_dataset(const IndexOptions& options, Progress& progress) {
  return Indexer(options, progress).run();
}

}  // namespace headrace
