#include "job/samples.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/safe_path.h"
#include "base/try.h"
#include "base/units.h"
#include "format/key_rule.h"
#include "job/key_set.h"
#include "job/picture_pass.h"

namespace headrace {
namespace {

/// A file's claim to be a field of a sample.
struct Claim {
  uint32_t sample;
  uint32_t field;
  uint64_t file;
};

/// Up to three names of what a note counts.
class Examples {
 public:
  void add(std::string_view name) {
    if (count_++ < 3) names_ += (names_.empty() ? "" : ", ") + std::string(name);
  }
  uint64_t count() const { return count_; }
  std::string text() const { return names_ + (count_ > 3 ? ", …" : ""); }

 private:
  uint64_t count_ = 0;
  std::string names_;
};

std::string_view folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

class Grouper {
 public:
  Grouper(const Sources& sources, const PackOptions& options, KeyRule rule)
      : sources_(sources), options_(options), rule_(std::move(rule)) {}

  Result<SampleSet> run() {
    HR_CHECK(claim_files());
    for (const uint32_t sample : sort_claims()) HR_CHECK(settle_duplicates(sample));
    std::erase_if(claims_, [](const Claim& claim) { return claim.file == kDropped; });
    if (renamed_.count() > 0) {
      claims_.insert(claims_.end(), renamed_claims_.begin(), renamed_claims_.end());
      sort_claims();
      note(renamed_, "key", "claimed by files of several folders got a number");
    }
    HR_CHECK(settle_missing());
    HR_CHECK(make_samples());
    return std::move(set_);
  }

 private:
  std::string path(uint64_t file) const { return sources_.full_path(file); }
  std::string_view relative(uint64_t file) const { return sources_.files.path(file); }

  void note(const Examples& examples, const char* noun, const std::string& what) {
    if (examples.count() > 0)
      set_.notes.push_back(format_number_of(examples.count(), noun) + " " + what + ": " +
                           examples.text());
  }

  Status claim_files() {
    Examples no_part, not_wanted, dotted;
    KeyField name;
    for (size_t file = 0; file < sources_.files.size(); ++file) {
      HR_TRY(const bool taken, rule_.split(relative(file), name));
      if (!taken) {
        no_part.add(relative(file));
        continue;
      }
      if (!wanted(name.field)) {
        not_wanted.add(relative(file));
        continue;
      }
      if (is_picture_name(relative(file))) name.field = packed_field(options_.pictures, name.field);
      HR_CHECK(make_readable(file, name, dotted));
      if (keys_.size() == UINT32_MAX - 1)
        return Error{.code = Code::kUsage,
                     .message = "more than 4,294,967,294 samples in one data set",
                     .origin = {},
                     .hint = "Pack the folders one by one, as parts of a mixture."};
      const KeySet::Place place = keys_.add(name.key);
      if (place.is_new) first_file_.push_back(file);
      claims_.push_back({place.number, field_number(name.field), file});
    }
    note(no_part, "file", "outside the key rule '" + rule_.text() + "'");
    note(not_wanted, "file", "with other fields than --fields");
    note(dotted, "key", "with dots in the last part, written as '_' so that every reader agrees");
    return {};
  }

  bool wanted(const std::string& field) const {
    return options_.fields.empty() || std::find(options_.fields.begin(), options_.fields.end(),
                                                field) != options_.fields.end();
  }

  // A member is KEY.FIELD, and readers split it again at the first dot of its last part.
  Status make_readable(uint64_t file, KeyField& name, Examples& dotted) {
    const size_t base = name.key.rfind('/') + 1;
    if (name.key.find('.', base) != std::string::npos) {
      std::replace(name.key.begin() + static_cast<long>(base), name.key.end(), '.', '_');
      dotted.add(relative(file));
    }
    const std::string member = name.key + "." + name.field;
    HR_TRY(const bool splits, KeyRule().split(member, again_));
    if (is_safe_path(member) && splits && again_.key == name.key && again_.field == name.field)
      return {};
    return Error{.code = Code::kUsage,
                 .message = "'" + path(file) + "' would become the member '" + member +
                            "', which readers would not take for key '" + name.key +
                            "' and field '" + name.field + "'",
                 .origin = {},
                 .hint = "Rename the file or choose another --key rule."};
  }

