#include "job/pack_cut.h"

#include <algorithm>
#include <unordered_set>

#include "base/try.h"
#include "base/units.h"
#include "format/tar_writer.h"
#include "job/name_template.h"

namespace headrace {
namespace {

// By the bytes of the parts: a folder, what is below it, and then "folder-2".
bool folder_less(std::string_view a, std::string_view b) {
  const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
  return std::ranges::lexicographical_compare(a, b, {}, rank, rank);
}

class Cutter {
 public:
  Cutter(const SampleSet& set, const PackOptions& options,
         const std::function<uint64_t(uint32_t)>& bytes)
      : set_(set), options_(options), bytes_(bytes) {}

  /// Samples that follow each other, to shards of this name.
  Status cut(std::span<const uint32_t> samples, const std::string& name) {
    HR_CHECK(begin_names(name));
    const uint64_t shards = std::min<uint64_t>(options_.shards, samples.size());
    uint64_t done = 0;
    uint64_t closed = 0;
    for (const uint32_t sample : samples) {
      place(sample);
      if (shards > 0 && ++done == (closed + 1) * samples.size() / shards) {
        close();
        ++closed;
      }
    }
    close();
    return end_names();
  }

  Status cut_folders(std::vector<uint32_t> samples) {
    if (options_.shards > 0)
      return Error{.code = Code::kUsage,
                   .message = "a number of shards and folders that they keep exclude each other",
                   .hint = "Give --shard-size or --samples."};
    std::ranges::stable_sort(samples, folder_less, [this](uint32_t i) { return folder(i); });
    HR_CHECK(begin_names(options_.name));
    if (options_.folders == Folders::kCollapse)
      for (const uint32_t sample : collapse(samples, 0)) place(sample);
    else
      keep(samples);
    close();
    return end_names();
  }

  PackCut take() { return std::move(out_); }

 private:
  std::string_view folder(uint32_t sample) const {
    return folder_of_key(set_.key(set_.samples[sample]));
  }

  Status begin_names(const std::string& name) {
    HR_TRY(names_, NameTemplate::parse(name, options_.container));
    named_ = 0;
    name_ = name;
    return {};
  }

  Status end_names() const {
    if (named_ <= names_.limit()) return {};
    return Error{.code = Code::kUsage,
                 .message = "the name '" + name_ + "' stands for " + format_count(names_.limit()) +
                            " shards, but there are " + format_count(named_),
                 .origin = {},
                 .hint = "Widen its range, or make larger shards."};
  }

  // In the shard that is open, or in the next one.
  void place(uint32_t sample) {
    const uint64_t bytes = bytes_(sample);
    const uint64_t most = std::min<uint64_t>(
        options_.shard_samples > 0 ? options_.shard_samples : UINT32_MAX, UINT32_MAX);
    const bool too_large = options_.shard_bytes > 0 && open_.bytes + bytes > options_.shard_bytes;
    if (open_.samples > 0 && (too_large || open_.samples >= most)) close();
    out_.order.push_back(sample);
    ++open_.samples;
    open_.bytes += bytes;
  }

  // The shard that is open, if it has samples.
  void close() {
    if (open_.samples == 0) return;
    if (named_ < names_.limit()) open_.name = names_.name(named_);
    ++named_;
    out_.shards.push_back(open_);
    open_ = {.name = {}, .first = out_.order.size(), .samples = 0, .bytes = kTarEndBytes};
  }

  void keep(std::span<const uint32_t> samples) {
    std::string_view last;
    for (const uint32_t sample : samples) {
      if (folder(sample) != last) close();
      last = folder(sample);
      place(sample);
    }
  }

