#include "job/survey.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/try.h"
#include "base/units.h"
#include "format/shard_index.h"
#include "plan/manifest.h"
#include "plan/shard_table.h"

namespace headrace {
namespace {

constexpr uint64_t kLabelBytes = 64;      // longer is no class label
constexpr size_t kMostClasses = 100'000;  // more is no class field
constexpr double kUneven = 1.5;           // largest shard to median, worth a word
constexpr size_t kMissingNamed = 3;       // fields named one by one; more are optional by habit
constexpr const char* kDefaultField = "cls";

template <typename T>
Spread spread_of(std::vector<T> values) {
  if (values.empty()) return {};
  const auto [min, max] = std::ranges::minmax(values);
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return {min, *middle, max};
}

uint64_t members_expected(const Manifest& manifest) {
  uint64_t members = 0;
  for (const FieldSummary& field : manifest.fields) members += field.count;
  return members;
}

/// Medians from the index; counts, sums and extremes are the manifest's.
Status survey_fields(const Dataset& set, Survey& out, Progress& progress) {
  const uint64_t stride = 1 + members_expected(set.manifest()) / kSurveyMembers;
  out.exact_medians = stride == 1;
  std::map<std::string, std::vector<uint64_t>> sizes;
  for (uint64_t s = 0; s < set.shards(); s += stride) {
    if (progress.stopped()) return Progress::interrupted();
    HR_TRY(const auto index, set.index(static_cast<uint32_t>(s)));
    std::vector<std::vector<uint64_t>*> columns;
    for (const std::string& field : index->fields()) columns.push_back(&sizes[field]);
    for (uint32_t i = 0; i < index->size(); ++i)
      for (const IndexMember& member : index->members(i))
        columns[member.field]->push_back(member.size);
  }
  for (const FieldSummary& field : set.manifest().fields) {
    Spread size = spread_of(std::move(sizes[field.name]));
    size.min = field.min_bytes;
    size.max = field.max_bytes;
    out.fields.push_back({field.name, field.count, field.bytes, size});
  }
  std::ranges::sort(out.fields, {}, &FieldSurvey::name);
  return {};
}

void survey_shards(const ShardTable& table, Survey& out) {
  out.shard_samples = spread_of(table.samples);
  out.shard_bytes = spread_of(table.bytes);
  out.block_samples = spread_of(table.block_samples);
  for (uint64_t s = 0; s < table.size(); ++s)
    out.blocks += (uint64_t{table.samples[s]} + table.block_samples[s] - 1) /
                  std::max<uint32_t>(1, table.block_samples[s]);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// Counts labels in data set order.
class LabelCounter {
 public:
  explicit LabelCounter(std::string field) { out_.field = std::move(field); }

  Status add(std::string_view label, const Origin& origin) {
    const auto [it, is_new] = numbers_.emplace(label, counts_.size());
    if (is_new) counts_.emplace_back();
    if (counts_.size() > kMostClasses)
      return Error{.code = Code::kUsage,
                   .message = "the field '" + out_.field + "' has more than " +
                              format_count(kMostClasses) + " different values: it is no class",
                   .origin = origin};
    ++counts_[it->second];
    if (out_.labelled++ > 0 && it->second == last_) ++alike_;
    last_ = it->second;
    return {};
  }

  ClassSurvey finish(const std::vector<std::string>& names) {
    const auto total = static_cast<double>(std::max<uint64_t>(1, out_.labelled));
    for (const auto& [label, number] : numbers_) {
      const double share = static_cast<double>(counts_[number]) / total;
      out_.neighbours_expected += share * share;
      out_.classes.push_back({label, class_name(label, names), counts_[number]});
    }
    std::ranges::sort(out_.classes, [](const ClassCount& a, const ClassCount& b) {
      return std::pair(b.count, std::string_view(a.label)) <
             std::pair(a.count, std::string_view(b.label));
    });
    if (out_.labelled > 1)
      out_.neighbours_alike = static_cast<double>(alike_) / static_cast<double>(out_.labelled - 1);
    return std::move(out_);
  }

 private:
  static std::string class_name(const std::string& label, const std::vector<std::string>& names) {
    if (label.empty() || label.size() > 9 ||
        label.find_first_not_of("0123456789") != std::string::npos)
      return {};
    const size_t number = std::stoul(label);
    return number < names.size() ? names[number] : std::string();
  }

  ClassSurvey out_;
  std::unordered_map<std::string, size_t> numbers_;
  std::vector<uint64_t> counts_;
  size_t last_ = 0;
  uint64_t alike_ = 0;
};

Result<ClassSurvey> survey_classes(const Dataset& set, const std::string& field,
                                   Progress& progress) {
  LabelCounter counter(field);
  std::string label;
  progress.total_items = set.size();
  for (uint32_t s = 0; s < set.shards(); ++s) {
    HR_TRY(const auto index, set.index(s));
    const int number = index->field_number(field);
    for (uint32_t i = 0; number >= 0 && i < index->size(); ++i) {
      if (progress.stopped()) return Progress::interrupted();
      const IndexMember* member = index->find(i, static_cast<uint32_t>(number));
      if (member == nullptr) continue;
      if (member->size > kLabelBytes)
        return Error{.code = Code::kUsage,
                     .message = "the field '" + field + "' is no class: it has " +
                                format_bytes(member->size),
                     .origin = set.origin({s, i})};
      HR_TRY(const auto source, set.source(s, *index, member->object));
      label.resize(member->size);
      HR_CHECK(source->read_at(member->offset, as_writable_bytes(label)));
      HR_CHECK(counter.add(trimmed(label), set.origin({s, i})));
    }
    progress.items += index->size();
  }
  return counter.finish(set.manifest().classes);
}

bool has_field(const Dataset& set, const std::string& name) {
  return std::ranges::find(set.manifest().fields, name, &FieldSummary::name) !=
         set.manifest().fields.end();
}

void add_hints(const Dataset& set, Survey& out) {
  const auto hint = [&out](std::string text) { out.hints.push_back(std::move(text)); };
  if (!set.has_manifest())
    hint(
        "There is no manifest: 'headrace index' makes one, so that opening costs nothing and "
        "damage is noticed.");
  const auto partial = [&set](const FieldSurvey& field) { return field.count != set.size(); };
  const auto partials = static_cast<size_t>(std::ranges::count_if(out.fields, partial));
  if (partials > kMissingNamed)
    hint(std::to_string(partials) + " of " + std::to_string(out.fields.size()) +
         " fields are missing in some samples.");
  else
    for (const FieldSurvey& field : out.fields)
      if (partial(field))
        hint("The field '" + field.name + "' is missing in " +
             format_number_of(set.size() - field.count, "sample") + ".");
  const bool archives = set.manifest().container != Container::kFiles;
  if (archives && set.shards() > 1 &&
      static_cast<double>(out.shard_bytes.max) >
          kUneven * static_cast<double>(out.shard_bytes.median))
    hint("The shards are uneven: the largest is " + format_bytes(out.shard_bytes.max) +
         ", the median " + format_bytes(out.shard_bytes.median) + ".");
  if (archives && set.shards() == 1 && set.manifest().bytes > uint64_t{1} << 30)
    hint("All samples are in one shard: several can be written, copied and checked in parallel.");
  if (out.classes && out.classes->classes.size() > 1 &&
      out.classes->neighbours_alike > (1 + out.classes->neighbours_expected) / 2)
    hint(
        "The samples are sorted by class: 'headrace pack --shuffle SEED' makes every shard a fair "
        "draw of the whole.");
}

}  // namespace

Result<Survey> survey(const Dataset& set, const SurveyOptions& options, Progress& progress) {
  Survey out;
  HR_CHECK(survey_fields(set, out, progress));
  survey_shards(set.table(), out);
  std::string field = options.class_field;
  if (field.empty() && set.size() <= kSurveyLabels && has_field(set, kDefaultField))
    field = kDefaultField;
  if (!field.empty() && !has_field(set, field))
    return Error{.code = Code::kNotFound,
                 .message = "no sample has a field '" + field + "'",
                 .origin = {.shard = set.name()}};
  if (!field.empty()) {
    auto classes = survey_classes(set, field, progress);
    // Nobody asked: a `cls` that holds no classes is none of our business.
    const bool asked = !options.class_field.empty();
    if (!classes.ok() && (asked || classes.error().code != Code::kUsage))
      return std::move(classes).error();
    if (classes.ok()) out.classes = std::move(*classes);
  }
  add_hints(set, out);
  return out;
}

}  // namespace headrace