  uint32_t field_number(const std::string& name) {
    for (uint32_t i = 0; i < set_.fields.size() && i < 8; ++i)
      if (set_.fields[i] == name) return i;
    const auto [place, is_new] =
        field_numbers_.emplace(name, static_cast<uint32_t>(set_.fields.size()));
    if (is_new) set_.fields.push_back(name);
    return place->second;
  }

  // By sample, then field name, then file. Returns the samples in which a field comes twice.
  std::vector<uint32_t> sort_claims() {
    std::vector<uint32_t> by_name(set_.fields.size());
    std::iota(by_name.begin(), by_name.end(), 0);
    std::sort(by_name.begin(), by_name.end(),
              [this](uint32_t a, uint32_t b) { return set_.fields[a] < set_.fields[b]; });
    std::vector<uint32_t> rank(by_name.size());
    for (uint32_t i = 0; i < by_name.size(); ++i) rank[by_name[i]] = i;
    std::sort(claims_.begin(), claims_.end(), [&rank](const Claim& a, const Claim& b) {
      if (a.sample != b.sample) return a.sample < b.sample;
      return a.field != b.field ? rank[a.field] < rank[b.field] : a.file < b.file;
    });
    std::vector<uint32_t> twice;
    for (size_t i = 1; i < claims_.size(); ++i)
      if (claims_[i].sample == claims_[i - 1].sample && claims_[i].field == claims_[i - 1].field &&
          (twice.empty() || twice.back() != claims_[i].sample))
        twice.push_back(claims_[i].sample);
    return twice;
  }

  std::pair<size_t, size_t> claims_of(uint32_t sample) const {
    const auto less = [](const Claim& a, uint32_t b) { return a.sample < b; };
    const auto begin = std::lower_bound(claims_.begin(), claims_.end(), sample, less);
    auto end = begin;
    while (end != claims_.end() && end->sample == sample) ++end;
    return {static_cast<size_t>(begin - claims_.begin()),
            static_cast<size_t>(end - claims_.begin())};
  }

  Status settle_duplicates(uint32_t sample) {
    const auto [begin, end] = claims_of(sample);
    if (options_.on_duplicate == OnDuplicate::kRename) return rename(sample, begin, end);
    for (size_t i = begin + 1; i < end; ++i) {
      Claim& earlier = claims_[i - 1];
      Claim& later = claims_[i];
      if (earlier.field != later.field) continue;
      if (options_.on_duplicate == OnDuplicate::kError) return duplicate(sample, earlier, later);
      if (options_.on_duplicate == OnDuplicate::kFirst) later.file = earlier.file;
      earlier.file = kDropped;
    }
    return {};
  }

  Error duplicate(uint32_t sample, const Claim& a, const Claim& b) const {
    return {.code = Code::kUsage,
            .message = "'" + path(a.file) + "' and '" + path(b.file) + "' both claim field '" +
                       set_.fields[a.field] + "' of sample '" + std::string(keys_[sample]) + "'",
            .origin = {},
            .hint = "Choose another --key rule, or --on-duplicate first, last or rename."};
  }

