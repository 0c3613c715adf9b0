// headrace ls: a line a sample, or a line a member, from the index; of standard input, from the
// headers as they come.
#include <unistd.h>

#include <memory>

#include "base/try.h"
#include "cli/tar_stream.h"
#include "cli/verbs.h"
#include "dataset/containers.h"
#include "format/shard_index.h"
#include "format/tar_walk.h"
#include "headrace/dataset.h"
#include "plan/manifest.h"

namespace headrace::cli {
namespace {

struct Options {
  std::vector<std::string> locations;
  std::string key_rule = "webdataset";
  std::string cache = {};
  std::string shard;
  bool members = false;
  uint64_t limit = ~uint64_t{0};
};

/// Prints the samples of one shard after the other, until the limit or the reader says enough.
class Lister {
 public:
  Lister(const Options& options, Context& context)
      : left_(options.limit), json_(context.json), out_(context.out) {}

  bool done() const { return left_ == 0 || out_.closed(); }

  void list(const std::string& shard, const ShardIndex& index) {
    for (uint32_t s = 0; s < index.size() && !done(); ++s) {
      if (json_)
        sample_json(shard, index, s);
      else
        sample_text(index, s);
      --left_;
    }
  }

  void member(const std::string& shard, uint64_t offset, uint64_t size, std::string_view name) {
    if (done()) return;
    --left_;
    if (json_) return member_json(shard, offset, size, name);
    out_.name(shard);
    out_.text("\t");
    out_.number(offset);
    out_.text("\t");
    out_.number(size);
    out_.text("\t");
    out_.name(name);
    out_.text("\n");
  }

 private:
  void sample_text(const ShardIndex& index, uint32_t sample) {
    out_.name(index.key(sample));
    char before = '\t';
    for (const IndexMember& member : index.members(sample)) {
      out_.text({&before, 1});
      out_.name(index.fields()[member.field]);
      out_.text("=");
      out_.number(member.size);
      before = ' ';
    }
    for (const IndexMember& member : index.members(sample)) measure_text(index, member);
    out_.text("\n");
  }

  /// As bucket() takes it.
  void measure_text(const ShardIndex& index, const IndexMember& member) {
    const Measure measure = index.measure(member);
    if (measure.unit == Unit::kNone) return;
    out_.text(" ");
    out_.name(index.fields()[member.field]);
    out_.text(":");
    out_.text(unit_name(measure.unit));
    out_.text("=");
    out_.number(measure.value);
  }

  void sample_json(const std::string& shard, const ShardIndex& index, uint32_t sample) {
    line_.clear();
    Json json(line_);
    json.object().member("key", index.key(sample)).member("shard", shard);
    if (index.is_archive()) json.member("offset", index.sample_begin(sample));
    json.key("fields").object();
    for (const IndexMember& member : index.members(sample))
      json.member(index.fields()[member.field], member.size);
    json.end();
    if (index.is_measured()) measures_json(json, index, sample);
    json.end();
    line_ += '\n';
    out_.text(line_);
  }

  static void measures_json(Json& json, const ShardIndex& index, uint32_t sample) {
    json.key("measures").object();
    for (const IndexMember& member : index.members(sample)) {
      const Measure measure = index.measure(member);
      if (measure.unit == Unit::kNone) continue;
      json.key(index.fields()[member.field]).object();
      json.member(unit_name(measure.unit), measure.value).end();
    }
    json.end();
  }

  void member_json(const std::string& shard, uint64_t offset, uint64_t size,
                   std::string_view name) {
    line_.clear();
    Json(line_)
        .object()
        .member("shard", shard)
        .member("offset", offset)
        .member("size", size)
        .member("name", name)
        .end();
    line_ += '\n';
    out_.text(line_);
  }

