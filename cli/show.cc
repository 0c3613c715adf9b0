// headrace show: the very batch that a rank will get at a step, as a sheet of pictures with their
// keys and labels.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include "base/try.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/contact_sheet.h"
#include "cli/decode_recipe.h"
#include "cli/row_pictures.h"
#include "cli/sample_options.h"
#include "cli/verbs.h"
#include "headrace/loader.h"
#include "headrace/store.h"
#include "job/picture_pass.h"
#include "plan/manifest.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kThumbnail = 160;
constexpr uint64_t kRows = 32;
constexpr uint64_t kMostRows = 1 << 16;

struct Options {
  std::vector<std::string> locations;
  std::string key_rule = "webdataset";
  std::string cache = {};
  std::string out;
  std::string image;
  std::string label;
  std::string decode;
  std::optional<uint64_t> seed;
  uint64_t lanes = 0;
  std::string window = "32MiB";
  std::string bucket;
  uint64_t bucket_window = 32;
  uint64_t epoch = 0;
  uint64_t step = 0;
  uint64_t rows = 0;
  uint64_t total = 0;
  std::string tail = "pad";
  std::string on_error = "skip";  // what cannot be decoded is listed beside the sheet
  uint32_t rank = 0;
  uint32_t world = 1;
  int columns = 0;
};

/// The picture fields of a data set: those that are asked for, or all by their names.
Result<std::vector<std::string>> image_fields(const Options& o, const Manifest& manifest) {
  if (!o.image.empty()) return parse_sources(o.image);
  std::vector<std::string> found;
  std::string all;
  for (const FieldSummary& field : manifest.fields) {
    all += " " + field.name;
    if (is_picture_name("." + field.name)) found.push_back(field.name);
  }
  if (!found.empty()) return found;
  return Error{.code = Code::kUsage,
               .message = "no field has the name of a picture; there are:" + all,
               .origin = {},
               .hint = "Name one by --image FIELD."};
}

/// The label's field, or "" if there is none: `cls` where it is there and nothing is asked for.
std::string label_field(const Options& o, const Manifest& manifest) {
  if (!o.label.empty()) return o.label;
  for (const FieldSummary& field : manifest.fields)
    if (field.name == "cls") return field.name;
  return "";
}

Result<ImageSpec> image_spec(const Options& o) {
  HR_TRY(ImageSpec image, parse_recipe(o.decode));
  if (o.decode.empty()) image.ops = {Resize{.by = Resize::By::longer, .height = kThumbnail}};
  return image;
}

/// Which rows the batch has, and in which order.
Status take_order(const Options& o, LoaderOptions& options) {
  options.shuffle = o.seed.has_value();
  options.seed = o.seed.value_or(0);
  options.lanes = o.lanes;
  HR_TRY(options.window_bytes, parse_bytes(o.window));
  options.bucket_by = o.bucket;
  options.bucket_steps = o.bucket.empty() ? 0 : o.bucket_window;
  options.rows = o.rows == 0 && o.total == 0 ? kRows : o.rows;
  options.total = o.total;
  HR_TRY(options.tail, parse_tail(o.tail));
  options.rank = o.rank;
  options.world = o.world;
  if (std::max(options.rows, options.total / o.world) <= kMostRows) return {};
  return Error{.code = Code::kUsage,
               .message = "a sheet of more than " + format_number_of(kMostRows, "row"),
               .origin = {},
               .hint = {}};
}