  // The files of each folder that claim this key become a sample of their own, in path order.
  Status rename(uint32_t sample, size_t begin, size_t end) {
    const std::string key(keys_[sample]);
    std::vector<Claim> files(claims_.begin() + static_cast<long>(begin),
                             claims_.begin() + static_cast<long>(end));
    std::sort(files.begin(), files.end(),
              [](const Claim& a, const Claim& b) { return a.file < b.file; });
    std::map<std::pair<uint32_t, std::string_view>, uint32_t> folders;
    std::map<std::pair<uint32_t, uint32_t>, const Claim*> taken;  // (sample, field)
    uint32_t suffix = 1;
    for (Claim& claim : files) {
      const uint32_t root = sources_.files[claim.file].root;
      const auto [place, is_new] =
          folders.emplace(std::pair(root, folder_of(relative(claim.file))), sample);
      if (is_new && folders.size() > 1) {
        std::string name;
        do name = key + "-" + std::to_string(suffix++);
        while (keys_.contains(name));
        place->second = keys_.add(name).number;
        first_file_.push_back(claim.file);
        renamed_.add(name);
      }
      claim.sample = place->second;
      const auto [other, first] = taken.emplace(std::pair(claim.sample, claim.field), &claim);
      if (!first) return duplicate(sample, *other->second, claim);
    }
    // The claims stay where they are, for the searches in them; their new selves come behind.
    for (size_t i = begin; i < end; ++i) claims_[i].file = kDropped;
    renamed_claims_.insert(renamed_claims_.end(), files.begin(), files.end());
    return {};
  }

  // Fields that a sample must have: --fields, or whatever any sample has.
  std::vector<uint32_t> required_fields() {
    std::vector<uint32_t> required;
    for (const std::string& field : options_.fields) required.push_back(field_number(field));
    if (options_.fields.empty()) {
      required.resize(set_.fields.size());
      std::iota(required.begin(), required.end(), 0);
    }
    return required;
  }

  Status settle_missing() {
    const bool demanded = !options_.fields.empty() || options_.on_missing.has_value();
    const OnMissing policy = options_.on_missing.value_or(OnMissing::kError);
    if (!demanded || policy == OnMissing::kIgnore) return {};
    if (policy == OnMissing::kError) HR_CHECK(check_fields());
    const std::vector<uint32_t> required = required_fields();

    std::vector<bool> drop_field(set_.fields.size());
    std::vector<bool> drop_sample(keys_.size());
    std::vector<bool> has(set_.fields.size());
    Examples lacking;
    for (size_t i = 0; i < claims_.size();) {
      const uint32_t sample = claims_[i].sample;
      std::fill(has.begin(), has.end(), false);
      const uint64_t file = claims_[i].file;
      for (; i < claims_.size() && claims_[i].sample == sample; ++i) has[claims_[i].field] = true;
      for (const uint32_t field : required) {
        if (has[field]) continue;
        if (policy == OnMissing::kError) return missing(sample, field, file);
        if (!drop_sample[sample]) lacking.add(keys_[sample]);
        drop_sample[sample] = true;
        drop_field[field] = true;
      }
    }
    if (policy == OnMissing::kWarn) {
      note(lacking, "sample", "without some field");
    } else if (policy == OnMissing::kDropSample) {
      note(lacking, "sample", "left out for the lack of a field");
      std::erase_if(claims_, [&](const Claim& claim) { return drop_sample[claim.sample]; });
    } else {
      Examples dropped;
      for (uint32_t field = 0; field < drop_field.size(); ++field)
        if (drop_field[field]) dropped.add(set_.fields[field]);
      note(dropped, "field", "left out, not being in every sample");
      std::erase_if(claims_, [&](const Claim& claim) { return drop_field[claim.field]; });
    }
    return {};
  }

  // Where no file has a wanted field, there may be no sample either that could lack it.
  Status check_fields() const {
    if (sources_.files.empty()) return {};
    for (const std::string& field : options_.fields)
      if (std::ranges::find(set_.fields, field) == set_.fields.end())
        return Error{.code = Code::kUsage,
                     .message = "no file has the field '" + field + "'",
                     .hint = "Fields are what follows the first dot of a name: see --key."};
    return {};
  }

  Error missing(uint32_t sample, uint32_t field, uint64_t file) const {
    return {.code = Code::kUsage,
            .message = "the sample '" + std::string(keys_[sample]) + "' has no field '" +
                       set_.fields[field] + "' ('" + path(file) + "' is there)",
            .origin = {},
            .hint = "Add it, or choose --on-missing warn, ignore, drop-sample or drop-field."};
  }

