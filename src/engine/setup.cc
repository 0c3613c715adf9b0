#include "engine/setup.h"

#include <algorithm>
#include <set>
#include <thread>

#include "base/try.h"
#include "base/units.h"
#include "engine/document_pass.h"
#include "plan/manifest.h"

namespace headrace {
namespace {

constexpr unsigned kMaxDefaultThreads = 16;
constexpr unsigned kDefaultPrefetch = 4;
constexpr uint64_t kMostBucketSteps = uint64_t{1} << 20;

Error usage(std::string message, std::string hint = "") {
  return {.code = Code::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

/// Rows of packed documents are no samples: what deals or mixes samples has no meaning for them.
Status check_packing(const LoaderOptions& o) {
  const auto excluded = [](const std::string& what) {
    return usage("documents cannot be packed by their lengths with " + what,
                 "Leave that out, or pack them as they come: pack_tokens without by=.");
  };
  if (o.sets.size() > 1) return excluded("a mixture");
  if (o.bucket_steps > 0) return excluded("buckets by length");
  if (o.mix) return excluded("mixed rows");
  return {};
}

Status check(const LoaderOptions& o) {
  if (o.sets.empty()) return usage("a loader needs a data set");
  if (o.sets.size() > 1 && o.weights.size() != o.sets.size())
    return usage("a mixture of " + std::to_string(o.sets.size()) + " data sets has " +
                 std::to_string(o.weights.size()) + " weights");
  if ((o.rows == 0) == (o.total == 0))
    return usage("the batch size must be given once: as rows a rank, or as the total");
  if (o.world == 0 || o.rank >= o.world)
    return usage("rank " + std::to_string(o.rank) + " is not in a world of " +
                 std::to_string(o.world));
  if (!o.audit_folder.empty() && o.sets.size() > 1)
    return usage("the audit is for one data set, not for a mixture",
                 "In a mixture each data set counts its own epochs.");
  if (o.bucket_steps > kMostBucketSteps || (o.bucket_steps > 0 && !o.shuffle))
    return usage("buckets by length need shuffle, and at most 2^20 steps");
  if (o.pack_length > 0) HR_CHECK(check_packing(o));
  if (o.workers == 0 || o.worker >= o.workers)
    return usage("worker " + std::to_string(o.worker) + " is not one of " +
                 std::to_string(o.workers));
  return {};
}

/// Every field of the data sets, as bytes.
std::vector<FieldSpec> raw_fields(const std::vector<std::shared_ptr<const Dataset>>& sets) {
  std::set<std::string> names;
  for (const auto& set : sets)
    for (const FieldSummary& field : set->manifest().fields) names.insert(field.name);
  std::vector<FieldSpec> fields;
  fields.reserve(names.size());
  for (const std::string& name : names)
    fields.push_back({.name = name, .sources = {name}, .kind = BytesSpec{}, .fallback = ""});
  return fields;
}

Result<std::vector<ColumnPlan>> make_columns(const std::vector<FieldSpec>& fields) {
  std::vector<ColumnPlan> columns;
  std::set<std::string> names;
  for (const FieldSpec& field : fields) {
    if (!names.insert(field.name).second)
      return usage("there are two columns named '" + field.name + "'");
    HR_TRY(auto decoder, make_decoder(field));
    const bool raw = std::holds_alternative<BytesSpec>(field.kind);
    columns.push_back({.spec = field, .decoder = std::move(decoder), .raw = raw});
  }
  return columns;
}

/// Masks and boxes go with a picture of the same recipe.
Status check_links(const LoaderOptions& o, const std::vector<FieldSpec>& fields) {
  for (const FieldSpec& field : fields) {
    const auto link = picture_link(field.kind);
    if (!link) continue;
    const auto picture = std::ranges::find(fields, link->column, &FieldSpec::name);
    const auto* spec = picture == fields.end() ? nullptr : std::get_if<ImageSpec>(&picture->kind);
    if (spec == nullptr || spec->ops != link->ops)
      return usage("column '" + field.name + "' goes with a picture in column '" + link->column +
                   "', which is not there or has other operations");
    if (o.on_error == OnError::kGray)
      return usage(
          "a gray picture says nothing of its size, which column '" + field.name + "' needs",
          "Take on_error=\"skip\".");
    if (o.mix && o.mix->image == link->column)
      return usage("rows of '" + link->column + "' cannot be mixed, as column '" + field.name +
                   "' goes with it");
  }
  return {};
}

std::string missing_sources(const FieldSpec& field) {
  std::string text;
  for (const std::string& source : field.sources) text += (text.empty() ? "'" : "' or '") + source;
  return text + "'";
}

/// A column that no sample can fill is a mistake to be told before the first batch.
Status check_sources(const std::vector<FieldSpec>& fields,
                     const std::vector<std::shared_ptr<const Dataset>>& sets) {
  for (const auto& set : sets) {
    const auto& known = set->manifest().fields;
    if (set->size() == 0) continue;
    for (const FieldSpec& field : fields) {
      const bool found = std::ranges::any_of(field.sources, [&](const std::string& source) {
        return std::ranges::find(known, source, &FieldSummary::name) != known.end();
      });
      if (found || field.fallback) continue;
      std::string names;
      for (const FieldSummary& f : known) names += (names.empty() ? "" : ", ") + f.name;
      return usage("column '" + field.name + "' is made from " + missing_sources(field) +
                       ", but '" + set->name() + "' has no such field",
                   "Its fields are: " + names + ".");
    }
  }
  return {};
}

/// Rows are packed of tokens: what the field was measured in, or the number that it says.
Status check_counts_tokens(const LoaderOptions& o, const LengthRule& rule) {
  if (rule.unit == Unit::kTokens || rule.unit == Unit::kValue) return {};
  const std::string field = rule.field.sources.empty() ? "FIELD" : rule.field.sources.front();
  return usage("by=\"" + o.pack_by + "\" does not say how many tokens a document has",
               "Pack the data set with --measure " + field + "=tokens, and give by=\"" + field +
                   ":tokens\"; or leave by= out.");
}

/// In a unit, all samples must have been measured when they were packed.
Status check_lengths(const LoaderOptions& o) {
  const LengthRule rule = length_rule(o);
  const auto& sets = o.sets;
  HR_CHECK(check_sources({rule.field}, sets));
  if (o.pack_length > 0) HR_CHECK(check_counts_tokens(o, rule));
  if (rule.unit == Unit::kNone) return {};
  for (const auto& set : sets)
    for (const FieldSummary& field : set->manifest().fields) {
      if (field.unit == rule.unit) continue;
      if (std::ranges::find(rule.field.sources, field.name) == rule.field.sources.end()) continue;
      const std::string unit(unit_name(rule.unit));
      return usage(
          "the samples of '" + set->name() + "' were not all measured: '" + field.name + "' in " +
              unit,
          "Pack them with --measure " + field.name + "=" + unit +
              (o.pack_length > 0 ? ", or leave by= out." : ", or bucket by the field's bytes."));
    }
  return {};
}

OrderOptions order_options(const LoaderOptions& o) {
  OrderOptions order;
  order.shuffle = o.shuffle;
  order.seed = o.seed;
  order.global_batch = o.total;
  order.lanes = o.shuffle ? (o.lanes > 0 ? o.lanes : default_lanes(o.world, o.total)) : 1;
  order.window_bytes = o.window_bytes;
  order.tail = o.tail;
  order.bucket_steps = o.bucket_steps;
  order.bucket_by = o.bucket_by;
  order.pack_length = o.pack_length;
  order.pack_by = o.pack_by;
  return order;
}

/// Bytes of the windows that this rank reads at once, of all its lanes.
uint64_t windows_bytes(const Setup& setup) {
  const OrderOptions& order = setup.schedule->options().order;
  const uint64_t lanes = order.lanes / setup.options.world;
  uint64_t bytes = 0;
  for (const auto& set : setup.options.sets)
    bytes += std::min(lanes * order.window_bytes, set->table().total_bytes() / setup.options.world);
  return bytes;
}

}  // namespace

Result<std::shared_ptr<const Schedule>> make_schedule(
    const LoaderOptions& options, ScheduleOptions order,
    std::shared_ptr<const DocumentLengths> known) {
  std::vector<std::shared_ptr<const ShardTable>> tables;
  for (const auto& set : options.sets)
    tables.emplace_back(set, &set->table());  // shares the data set's life
  HR_TRY(auto schedule, Schedule::create(tables, std::move(order)));
  if (options.pack_length == 0) return schedule;
  if (!known || known->order().lanes() != schedule->order(0)->lanes()) {
    HR_TRY(known, read_document_lengths(options, schedule->order(0)));
  }
  return Schedule::packed(*schedule, std::move(known));
}

LengthRule length_rule(const LoaderOptions& options) {
  const bool packs = options.pack_length > 0;
  std::string_view fields = packs ? options.pack_by : options.bucket_by;
  const size_t colon = fields.rfind(':');
  const auto unit = colon == fields.npos ? std::nullopt : parse_unit(fields.substr(colon + 1));
  if (unit) fields = fields.substr(0, colon);
  return {.field = {.name = packs ? "the length of pack_tokens()" : "the length of bucket()",
                    .sources = parse_sources(fields),
                    .kind = BytesSpec{},
                    .fallback = {}},
          .unit = unit.value_or(Unit::kNone)};
}

Result<std::optional<RowMixer>> make_mixer(const Setup& setup, const OrderOptions& order,
                                           const EpochSteps& steps) {
  const LoaderOptions& o = setup.options;
  if (!o.mix) return std::optional<RowMixer>();
  const std::string world = std::to_string(o.world) + " ranks";
  if (o.world > 1 && steps.lanes() % o.world != 0)
    return usage("rows are mixed inside lanes, and " + world + " cut the " +
                     format_count(steps.lanes()) + " lanes",
                 "Shuffle, with lanes= a multiple of the number of ranks.");
  if (o.world > 1 && order.tail == Tail::kShort)
    return usage("rows are mixed inside lanes, and " + world + " cut those of a short tail",
                 "Take tail=\"pad\" or \"drop\".");
  HR_TRY(RowMixer mixer,
         RowMixer::create(*o.mix, setup.columns, steps.segments().back().total / steps.lanes(),
                          order.seed, o.world));
  return std::optional<RowMixer>(std::move(mixer));
}

Result<Setup> make_setup(LoaderOptions options) {
  HR_CHECK(check(options));
  Setup setup;
  if (options.total == 0) options.total = options.rows * options.world;
  if (options.threads == 0)
    options.threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMaxDefaultThreads);
  if (options.prefetch == 0) options.prefetch = kDefaultPrefetch;
  setup.fields = options.fields.empty() ? raw_fields(options.sets) : options.fields;
  HR_CHECK(check_sources(setup.fields, options.sets));
  HR_CHECK(check_links(options, setup.fields));
  HR_TRY(setup.columns, make_columns(setup.fields));
  if (options.bucket_steps > 0 || options.pack_length > 0) HR_CHECK(check_lengths(options));

  ScheduleOptions order{.order = order_options(options), .weights = {}, .epoch_samples = 0};
  if (!options.weights.empty()) {
    HR_TRY(auto counts, mixture_counts(options.weights));
    order.weights = {{.from = 0, .counts = std::move(counts)}};
    order.epoch_samples = options.mixture_steps * options.total;
  }
  HR_TRY(setup.schedule, make_schedule(options, std::move(order)));
  setup.options = std::move(options);
  setup.span_memory = std::make_shared<SpanMemory>(setup.options.memory_bytes);
  if (setup.options.mix) {
    const OrderOptions& made = setup.schedule->options().order;
    HR_TRY(const EpochSteps steps,
           EpochSteps::create(setup.schedule->epoch_samples(), made.lanes, made.tail,
                              {{.from = 0, .total = made.global_batch}}));
    HR_TRY([[maybe_unused]] const auto mixer, make_mixer(setup, made, steps));
  }
  return setup;
}

std::optional<FetchOptions> fetch_options(const Setup& setup) {
  const LoaderOptions& o = setup.options;
  const auto is_remote = [](const auto& set) { return set->is_remote(); };
  if (std::ranges::none_of(o.sets, is_remote)) return std::nullopt;
  const OrderOptions& order = setup.schedule->options().order;
  // A part is read whole only where all of its rows come to this loader.
  const bool whole_lanes = order.shuffle && order.lanes % o.world == 0 && o.workers == 1;
  return FetchOptions{.whole_parts = whole_lanes && windows_bytes(setup) * 4 <= o.memory_bytes * 3,
                      .memory = setup.span_memory};
}

std::string tail_sentence(const Schedule& schedule, uint64_t total) {
  const uint64_t rows = schedule.epoch_rows();
  const uint64_t left = rows % total;
  std::string what = format_count(rows) + " samples";
  if (schedule.is_packed())
    what = format_count(schedule.epoch_samples()) + " documents of " +
           format_count(schedule.packing().tokens()) + " tokens in " + format_count(rows) +
           " rows of " + format_count(schedule.packing().length());
  std::string text =
      what + " an epoch make " + format_count(rows / total) + " steps of " + format_count(total);
  if (left == 0) return text + " and leave none over.";
  text += ", and leave " + format_count(left) + " over: ";
  switch (schedule.options().order.tail) {
    case Tail::kPad:
      return text + "one more step has them and " + format_count(total - left) +
             " rows repeated from the epoch's beginning, marked as padded.";
    case Tail::kShort:
      return text + "one more, shorter step has them.";
    case Tail::kDrop:
      return text + "they are dropped, others each epoch if shuffled.";
  }
  return text;
}

namespace {

std::string explain_lanes(const Setup& setup) {
  const LoaderOptions& o = setup.options;
  const OrderOptions& order = setup.schedule->options().order;
  if (!order.shuffle)
    return "No shuffle: one lane, in the order of the manifest; a rank reads its own "
           "samples inside each block.\n";
  std::string text;
  for (size_t s = 0; s < setup.schedule->sets(); ++s) {
    const Order& lanes = *setup.schedule->order(s);
    text += o.sets[s]->name() + ": " + format_count(order.lanes) + " lanes of about " +
            format_count(lanes.samples() / order.lanes) +
            " samples; samples are mixed in windows of " + format_count(lanes.window()) + " (" +
            format_bytes(order.window_bytes) + ")\n";
  }
  if (order.lanes % o.world == 0)
    return text + "Each rank reads " + format_count(order.lanes / o.world) +
           " whole lanes: no sample's block is read by two ranks, but for blocks that a lane's "
           "edge cuts.\n";
  return text + "The world of " + std::to_string(o.world) + " does not divide the " +
         format_count(order.lanes) +
         " lanes: ranks share the lanes at their edges, and read single samples of their "
         "blocks; no byte of a sample is read twice.\n";
}

std::string explain_reads(const Setup& setup) {
  const std::string memory = format_bytes(setup.options.memory_bytes);
  const auto fetch = fetch_options(setup);
  if (!fetch)
    return "Samples of files are read one by one, straight into their batch; the page cache holds "
           "the blocks. Batches in flight may take " +
           memory + ".\n";
  const std::string what =
      fetch->whole_parts
          ? "Blocks of remote shards are fetched ahead in whole parts, every byte once an epoch."
          : "Of remote shards the rows' own bytes are fetched ahead, neighbours together: this "
            "rank does not have its lanes to itself, or " +
                format_bytes(windows_bytes(setup)) +
                " of windows do not fit into three quarters of memory=, so there are more "
                "requests.";
  return what + " Batches in flight may take " + memory +
         ", and what is fetched ahead as much again.\n";
}

}  // namespace

std::string explain(const Setup& setup) {
  return tail_sentence(*setup.schedule, setup.schedule->options().order.global_batch) + "\n" +
         explain_lanes(setup) + explain_reads(setup);
}

}  // namespace headrace
