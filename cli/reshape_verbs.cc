// The verbs of reshaping: their own options, and what they are for.
#include "base/try.h"
#include "cli/map_options.h"
#include "cli/reshape.h"
#include "cli/sample_options.h"
#include "cli/verbs.h"

namespace headrace::cli {
namespace {

void add_seed(CLI::App& app, ReshapeFlags& flags) {
  app.add_option("--seed", flags.options.seed, "Another seed is another order (0)")
      ->type_name("N")
      ->check(whole_number());
}

constexpr ReshapeVerb kRowShuffle{
    .name = "shuffle",
    .summary = "Write a data set in a new random order, every shard a fair draw of the whole",
    .examples =
        "headrace shuffle shards/ --seed 7 --out shuffled/\n"
        "headrace shuffle old/ new/ --out all/ --shard-size 1GiB --multiple-of 64\n",
    .add_options = add_seed};

constexpr ReshapeVerb kRowSplit{.name = "split",
                                .summary = "Cut a data set into other shards, in the same order",
                                .examples =
                                    "headrace split big.tar --out shards/ --shard-size 256MiB\n"
                                    "headrace split shards/ --out even/ --multiple-of 32\n",
                                .add_options = nullptr};

constexpr ReshapeVerb kRowMerge{.name = "merge",
                                .summary = "Join small shards to larger ones, in the same order",
                                .examples =
                                    "headrace merge shards/ --out merged/ --shard-size 1GiB\n"
                                    "headrace merge part-{000..999}.tar --out one/ --shards 1\n",
                                .add_options = nullptr};

constexpr ReshapeVerb kRowConcat{.name = "concat",
                                 .summary = "Write several data sets as one, one after the other",
                                 .examples = "headrace concat 2024/ 2025/ --out both/\n",
                                 .add_options = nullptr};

Status take_convert(const ReshapeFlags& flags, ReshapeOptions& options) {
  HR_TRY(options.pictures, parse_picture_options(flags.pictures));
  if (!options.pictures.any() || flags.algorithm != "buckets") return {};
  return Error{.code = Code::kUsage,
               .message = "samples whose pictures change do not go by buckets",
               .hint = "Leave --algorithm out."};
}

constexpr ReshapeVerb kRowConvert{
    .name = "convert",
    .summary = "Write a data set in another container, or with pictures shrunk, decoded, checked",
    .examples =
        "headrace convert shards/ --container tar.zst --out small/\n"
        "headrace convert 'theirs-{000..127}.zip' --container tar --out ours/\n"
        "headrace convert hf://datasets/org/pictures --out ours/           # Parquet becomes tar\n"
        "headrace convert shards/ --image 'max-side=512, quality=90' --drop-corrupt --out small/\n"
        "headrace convert shards/ --jpeg baseline --out quick/\n",
    .add_options = [](CLI::App& app,
                      ReshapeFlags& flags) { add_picture_options(app, flags.pictures); },
    .take = take_convert};

void add_select(CLI::App& app, ReshapeFlags& flags) {
  SelectOptions& select = flags.options.select;
  const std::string group = "Which samples (all that are given must hold)";
  app.add_option("--keys", select.keys, "Those of a list, a key a line")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--regex", select.regex, "Those in whose key this is found")
      ->type_name("PATTERN")
      ->group(group);
  app.add_option("--where", select.where,
                 "Those for which this holds: json.width >= 256 and cls in (1, 2) and "
                 "size(jpg) < 1000000 and key ~ '^train/'")
      ->type_name("CONDITION")
      ->group(group);
  app.add_option("--fraction", flags.fraction,
                 "A share of the keys by hash: 0.1, or 0.2-0.3; always the same ones")
      ->type_name("SHARE")
      ->group(group);
  app.add_option("--parts", flags.parts,
                 "Several data sets without a common key, in folders of DEST: "
                 "train=0.8,val=0.1,test=0.1")
      ->type_name("NAME=SHARE,…")
      ->group(group);
  app.add_option("--seed", select.share.seed, "Another seed is another division (0)")
      ->type_name("N")
      ->check(whole_number())
      ->group(group);
  app.add_flag("--invert", select.invert, "All the others")->group(group);
}

Status take_select(const ReshapeFlags& flags, ReshapeOptions& options) {
  if (flags.fraction.empty()) return {};
  HashRange& share = options.select.share;
  const size_t dash = flags.fraction.find('-');
  const bool range = dash != std::string::npos;
  const bool good =
      flags.parts.empty() &&
      (!range || CLI::detail::lexical_cast(flags.fraction.substr(0, dash), share.begin)) &&
      CLI::detail::lexical_cast(flags.fraction.substr(range ? dash + 1 : 0), share.end);
  if (good) return {};
  return Error{.code = Code::kUsage,
               .message =
                   "--fraction is a share as 0.1 or a range as 0.2-0.3, without --parts, "
                   "not '" +
                   flags.fraction + "'"};
}

constexpr ReshapeVerb kRowSelect{
    .name = "select",
    .summary = "Write some samples: by key, condition, or share",
    .examples =
        "headrace select shards/ --where 'json.width >= 256' --out large/\n"
        "headrace select shards/ --keys good.txt --out good/\n"
        "headrace select shards/ --parts train=0.8,val=0.1,test=0.1 --out parts/\n",
    .add_options = add_select,
    .take = take_select};

void add_sort(CLI::App& app, ReshapeFlags& flags) {
  const std::string group = "Order";
  app.add_option("--by", flags.options.sort.by, "key, size, or a field (key)")
      ->type_name("WHAT")
      ->group(group);
  app.add_option("--as", flags.sort_as, "text, natural (a2 before a10), integer, float, md5")
      ->type_name("KIND")
      ->group(group);
  app.add_flag("--reverse", flags.options.sort.reverse, "The other way")->group(group);
  app.add_option(
         "--key-map", flags.options.key_map,
         "To named shards: JSON {\"cats-%d.tar\": [\"cat.*\", …]} or lines KEY<TAB>TEMPLATE")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--on-missing", flags.on_missing,
                 "A sample has nothing to sort by, or the map does not name it: error, last, "
                 "drop-sample")
      ->type_name("POLICY")
      ->group(group);
}

Status take_sort(const ReshapeFlags& flags, ReshapeOptions& options) {
  using Kind = SortOptions::Kind;
  using Missing = SortOptions::Missing;
  HR_CHECK(choose("--as", flags.sort_as,
                  {{"text", Kind::kText},
                   {"natural", Kind::kNatural},
                   {"integer", Kind::kInteger},
                   {"float", Kind::kFloat},
                   {"md5", Kind::kMd5}},
                  &options.sort.kind));
  options.drop_unmapped = flags.on_missing == "drop-sample";
  return choose(
      "--on-missing", flags.on_missing,
      {{"error", Missing::kError}, {"last", Missing::kLast}, {"drop-sample", Missing::kDrop}},
      &options.sort.missing);
}

constexpr ReshapeVerb kRowSort{
    .name = "sort",
    .summary = "Write the samples in order of key, size or a field, or to shards of a key map",
    .examples =
        "headrace sort shards/ --as natural --out sorted/\n"
        "headrace sort shards/ --by cls --as integer --out by-class/\n"
        "headrace sort shards/ --key-map map.json --out classes/\n",
    .add_options = add_sort,
    .take = take_sort};

constexpr ReshapeVerb kRowDedupe{
    .name = "dedupe",
    .summary = "Leave out samples whose content was there before",
    .examples = "headrace dedupe shards/ --by jpg --out unique/\n",
    .add_options =
        [](CLI::App& app, ReshapeFlags& flags) {
          app.add_option("--by", flags.same, "Fields that must be equal (all)")
              ->type_name("FIELD,…");
        },
    .take = [](const ReshapeFlags& flags, ReshapeOptions& options) -> Status {
      options.dedupe_fields = split_fields(flags.same);
      return {};
    }};

void add_on_missing(CLI::App& app, ReshapeFlags& flags) {
  app.add_option("--on-missing", flags.on_missing,
                 "A sample has none of the fields named: error, ignore, drop-sample")
      ->type_name("POLICY");
}

Status take_fields(const ReshapeFlags& flags, ReshapeOptions& options) {
  using Missing = FieldMap::Missing;
  return choose("--on-missing", flags.on_missing,
                {{"error", Missing::kError},
                 {"ignore", Missing::kIgnore},
                 {"drop-sample", Missing::kDropSample}},
                &options.on_missing);
}

constexpr ReshapeVerb kRowRename{
    .name = "rename",
    .summary = "Give fields other names",
    .examples = "headrace rename shards/ --fields txt=caption,jpg=jpeg --out renamed/\n",
    .add_options =
        [](CLI::App& app, ReshapeFlags& flags) {
          app.add_option("--fields", flags.options.fields, "NEW=OLD, or NEW=OLD1;OLD2")
              ->required()
              ->type_name("RULES");
          add_on_missing(app, flags);
        },
    .take = take_fields};

constexpr ReshapeVerb kRowProject{
    .name = "project",
    .summary = "Keep only some fields",
    .examples =
        "headrace project shards/ --fields jpg,cls --out small/\n"
        "headrace project shards/ --fields 'jpg=jpg;jpeg,txt=caption' --out small/\n",
    .add_options =
        [](CLI::App& app, ReshapeFlags& flags) {
          app.add_option("--fields", flags.options.fields, "FIELD, NEW=OLD, or NEW=OLD1;OLD2")
              ->required()
              ->type_name("RULES");
          add_on_missing(app, flags);
        },
    .take = take_fields};

void add_join(CLI::App& app, ReshapeFlags& flags) {
  app.add_option("--on-missing", flags.on_missing,
                 "A set lacks the key, or ends before others: error, inner (leave the sample out), "
                 "left (as the first set), outer (all that any has)")
      ->type_name("POLICY");
  app.add_option("--on-conflict", flags.on_conflict,
                 "Two sets have the same field: error, first, last")
      ->type_name("POLICY");
}

Status take_join(const ReshapeFlags& flags, ReshapeOptions& options) {
  using Conflict = FieldMap::Conflict;
  HR_CHECK(
      choose("--on-conflict", flags.on_conflict,
             {{"error", Conflict::kError}, {"first", Conflict::kFirst}, {"last", Conflict::kLast}},
             &options.on_conflict));
  return choose("--on-missing", flags.on_missing,
                {{"error", JoinMissing::kError},
                 {"inner", JoinMissing::kInner},
                 {"left", JoinMissing::kLeft},
                 {"outer", JoinMissing::kOuter}},
                &options.join);
}

constexpr ReshapeVerb kRowJoin{
    .name = "join",
    .summary = "Make one sample of those that have the same key in several data sets",
    .examples =
        "headrace join images/ captions/ --out both/\n"
        "headrace join images/ labels/ --on-missing inner --out labelled/\n",
    .add_options = add_join,
    .take = take_join};

constexpr ReshapeVerb kRowZip{
    .name = "zip",
    .summary = "Make one sample of those at the same position in several data sets",
    .examples = "headrace zip images/ features/ --out both/\n",
    .add_options = add_join,
    .take = take_join};

constexpr ReshapeVerb kRowMap{
    .name = "map",
    .summary = "Run a command or a Python function on each sample",
    .examples =
        "headrace map shards/ --command 'convert sample.jpg -resize 256 sample.jpg' --out small/\n"
        "headrace map shards/ --python captions:clean --on-error skip --out clean/\n",
    .add_options = add_map,
    .take = take_map};

template <const ReshapeVerb& row>
Action setup(CLI::App& app) {
  const auto flags = add_reshape(app, row, true);
  return [flags](Context& context) { return run_reshape(*flags, context); };
}

template <const ReshapeVerb& row>
constexpr Verb verb() {
  return {.name = row.name,
          .summary = row.summary,
          .examples = row.examples,
          .setup = setup<row>,
          .stoppable = true,
          .group = kReshapeGroup};
}

}  // namespace

const Verb kShuffle = verb<kRowShuffle>();
const Verb kSplit = verb<kRowSplit>();
const Verb kMerge = verb<kRowMerge>();
const Verb kConcat = verb<kRowConcat>();
const Verb kConvert = verb<kRowConvert>();
const Verb kSelect = verb<kRowSelect>();
const Verb kSort = verb<kRowSort>();
const Verb kDedupe = verb<kRowDedupe>();
const Verb kRename = verb<kRowRename>();
const Verb kProject = verb<kRowProject>();
const Verb kJoin = verb<kRowJoin>();
const Verb kZip = verb<kRowZip>();
const Verb kMap = verb<kRowMap>();

std::span<const ReshapeVerb* const> reshape_verbs() {
  static constexpr const ReshapeVerb* kRows[] = {
      &kRowShuffle, &kRowSplit,   &kRowMerge, &kRowConcat,  &kRowSelect, &kRowSort, &kRowDedupe,
      &kRowRename,  &kRowProject, &kRowJoin,  &kRowConvert, &kRowMap,    &kRowZip};
  return kRows;
}

}  // namespace headrace::cli