  Status make_samples() {
    const bool labels = options_.label_from != LabelFrom::kNothing;
    const uint32_t label_field = labels ? field_number("cls") : 0;
    std::vector<std::pair<uint64_t, uint32_t>> order;  // (first file, sample)
    for (size_t i = 0; i < claims_.size(); ++i)
      if (i == 0 || claims_[i].sample != claims_[i - 1].sample)
        order.emplace_back(first_file_[claims_[i].sample], static_cast<uint32_t>(i));
    std::sort(order.begin(), order.end());
    set_.samples.reserve(order.size());
    set_.members.reserve(claims_.size() + (labels ? order.size() : 0));
    std::map<std::string, uint32_t, std::less<>> classes;
    for (const auto& [first_file, begin] : order) {
      SampleEntry sample{.key_begin = keys_.begin(claims_[begin].sample),
                         .member_begin = set_.members.size()};
      sample.key_bytes = static_cast<uint32_t>(keys_[claims_[begin].sample].size());
      for (size_t i = begin; i < claims_.size() && claims_[i].sample == claims_[begin].sample; ++i)
        set_.members.push_back({claims_[i].file, claims_[i].field});
      if (labels) HR_CHECK(add_label(first_file, label_field, sample, classes));
      sample.members = static_cast<uint32_t>(set_.members.size() - sample.member_begin);
      set_.samples.push_back(sample);
    }
    set_.keys = keys_.take_text();
    number_classes(classes);
    return {};
  }

  Status add_label(uint64_t file, uint32_t label_field, SampleEntry& sample,
                   std::map<std::string, uint32_t, std::less<>>& classes) {
    const std::string_view folders = folder_of(relative(file));
    const std::string_view name = options_.label_from == LabelFrom::kFolder
                                      ? folders.substr(0, folders.find('/'))
                                      : folders.substr(folders.rfind('/') + 1);
    if (name.empty())
      return Error{.code = Code::kUsage,
                   .message = "'" + path(file) + "' lies in no class folder",
                   .origin = {},
                   .hint = "Give the folder that holds the class folders as the source."};
    auto known = classes.find(name);
    if (known == classes.end())
      known = classes.emplace(name, static_cast<uint32_t>(classes.size())).first;
    sample.label = known->second;
    auto at = set_.members.begin() + static_cast<long>(sample.member_begin);
    while (at != set_.members.end() && set_.fields[at->field] < "cls") ++at;
    if (at != set_.members.end() && at->field == label_field)
      return Error{.code = Code::kUsage,
                   .message = "'" + path(at->file) + "' is a field 'cls' already",
                   .origin = {},
                   .hint = "Leave out --label-from, or take other --fields."};
    set_.members.insert(at, {SampleMember::kLabel, label_field});
    return {};
  }

  // Numbers in the order of the names' bytes instead of arrival.
  void number_classes(const std::map<std::string, uint32_t, std::less<>>& classes) {
    std::vector<uint32_t> final_number(classes.size());
    for (const auto& [name, arrival] : classes) {
      final_number[arrival] = static_cast<uint32_t>(set_.classes.size());
      set_.classes.push_back(name);
    }
    if (classes.empty()) return;
    for (SampleEntry& sample : set_.samples) sample.label = final_number[sample.label];
  }

  static constexpr uint64_t kDropped = ~uint64_t{0};

  const Sources& sources_;
  const PackOptions& options_;
  const KeyRule rule_;
  KeyField again_;
  KeySet keys_;
  std::vector<uint64_t> first_file_;  // by sample
  std::map<std::string, uint32_t> field_numbers_;
  std::vector<Claim> claims_;
  std::vector<Claim> renamed_claims_;
  Examples renamed_;
  SampleSet set_;
};

}  // namespace

Result<SampleSet> group_samples(const Sources& sources, const PackOptions& options) {
  HR_TRY(KeyRule rule, KeyRule::parse(options.key_rule));
  return Grouper(sources, options, std::move(rule)).run();
}

}  // namespace headrace