  uint64_t left_;
  const bool json_;
  Output& out_;
  std::string line_;
};

/// Does `wanted` (a number, a path or the end of one) name shard `number`?
bool is_shard(const std::string& wanted, uint32_t number, const std::string& name) {
  return wanted == std::to_string(number) || wanted == name || name.ends_with("/" + wanted);
}

Result<int> list_stream(const Options& options, Context& context) {
  if (!options.shard.empty() || options.locations.size() > 1)
    return Error{.code = Code::kUsage, .message = "standard input is listed alone and whole"};
  Lister lister(options, context);
  HR_TRY(KeyRule rule, KeyRule::parse(options.key_rule));
  TarSamples samples(std::move(rule), [&](const ShardIndex& index) { lister.list("-", index); });
  HR_CHECK(stream_tar(STDIN_FILENO, [&](const TarMember& member) -> Result<bool> {
    if (options.members)
      lister.member("-", member.data_offset, member.size, member.name);
    else
      HR_CHECK(samples.add(member));
    return !lister.done();
  }));
  samples.finish();
  return 0;
}

/// The members as the archive's own headers have them: exact names, those outside samples too.
Status list_members(const Dataset& set, uint32_t shard, const std::string& name,
                    const ShardIndex& index, Lister& lister) {
  if (!index.is_archive()) {
    for (uint32_t s = 0; s < index.size(); ++s)
      for (const IndexMember& member : index.members(s))
        lister.member(name, member.offset, member.size, index.object(member.object));
    return {};
  }
  if (!is_tar(set.manifest().container)) {
    for (uint32_t s = 0; s < index.size() && !lister.done(); ++s)
      for (const IndexMember& member : index.members(s))
        lister.member(name, member.offset, member.size,
                      std::string(index.key(s)) + "." + index.fields()[member.field]);
    return {};
  }
  HR_TRY(const auto source, set.source(shard, index, 0));
  const auto read = [&](uint64_t at, MutableBytes into) { return source->read_at(at, into); };
  const auto show = [&](const TarMember& member) -> Status {
    lister.member(name, member.data_offset, member.size, member.name);
    if (lister.done()) return Progress::interrupted();
    return {};
  };
  auto end = for_each_member(source->size(), read, show);
  if (!end.ok() && !lister.done()) return std::move(end).error().at({.shard = name});
  return {};
}

Result<int> run(const Options& options, Context& context) {
  for (const std::string& location : options.locations)
    if (location == "-") return list_stream(options, context);
  HR_TRY(const auto set, Dataset::open(options.locations, {.key_rule = options.key_rule,
                                                           .threads = context.threads,
                                                           .cache_folder = options.cache}));
  Lister lister(options, context);
  bool found = options.shard.empty();
  for (uint32_t s = 0; s < set->shards() && !lister.done(); ++s) {
    HR_TRY(const std::string name, set->shard_name(s));
    if (!options.shard.empty() && !is_shard(options.shard, s, name)) continue;
    found = true;
    HR_TRY(const auto index, set->index(s));
    if (options.members)
      HR_CHECK(list_members(*set, s, name, *index, lister));
    else
      lister.list(name, *index);
  }
  if (!found)
    return Error{.code = Code::kNotFound,
                 .message = "there is no shard '" + options.shard + "'",
                 .hint = "Give its number (from 0), its name or the end of its path."};
  return 0;
}

}  // namespace

const Verb kLs{.name = "ls",
               .summary = "List the samples of a data set, a line each: key, fields and sizes",
               .examples =
                   "headrace ls shards/ | head\n"
                   "headrace ls shards/ --members        # shard, offset, size, name\n"
                   "headrace ls shards/ --json | jq .key\n"
                   "headrace ls 'train-{000..012}.tar' --limit 5\n"
                   "curl -s https://example.org/x.tar | headrace ls -\n",
               .setup = [](CLI::App& app) -> Action {
                 auto o = std::make_shared<Options>();
                 app.add_option("DATASET", o->locations,
                                "Folder, manifest, shards, brace range, glob, @list or - (a tar)")
                     ->required()
                     ->type_name("");
                 app.add_flag("--members", o->members,
                              "A line a member: shard, offset, size, name");
                 app.add_option("--shard", o->shard, "Only this shard: number, name or end of path")
                     ->type_name("SHARD");
                 app.add_option("--limit", o->limit, "Stop after N lines")
                     ->type_name("N")
                     ->check(whole_number());
                 app.add_option("--cache", o->cache, "Folder of the node's cache (HEADRACE_CACHE)")
                     ->type_name("FOLDER");
                 app.add_option("--key", o->key_rule,
                                "Key rule without a manifest: webdataset, base, path, flat, REGEX")
                     ->type_name("RULE");
                 return [o](Context& context) { return run(*o, context); };
               }};

}  // namespace headrace::cli