  // Writes all but what does not fill a shard, which it returns. `samples`: of one folder, whose
  // path has `depth` bytes, and all below it; its own come first.
  std::vector<uint32_t> collapse(std::span<const uint32_t> samples, size_t depth) {
    size_t own = 0;
    while (own < samples.size() && folder(samples[own]).size() <= depth) ++own;
    std::vector<uint32_t> left;
    for (size_t begin = own; begin < samples.size();) {
      const std::string_view path = folder(samples[begin]);
      const std::string_view child = path.substr(0, path.find('/', depth == 0 ? 0 : depth + 1));
      size_t end = begin;
      while (end < samples.size() && is_in(folder(samples[end]), child)) ++end;
      fill(left, collapse(samples.subspan(begin, end - begin), child.size()));
      begin = end;
    }
    fill(left, samples.first(own));
    return left;
  }

  static bool is_in(std::string_view folder, std::string_view above) {
    return folder.starts_with(above) &&
           (folder.size() == above.size() || folder[above.size()] == '/');
  }

  // Adds samples to those that are left; what fills a shard is written.
  void fill(std::vector<uint32_t>& left, std::span<const uint32_t> more) {
    for (const uint32_t sample : left) place(sample);
    for (const uint32_t sample : more) place(sample);
    // What is open is left again.
    left.assign(out_.order.begin() + static_cast<ptrdiff_t>(open_.first), out_.order.end());
    out_.order.resize(open_.first);
    open_.samples = 0;
    open_.bytes = kTarEndBytes;
  }

  const SampleSet& set_;
  const PackOptions& options_;
  const std::function<uint64_t(uint32_t)>& bytes_;
  PackCut out_;
  PlannedShard open_{.name = {}, .bytes = kTarEndBytes};
  std::string name_;
  NameTemplate names_;
  uint64_t named_ = 0;
};

// To the shards that the map names, in its order.
Status cut_mapped(const SampleSet& set, const PackOptions& options, const KeyMap& map,
                  const std::vector<uint32_t>& order, Cutter& cutter) {
  std::vector<std::vector<uint32_t>> groups(map.templates().size());
  for (const uint32_t sample : order) {
    const std::string_view key = set.key(set.samples[sample]);
    if (const auto group = map.find(key))
      groups[*group].push_back(sample);
    else if (!options.drop_unmapped)
      return Error{.code = Code::kNotFound,
                   .message = "the key map does not name '" + std::string(key) + "'",
                   .hint = "Add it, or leave such samples out with --on-unmapped drop-sample."};
  }
  for (size_t group = 0; group < groups.size(); ++group)
    HR_CHECK(cutter.cut(groups[group], map.templates()[group]));
  return {};
}

Status check_names(const std::vector<PlannedShard>& shards) {
  std::unordered_set<std::string_view> names;
  for (const PlannedShard& shard : shards)
    if (!names.insert(shard.name).second)
      return Error{.code = Code::kUsage,
                   .message = "two shards would have the name '" + shard.name + "'",
                   .hint = "Give the templates names that differ."};
  return {};
}

}  // namespace

std::string_view folder_of_key(std::string_view key) {
  const size_t slash = key.rfind('/');
  return slash == key.npos ? std::string_view() : key.substr(0, slash);
}

Result<PackCut> cut_pack(const SampleSet& set, std::vector<uint32_t> order,
                         const PackOptions& options, const KeyMap* map,
                         const std::function<uint64_t(uint32_t)>& bytes) {
  const bool folders = options.folders != Folders::kIgnore;
  if (folders && (map != nullptr || options.shuffle))
    return Error{.code = Code::kUsage,
                 .message = std::string("--folders and ") +
                            (map != nullptr ? "--key-map" : "--shuffle") + " exclude each other",
                 .hint = "Shards that keep folders are no fair draws of the whole."};
  Cutter cutter(set, options, bytes);
  if (folders)
    HR_CHECK(cutter.cut_folders(std::move(order)));
  else if (map != nullptr)
    HR_CHECK(cut_mapped(set, options, *map, order, cutter));
  else
    HR_CHECK(cutter.cut(order, options.name));
  PackCut cut = cutter.take();
  HR_CHECK(check_names(cut.shards));
  return cut;
}

}  // namespace headrace