Result<LoaderOptions> loader_options(const Options& o, const ImageSpec& image,
                                     std::shared_ptr<const Dataset> set, const Context& context) {
  LoaderOptions options;
  HR_TRY(std::vector<std::string> sources, image_fields(o, set->manifest()));
  options.fields.push_back(
      {.name = "image", .sources = std::move(sources), .kind = image, .fallback = {}});
  if (const std::string label = label_field(o, set->manifest()); !label.empty())
    options.fields.push_back(
        {.name = "label", .sources = {label}, .kind = BytesSpec{}, .fallback = ""});
  options.sets = {std::move(set)};
  HR_CHECK(take_order(o, options));
  options.threads = context.threads;
  options.prefetch = 1;
  HR_CHECK(choose("--on-error", o.on_error,
                  {{"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"gray", OnError::kGray}},
                  &options.on_error));
  options.max_errors = ~uint64_t{0};
  return options;
}

/// "3 tiger" for a class number of the manifest; else the text as it is.
std::string label_of(const Batch& batch, size_t row, const Manifest& manifest) {
  if (batch.columns.size() < 2) return "";
  const Column& column = batch.columns[1];
  const auto begin = static_cast<size_t>(column.offsets[row]);
  const auto end = static_cast<size_t>(column.offsets[row + 1]);
  std::string text(as_text(ByteView(column.data).subspan(begin, end - begin)));
  size_t number = 0;
  const auto [stopped, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_class = problem == std::errc() && stopped == text.data() + text.size();
  if (is_class && number < manifest.classes.size()) text += " " + manifest.classes[number];
  return text;
}

std::string heading(const Options& o, const Batch& batch, uint64_t steps, const Dataset& set) {
  return set.name() + "   epoch " + std::to_string(batch.epoch) + "   step " +
         std::to_string(batch.step) + " of " + std::to_string(steps) + "   rank " +
         std::to_string(o.rank) + " of " + std::to_string(o.world) + "   " +
         (o.seed ? "seed " + std::to_string(*o.seed) : "not shuffled") +
         (o.decode.empty() ? "" : "   " + o.decode);
}

Status write_out(const std::string& out, const std::string& png, Context& context) {
  if (out == "-") {
    context.out.text(png);
    return {};
  }
  const fs::path path(out);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  HR_TRY(const auto store, open_store(folder, Durability::kFast));
  return put(*store, path.filename().string(), as_bytes(png));
}

void write_json(const Options& o, const Batch& batch, const std::vector<Tile>& tiles,
                const Sheet& sheet, const Dataset& set, Context& context) {
  std::string text;
  Json json(text);
  json.object().member("schema", "headrace.show/1").member("out", o.out);
  json.member("epoch", batch.epoch).member("step", batch.step);
  json.member("rank", o.rank).member("world", o.world).key("rows").array();
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const Picture& picture = tiles[i].picture;
    json.object().member("key", tiles[i].lines[0]).member("label", tiles[i].lines[1]);
    json.member("position", batch.rows[i].position).member("padded", batch.rows[i].padded);
    json.member("shard", set.origin(batch.rows[i].id).shard);
    json.key("place").object();
    json.member("x", static_cast<unsigned>(sheet.places[i].x));
    json.member("y", static_cast<unsigned>(sheet.places[i].y));
    json.member("width", static_cast<unsigned>(picture.width));
    json.member("height", static_cast<unsigned>(picture.height)).end().end();
  }
  json.end().key("errors").array();
  for (const RowError& error : batch.errors)
    json.object()
        .member("position", error.row.position)
        .member("message", error_line(error.error))
        .end();
  json.end().end();
  context.out.text(text + "\n");
}

Result<std::shared_ptr<const Batch>> take_batch(Loader& loader, const Options& o) {
  if (o.step >= loader.steps())
    return Error{.code = Code::kNotFound,
                 .message = "there is no step " + std::to_string(o.step) + ": an epoch has " +
                            std::to_string(loader.steps()) + ", counted from 0",
                 .origin = {},
                 .hint = {}};
  HR_TRY(const std::string state, loader.state_at(o.epoch, o.step));
  HR_CHECK(loader.load_state(state));
  return loader.next();
}

Result<int> run(const Options& o, Context& context) {
  HR_TRY(const auto set,
         Dataset::open(o.locations, {.key_rule = o.key_rule, .cache_folder = o.cache}));
  HR_TRY(const ImageSpec image, image_spec(o));
  HR_TRY(LoaderOptions options, loader_options(o, image, set, context));
  HR_TRY(const auto loader, Loader::create(std::move(options)));
  HR_TRY(const auto batch, take_batch(*loader, o));
  const RowPictures pictures(batch->columns[0], image);
  std::vector<Tile> tiles;
  tiles.reserve(batch->rows.size());
  for (size_t i = 0; i < batch->rows.size(); ++i) {
    HR_TRY(std::string key, set->key(batch->rows[i].id));
    tiles.push_back({.picture = pictures.row(i),
                     .lines = {std::move(key), label_of(*batch, i, set->manifest())},
                     .faint = batch->rows[i].padded});
  }
  HR_TRY(const Sheet sheet,
         draw_sheet(heading(o, *batch, loader->steps(), *set), tiles, o.columns));
  HR_CHECK(write_out(o.out, sheet.png, context));
  if (context.json && o.out != "-") write_json(o, *batch, tiles, sheet, *set, context);
  for (const RowError& error : batch->errors) context.note("left out: " + error_line(error.error));
  context.note(format_number_of(tiles.size(), "row") + " of step " + std::to_string(o.step) +
               " of " + std::to_string(loader->steps()) + " drawn to " + o.out);
  return 0;
}

void add_batch_options(CLI::App& app, Options& o) {
  const std::string group = "Batch";
  const auto number = [&app, &group](const char* name, auto& into, const char* what,
                                     uint64_t least) {
    return app.add_option(name, into, what)
        ->type_name("N")
        ->check(whole_number(least))
        ->group(group);
  };
  const auto word = [&app, &group](const char* name, auto& into, const char* what,
                                   const char* type) {
    return app.add_option(name, into, what)->type_name(type)->group(group);
  };
  number("--epoch", o.epoch, "From 0", 0);
  number("--step", o.step, "Of the epoch, from 0", 0);
  CLI::Option* seed = number("--seed", o.seed, "Of .shuffle(); not shuffled without", 0);
  number("--lanes", o.lanes, "Of .shuffle() (chosen from world and batch)", 0)->needs(seed);
  word("--window", o.window, "Of .shuffle() (32MiB)", "SIZE")->needs(seed);
  CLI::Option* bucket = word("--bucket", o.bucket, "by= of .bucket()", "FIELD")->needs(seed);
  number("--bucket-window", o.bucket_window, "Steps, window= of .bucket() (32)", 1)->needs(bucket);
  CLI::Option* rows = number("--batch", o.rows, "Rows a rank (32)", 1);
  number("--total", o.total, "Rows of all ranks together", 1)->excludes(rows);
  word("--tail", o.tail, "pad, short or drop (pad)", "WORD");
  number("--rank", o.rank, "Whose rows (0)", 0);
  number("--world", o.world, "Ranks (1)", 1);
  word("--on-error", o.on_error, "raise, skip or gray (skip)", "WORD");
}

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("DATASET", o->locations, "Folder, manifest, shards, brace range, glob or @list")
      ->required()
      ->type_name("");
  app.add_option("-o,--out", o->out, "The sheet: a PNG file, or - for standard output")
      ->required()
      ->type_name("FILE");

  add_batch_options(app, *o);

  const std::string pictures = "Pictures";
  app.add_option("--image", o->image, "The picture's field, as jpg;png (those named so)")
      ->type_name("FIELDS")
      ->group(pictures);
  app.add_option("--label", o->label, "The field under the picture (cls)")
      ->type_name("FIELD")
      ->group(pictures);
  app.add_option("--decode", o->decode,
                 "As in Python: \"random_resized_crop(224, scale=(0.2, 1)), flip\"; thumbnails "
                 "without")
      ->type_name("RECIPE")
      ->group(pictures);
  app.add_option("--columns", o->columns, "Pictures side by side")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->group(pictures);
  app.add_option("--cache", o->cache, "Folder of the node's cache (HEADRACE_CACHE)")
      ->type_name("FOLDER");
  app.add_option("--key", o->key_rule,
                 "Key rule without a manifest: webdataset, base, path, flat, REGEX")
      ->type_name("RULE");
  return [o](Context& context) { return run(*o, context); };
}

}  // namespace

const Verb kShow{
    .name = "show",
    .summary = "Draw the very batch that a rank gets, with keys and labels, to a PNG file",
    .examples =
        "headrace show shards/ --out sheet.png\n"
        "headrace show shards/ --seed 7 --epoch 2 --step 40 --out sheet.png\n"
        "headrace show shards/ --seed 7 --decode 'random_resized_crop=224, flip' -o sheet.png\n"
        "headrace show shards/ --decode 'resize_shorter=256, center_crop=224' --out sheet.png\n"
        "headrace show shards/ --seed 7 --batch 64 --rank 1 --world 8 --out rank-1.png\n",
    .setup = setup};

}  // namespace headrace::cli
