// headrace cat: the bytes of one field of one sample, through the index.
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/try.h"
#include "base/units.h"
#include "cli/suggest.h"
#include "cli/verbs.h"
#include "format/shard_index.h"
#include "headrace/dataset.h"

namespace headrace::cli {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;
constexpr uint64_t kSuggestSamples = 200'000;  // look for similar keys among so many at most
constexpr int64_t kNone = -1;

struct Options {
  std::string location;
  std::vector<std::string> words;  // KEY [FIELD], or [FIELD] with --at
  std::string key_rule = "webdataset";
  std::string cache = {};
  int64_t at = kNone;
  int64_t nth = kNone;
};

/// A key one edit or so away from `key`, or empty.
Result<std::string> similar_key(const Dataset& set, const std::string& key) {
  if (set.size() > kSuggestSamples) return std::string();
  std::vector<std::string> keys;
  keys.reserve(set.size());
  for (uint32_t s = 0; s < set.shards(); ++s) {
    HR_TRY(const auto index, set.index(s));
    for (uint32_t i = 0; i < index->size(); ++i) keys.emplace_back(index->key(i));
  }
  return nearest(key, keys);
}

/// For "cat/01.jpg" where the sample is "cat/01": the key, or empty.
Result<std::string> key_of_file_name(const Dataset& set, const std::string& key) {
  const size_t slash = key.rfind('/');
  const size_t dot = key.find('.', slash == std::string::npos ? 0 : slash + 1);
  if (dot == std::string::npos) return std::string();
  const std::string base = key.substr(0, dot);
  HR_TRY(const auto found, set.find(base));
  return found.empty() ? std::string() : base;
}

Error no_such_key(const Dataset& set, const std::string& key) {
  Error error{.code = Code::kNotFound,
              .message = "there is no sample with the key '" + key + "'",
              .hint = "'headrace ls " + set.name() + "' lists the keys."};
  if (const auto base = key_of_file_name(set, key); base.ok() && !base->empty())
    error.hint = "Did you mean the key '" + *base + "' and the field '" +
                 key.substr(base->size() + 1) + "'?";
  else if (const auto near = similar_key(set, key); near.ok() && !near->empty())
    error.hint = "Did you mean '" + *near + "'?";
  return error;
}

Error ambiguous(const Dataset& set, const std::string& key, const std::vector<SampleId>& found) {
  constexpr size_t kShown = 8;
  std::string places;
  for (size_t i = 0; i < found.size() && i < kShown; ++i) {
    const Origin origin = set.origin(found[i]);
    places += (i == 0 ? "" : ", ") + std::to_string(i) + ": " + origin.shard;
    if (origin.offset != Origin::kNoOffset) places += " at byte " + std::to_string(origin.offset);
  }
  if (found.size() > kShown) places += ", …";
  return {.code = Code::kUsage,
          .message = std::to_string(found.size()) + " samples have the key '" + key + "'",
          .hint = "Choose one by --nth N: " + places};
}

Result<SampleId> choose(const Dataset& set, const Options& options) {
  if (options.at != kNone) {
    const auto number = static_cast<uint64_t>(options.at);
    if (number < set.size()) return set.locate(number);
    return Error{.code = Code::kNotFound,
                 .message = "there is no sample number " + std::to_string(number) +
                            ": the data set has " + format_count(set.size())};
  }
  const std::string& key = options.words.front();
  HR_TRY(const auto found, set.find(key));
  if (found.empty()) return no_such_key(set, key);
  if (options.nth == kNone)
    return found.size() == 1 ? Result(found[0]) : ambiguous(set, key, found);
  const auto nth = static_cast<size_t>(options.nth);
  if (nth < found.size()) return found[nth];
  return Error{.code = Code::kNotFound,
               .message = "only " + std::to_string(found.size()) + " samples have the key '" + key +
                          "'; --nth counts from 0"};
}

std::string field_list(const ShardIndex& index, uint32_t sample) {
  std::string list;
  for (const IndexMember& member : index.members(sample))
    list += (list.empty() ? "" : ", ") + index.fields()[member.field] + " (" +
            format_bytes(member.size) + ")";
  return list;
}

Result<const IndexMember*> choose_field(const ShardIndex& index, uint32_t sample,
                                        const std::string* name) {
  const auto members = index.members(sample);
  if (name == nullptr && members.size() == 1) return members.data();
  const std::string has = "It has " + field_list(index, sample) + ".";
  if (name == nullptr)
    return Error{
        .code = Code::kUsage, .message = "the sample has several fields: name one", .hint = has};
  const int field = index.field_number(*name);
  const IndexMember* member =
      field < 0 ? nullptr : index.find(sample, static_cast<uint32_t>(field));
  if (member == nullptr)
    return Error{
        .code = Code::kNotFound, .message = "the sample has no field '" + *name + "'", .hint = has};
  return member;
}

Status print_bytes(const ByteSource& source, const IndexMember& member, Output& out) {
  std::vector<std::byte> piece;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  for (uint64_t done = 0; done < member.size && !out.closed(); done += piece.size()) {
    piece.resize(std::min(kPieceBytes, member.size - done));
    HR_CHECK(source.read_at(member.offset + done, piece));
    if (terminal && std::find(piece.begin(), piece.end(), std::byte{0}) != piece.end())
      return Error{.code = Code::kUsage,
                   .message = "these bytes are no text and standard output is a terminal",
                   .hint = "Send them to a file: … > FILE"};
    out.bytes(piece);
  }
  return {};
}

void print_json(const Dataset& set, const ShardIndex& index, SampleId id, const IndexMember* chosen,
                Output& out) {
  const Origin origin = set.origin(id);
  std::string text;
  Json json(text);
  json.object().member("key", index.key(id.sample)).member("shard", origin.shard);
  json.key("fields").array();
  for (const IndexMember& member : index.members(id.sample)) {
    if (chosen != nullptr && chosen != &member) continue;
    json.object().member("name", index.fields()[member.field]);
    if (!index.is_archive()) json.member("file", index.object(member.object));
    json.member("offset", member.offset).member("size", member.size).end();
  }
  json.end().end();
  out.text(text + "\n");
}

Result<int> run(const Options& options, Context& context) {
  const size_t key_words = options.at == kNone ? 1 : 0;
  if (options.words.size() < key_words || options.words.size() > key_words + 1)
    return Error{.code = Code::kUsage,
                 .message = key_words == 1 ? "cat takes a data set, a key and at most one field"
                                           : "cat --at takes a data set and at most one field"};
  HR_TRY(const auto set, Dataset::open({options.location}, {.key_rule = options.key_rule,
                                                            .threads = context.threads,
                                                            .cache_folder = options.cache}));
  HR_TRY(const SampleId id, choose(*set, options));
  HR_TRY(const auto index, set->index(id.shard));
  const std::string* field = options.words.size() > key_words ? &options.words.back() : nullptr;
  const IndexMember* member = nullptr;
  if (field != nullptr || !context.json) {
    auto chosen = choose_field(*index, id.sample, field);
    if (!chosen.ok()) return std::move(chosen).error().at(set->origin(id));
    member = *chosen;
  }
  if (context.json) {
    print_json(*set, *index, id, member, context.out);
    return 0;
  }
  HR_TRY(const auto source, set->source(id.shard, *index, member->object));
  auto printed = print_bytes(*source, *member, context.out);
  if (!printed.ok()) return std::move(printed).error().at(set->origin(id));
  return 0;
}

}  // namespace

const Verb kCat{
    .name = "cat",
    .summary = "Print the bytes of one field of a sample",
    .examples =
        "headrace cat shards/ cat/0001 jpg > cat.jpg\n"
        "headrace cat shards/ cat/0001 cls    # FIELD may be left out when there is one\n"
        "headrace cat shards/ --at 17 txt     # sample number 17, from 0\n"
        "headrace cat shards/ cat/0001 --json # where the bytes are, for range requests\n",
    .setup = [](CLI::App& app) -> Action {
      auto o = std::make_shared<Options>();
      app.add_option("DATASET", o->location, "Folder, manifest, shard or list of shards")
          ->required()
          ->type_name("");
      app.add_option("KEY", o->words, "Key of the sample, then the field's name")
          ->type_name("[FIELD]");
      app.add_option("--at", o->at, "Take sample number N (from 0) instead of a KEY")
          ->type_name("N")
          ->check(whole_number());
      app.add_option("--nth", o->nth, "Of several samples with this key, number N (from 0)")
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
