#include "job/pack_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/little_endian.h"
#include "base/parallel.h"
#include "base/permutation.h"
#include "base/try.h"
#include "base/units.h"
#include "dataset/containers.h"
#include "format/frame_codec.h"
#include "format/tar_writer.h"
#include "io/urls.h"
#include "job/name_template.h"
#include "job/picture_pass.h"

namespace headrace {
namespace {

using nlohmann::json;

// Part of every digest: a change of what pack writes for the same plan changes it.
constexpr const char* kPackVersion = "headrace-pack-1";
constexpr uint64_t kShuffleKey = 0x7061636B;  // so that pack's order is not the loader's

std::string options_to_json(const PackOptions& options, const std::optional<KeyMap>& map) {
  const char* labels[] = {"", "folder", "parent"};
  const char* duplicates[] = {"error", "first", "last", "rename"};
  const char* missing[] = {"error", "warn", "ignore", "drop-sample", "drop-field"};
  json out{{"key", options.key_rule},
           {"name", options.name},
           {"on_duplicate", duplicates[static_cast<int>(options.on_duplicate)]}};
  if (options.label_from != LabelFrom::kNothing)
    out["label_from"] = labels[static_cast<int>(options.label_from)];
  if (options.hidden) out["hidden"] = true;
  if (!options.fields.empty()) out["fields"] = options.fields;
  if (options.on_missing) out["on_missing"] = missing[static_cast<int>(*options.on_missing)];
  if (options.shard_bytes > 0) out["shard_size"] = options.shard_bytes;
  if (options.shard_samples > 0) out["samples"] = options.shard_samples;
  if (options.shards > 0) out["shards"] = options.shards;
  if (options.shuffle) out["shuffle"] = options.seed;
  if (options.folders != Folders::kIgnore)
    out["folders"] = options.folders == Folders::kKeep ? "keep" : "collapse";
  if (map) out["key_map"] = map->digest();
  if (options.drop_unmapped) out["on_unmapped"] = "drop-sample";
  if (const Container container = *options.container; is_compressed(container)) {
    out["container"] = container_name(container);
    out["codec"] = frame_codec(frame_encoding(container));
  }
  out.update(picture_options_to_json(options.pictures));
  for (const auto& [field, unit] : options.measures) out["measure"][field] = unit_name(unit);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Status check_limits(const PackOptions& options) {
  if (options.shards > 0 && (options.shard_bytes > 0 || options.shard_samples > 0))
    return Error{.code = Code::kUsage,
                 .message = "a number of shards and a size of shards exclude each other",
                 .origin = {},
                 .hint = "Give --shards, or --shard-size and --samples."};
  return {};
}

// The container and the names of the shards follow from each other.
PackOptions with_container(PackOptions options, const std::optional<KeyMap>& map) {
  const bool named = map && !map->templates().empty();
  const std::string& name = named ? map->templates().front() : options.name;
  if (!options.container) options.container = container_of(name).value_or(Container::kTar);
  if (options.name.empty())
    options.name = "shard-%06d" + std::string(container_suffix(*options.container));
  return options;
}

// Without any limit a template with an end says how many shards there are to be.
PackOptions with_limits(PackOptions options, const NameTemplate& names) {
  if (options.shards > 0 || options.shard_bytes > 0 || options.shard_samples > 0) return options;
  const bool one_row = options.folders == Folders::kIgnore && options.key_map.empty();
  if (one_row && names.limit() != ~uint64_t{0})
    options.shards = names.limit();
  else
    options.shard_bytes = kDefaultShardBytes;
  return options;
}

// By path, or shuffled.
std::vector<uint32_t> first_order(uint64_t samples, const PackOptions& options) {
  std::vector<uint32_t> order(samples);
  const Permutation permutation(samples, mix(options.seed, kShuffleKey));
  for (uint64_t i = 0; i < samples; ++i)
    order[i] = static_cast<uint32_t>(options.shuffle ? permutation(i) : i);
  return order;
}

// Of the fields that there are; one that nobody has is a slip of the pen.
Result<std::vector<Unit>> units_by_field(const std::vector<std::string>& fields,
                                         const FieldUnits& measures) {
  std::vector<Unit> units;
  units.reserve(fields.size());
  for (const std::string& field : fields) units.push_back(unit_of_field(measures, field));
  for (const auto& [field, unit] : measures)
    if (std::ranges::find(fields, field) == fields.end())
      return Error{.code = Code::kUsage,
                   .message = "no sample has the field '" + field + "', which is to be measured",
                   .origin = {},
                   .hint = "Name one of those that there are: 'headrace pack --explain'."};
  return units;
}

size_t decimal_digits(uint32_t value) { return std::to_string(value).size(); }

}  // namespace

bool PackPlan::is_picture(const SampleMember& member) const {
  return pictures_.any() && member.file != SampleMember::kLabel &&
         is_picture_name(sources_.files.path(member.file));
}

uint64_t PackPlan::member_bytes(const SampleEntry& sample, const SampleMember& member) const {
  return member.file == SampleMember::kLabel ? decimal_digits(sample.label)
                                             : sources_.files[member.file].bytes;
}

void PackPlan::member_name(const SampleEntry& sample, const SampleMember& member,
                           std::string& out) const {
  out.assign(set_.key(sample));
  out += '.';
  out += set_.fields[member.field];
}

uint64_t PackPlan::sample_bytes(const SampleEntry& sample) const {
  thread_local std::string name;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < sample.members; ++i) {
    const SampleMember& part = member(sample, i);
    const uint64_t size = member_bytes(sample, part);
    member_name(sample, part, name);
    bytes += tar_header_bytes(name, size) + size + tar_padding(size);
  }
  return bytes;
}

Result<PackPlan> PackPlan::make(const PackOptions& asked) {
  std::optional<KeyMap> map;
  if (!asked.key_map.empty()) {
    HR_TRY(map, KeyMap::read(asked.key_map));
  }
  const PackOptions options = with_container(asked, map);
  HR_CHECK(check_limits(options));
  const unsigned threads = thread_count(options.threads);

  PackPlan plan;
  plan.container_ = *options.container;
  plan.pictures_ = options.pictures;
  HR_CHECK(PicturePass::make(options.pictures));
  HR_TRY(plan.sources_, find_sources(options.sources, options.hidden, threads,
                                     url_scheme(options.out) == "mem" ? "" : options.out));
  auto& unreadable = plan.sources_.notes.unreadable;
  if (!unreadable.empty() && options.on_error == OnBadSample::kError) {
    Error error = std::move(unreadable.front());
    if (unreadable.size() > 1)
      error.message += " (and " + std::to_string(unreadable.size() - 1) + " more)";
    if (error.hint.empty() || error.code == Code::kNotFound)
      error.hint = "Mend it, or leave such files out with --on-error skip.";
    return error;
  }
  HR_TRY(plan.set_, group_samples(plan.sources_, options));
  HR_TRY(plan.units_, units_by_field(plan.set_.fields, options.measures));
  HR_TRY(const NameTemplate names, NameTemplate::parse(options.name, plan.container_));
  const PackOptions limited = with_limits(options, names);
  plan.options_json_ = options_to_json(limited, map);
  HR_TRY(plan.cut_, cut_pack(plan.set_, first_order(plan.set_.samples.size(), options), limited,
                             map ? &*map : nullptr, [&plan](uint32_t sample) {
                               return plan.sample_bytes(plan.set_.samples[sample]);
                             }));
  plan.count();
  plan.digest_inputs();
  plan.add_notes(options);
  return plan;
}

// What there is to pack, but for samples that the key map leaves out.
void PackPlan::count() {
  for (const uint32_t number : cut_.order) {
    const SampleEntry& sample = set_.samples[number];
    for (uint32_t i = 0; i < sample.members; ++i) {
      const SampleMember& part = member(sample, i);
      payload_bytes_ += member_bytes(sample, part);
      files_ += part.file != SampleMember::kLabel;
    }
  }
}

// SHA-256 over the options and every file that is packed.
void PackPlan::digest_inputs() {
  constexpr size_t kPiece = size_t{1} << 20;
  Sha256Stream digest;
  std::string piece = std::string(kPackVersion) + '\0' + options_json_ + '\0';
  for (const SampleMember& member : set_.members) {
    if (member.file == SampleMember::kLabel) continue;
    const FileList::Entry& file = sources_.files[member.file];
    append_le(piece, file.root);
    append_le(piece, file.path_bytes);
    append_le(piece, file.bytes);
    append_le(piece, file.mtime_ns);
    piece += sources_.files.path(member.file);
    if (piece.size() < kPiece) continue;
    digest.update(as_bytes(piece));
    piece.clear();
  }
  digest.update(as_bytes(piece));
  digest_ = digest.hex();
}

void PackPlan::add_notes(const PackOptions& options) {
  const auto add = [this](uint64_t count, const char* noun, const std::string& what) {
    if (count > 0) notes_.push_back(format_number_of(count, noun) + " left out" + what);
  };
  add(sources_.notes.hidden, "hidden name", " (--hidden takes them)");
  add(sources_.notes.special, "socket, pipe or device file", "");
  add(sources_.notes.loops, "link", ": to folders above them");
  for (const Error& error : unreadable()) notes_.push_back("left out: " + error.to_string());
  notes_.insert(notes_.end(), set_.notes.begin(), set_.notes.end());
  if (samples() < set_.samples.size())
    notes_.push_back(format_number_of(set_.samples.size() - samples(), "sample") +
                     " left out: the key map does not name them");
  const bool as_they_come = options.folders == Folders::kIgnore && options.key_map.empty();
  if (samples() == 0)
    notes_.push_back("there are no samples: the data set is empty");
  else if (!options.shuffle && as_they_come)
    add_class_hint();
}

// Says so when the order is sorted by class: folders come one after the other, and a shard has few.
void PackPlan::add_class_hint() {
  const auto group_of = [this](uint64_t position) {
    const SampleEntry& sample = sample_at(position);
    if (!set_.classes.empty()) return std::string_view(set_.classes[sample.label]);
    const std::string_view key = set_.key(sample);
    const size_t slash = key.find('/');
    return slash == key.npos ? std::string_view() : key.substr(0, slash);
  };
  uint64_t runs = 0;
  std::string_view last;
  std::vector<std::string_view> groups;
  for (uint64_t position = 0; position < samples(); ++position) {
    const std::string_view group = group_of(position);
    if (runs > 0 && group == last) continue;
    ++runs;
    last = group;
    groups.push_back(group);
  }
  std::sort(groups.begin(), groups.end());
  const auto kinds =
      static_cast<uint64_t>(std::unique(groups.begin(), groups.end()) - groups.begin());
  if (shards().size() < 2 || kinds < 2 || runs > 2 * kinds || samples() < 2 * kinds) return;
  notes_.push_back("the samples are sorted by class (" + format_count(kinds) +
                   " folders one after the other): --shuffle SEED makes every shard a fair draw");
}

}  // namespace headrace
