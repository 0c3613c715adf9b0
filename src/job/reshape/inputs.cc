#include "job/reshape/inputs.h"

#include <algorithm>
#include <filesystem>

#include "base/parallel.h"
#include "base/try.h"
#include "dataset/containers.h"
#include "format/shard_index.h"
#include "io/urls.h"
#include "job/sources.h"
#include "plan/manifest.h"

namespace headrace {
namespace {

// Requests for versions at once.
constexpr unsigned kRemoteThreads = 32;
// What all sets together keep although nobody uses it: a job may read thousands of sets. Who needs
// an index for longer holds it.
constexpr uint64_t kIndexMebibytes = 8;
constexpr uint64_t kOpenShards = 256;

std::string absolute(const std::string& location) {
  if (!url_scheme(location).empty()) return location;
  const bool list = location.starts_with('@');
  std::error_code problem;
  const auto path = std::filesystem::absolute(location.substr(list ? 1 : 0), problem);
  return (list ? "@" : "") + path.lexically_normal().native();
}

// With another size than is known a shard does not even open.
bool is_another(const Error& error) {
  return error.code == Code::kCorrupt || error.code == Code::kNotFound ||
         error.code == Code::kChanged;
}

bool is_archive(const std::string& location) { return container_of(location).has_value(); }

}  // namespace

Result<Inputs> Inputs::open(const std::vector<std::string>& sources, bool apart, unsigned threads) {
  for (const std::string& source : sources) HR_CHECK(refuse_query(source));
  const bool together = !apart && std::ranges::all_of(sources, is_archive);
  Inputs inputs(together ? 1 : sources.size());
  if (together) {
    std::vector<std::string> archives(sources.size());
    std::ranges::transform(sources, archives.begin(), absolute);
    HR_CHECK(inputs.take(std::move(archives), threads));
  } else {
    for (const std::string& source : sources) HR_CHECK(inputs.take({absolute(source)}, threads));
  }
  return inputs;
}

Result<Inputs> Inputs::open_pinned(std::vector<PinnedSet> sets, unsigned threads) {
  Inputs inputs(sets.size());
  for (PinnedSet& pinned : sets) {
    HR_CHECK(inputs.take(pinned.locations, threads));
    PinnedSet& now = inputs.pins_.back();
    if (now.fingerprint != pinned.fingerprint ||
        pinned.versions.size() != inputs.sets_.back()->shards())
      return Error{.code = Code::kChanged,
                   .message = "the data set is not what it was when the job was planned",
                   .origin = {.shard = now.locations.front()},
                   .hint = "Plan the job again."};
    now.versions = std::move(pinned.versions);
  }
  inputs.expect_pins();
  return inputs;
}

Inputs::Inputs(size_t sets)
    : planned_sets_(std::max<size_t>(sets, 1)),
      open_(std::make_unique<LruCache<ByteSource>>(kOpenShards)) {}

Status Inputs::take(std::vector<std::string> locations, unsigned threads) {
  HR_TRY(auto set,
         Dataset::open(locations, {.threads = threads,
                                   .index_memory_bytes = kIndexMebibytes / planned_sets_ << 20,
                                   .open_shards = 0}));
  if (set->manifest().container == Container::kFiles)
    return Error{.code = Code::kUsage,
                 .message = "these are loose files, not shards",
                 .origin = {.shard = locations.front()},
                 .hint = "'headrace pack' makes shards of them, in any order."};
  for (const uint32_t samples : set->table().samples) first_.push_back(first_.back() + samples);
  set_shard_.push_back(shards());
  pins_.push_back({std::move(locations), set->fingerprint(), {}});
  sets_.push_back(std::move(set));
  return {};
}

Inputs::Place Inputs::place(uint32_t shard) const {
  const auto after = std::ranges::upper_bound(set_shard_, shard);
  const auto set = static_cast<size_t>(after - set_shard_.begin() - 1);
  return {set, shard - set_shard_[set]};
}

uint64_t Inputs::bytes() const {
  uint64_t bytes = 0;
  for (const auto& set : sets_) bytes += set->table().total_bytes();
  return bytes;
}

uint64_t Inputs::shard_bytes(uint32_t shard) const {
  const Place at = place(shard);
  return sets_[at.set]->table().bytes[at.shard];
}

bool Inputs::is_remote() const {
  return std::ranges::any_of(sets_, [](const auto& set) { return set->is_remote(); });
}

SampleId Inputs::locate(uint64_t i) const {
  const auto after = std::ranges::upper_bound(first_, i);
  const auto shard = static_cast<uint32_t>(after - first_.begin() - 1);
  return {shard, static_cast<uint32_t>(i - first_[shard])};
}

Result<std::string> Inputs::shard_name(uint32_t shard) const {
  const Place at = place(shard);
  return sets_[at.set]->shard_name(at.shard);
}

Result<std::shared_ptr<const ShardIndex>> Inputs::index(uint32_t shard) const {
  const Place at = place(shard);
  return sets_[at.set]->index(at.shard);
}

Result<std::shared_ptr<const ByteSource>> Inputs::source(uint32_t shard) const {
  const Place at = place(shard);
  auto source = open(shard);
  if (!source.ok()) return is_another(source.error()) ? changed(shard) : std::move(source);
  // A remote source pins what its first answer says; check_pins() compares it in the end.
  if (!checked_ || checked_[shard].load(std::memory_order_relaxed) || (*source)->is_remote())
    return source;
  if ((*source)->version() != pins_[at.set].versions[at.shard]) return changed(shard);
  checked_[shard].store(true, std::memory_order_relaxed);
  return source;
}

// A compressed one needs its index to be read.
Result<std::shared_ptr<const ByteSource>> Inputs::open(uint32_t shard) const {
  const auto load = [&]() -> Result<std::shared_ptr<const ByteSource>> {
    const Place at = place(shard);
    const Dataset& set = *sets_[at.set];
    if (!is_compressed(set.manifest().container)) return set.source(at.shard, ShardIndex(), 0);
    HR_TRY(const auto index, set.index(at.shard));
    return set.source(at.shard, *index, 0);
  };
  return open_->get(shard, load, [](const ByteSource&) { return uint64_t{1}; });
}

Error Inputs::changed(uint32_t shard) const {
  const auto name = shard_name(shard);
  return {.code = Code::kChanged,
          .message = "the shard is not what it was when the job was planned",
          .origin = {.shard = name.ok() ? *name : ""},
          .hint = "Plan the job again."};
}

Status Inputs::pin(unsigned threads) {
  for (size_t set = 0; set < sets_.size(); ++set) pins_[set].versions.resize(sets_[set]->shards());
  expect_pins();
  return for_each(shards(), is_remote() ? kRemoteThreads : threads,
                  [this](uint64_t shard) -> Status {
                    const Place at = place(static_cast<uint32_t>(shard));
                    HR_TRY(const auto source, open(static_cast<uint32_t>(shard)));
                    pins_[at.set].versions[at.shard] = source->version();
                    return {};
                  });
}

Status Inputs::check_pins(const std::vector<uint32_t>& shards, unsigned threads) const {
  return for_each(shards.size(), is_remote() ? kRemoteThreads : threads, [&](uint64_t i) -> Status {
    const uint32_t shard = shards[i];
    const Place at = place(shard);
    const auto source = sets_[at.set]->open_shard(at.shard);
    if (source.ok() && (*source)->version() == pins_[at.set].versions[at.shard]) return {};
    return source.ok() || is_another(source.error()) ? changed(shard) : source.error();
  });
}

}  // namespace headrace
