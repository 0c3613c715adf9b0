// Samples of tar archives: as the dictionaries that WebDataset's users know, or as records.
//
// Shards come from a generator of Python, which opens them. Errors of reading are thrown into it,
// so that the handlers of the user decide; what it gives then says how to go on:
//
//   (source, url, local_path, lenient)   a shard begins
//   True                                 go on in this one
//   False                                give what there is of the last sample, and end the shard
//
// Python objects are made for what the caller gets and for nothing else. Grouping is that of
// format/key_rule.h.
#include <nanobind/stl/string.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings.h"
#include "format/key_rule.h"
#include "webdataset_members.h"
#include "webdataset_records.h"

namespace headrace::python {
namespace {

constexpr size_t kMostNames = 64;

/// The name of a field. str.lower() knows more letters than ASCII, which the key rule has lowered.
nb::object field_name(const std::string& name) {
  nb::object text = to_str(name);
  for (const char c : name)
    if (static_cast<unsigned char>(c) >= 0x80) return text.attr("lower")();
  return text;
}

/// Makes dictionaries.
class DictMaker {
 public:
  using Sample = nb::object;

  void open(nb::object url, nb::object local_path) {
    url_ = std::move(url);
    local_path_ = std::move(local_path);
    sample_ = {};
  }

  void begin(const std::string& key) {
    sample_ = nb::dict();
    set(key_name_, to_str(key));
    if (!url_.is_none()) set(url_name_, url_);
  }

  /// False if the sample has such a field already.
  bool add(const std::string& field, ByteView data) {
    const nb::handle name = name_of(field);
    if (has(name)) return false;
    set(name, to_bytes(data));
    if (!local_path_.is_none()) set(path_name_, local_path_);
    return true;
  }

  /// The sample so far, unless there is none or it is marked as bad.
  std::optional<nb::object> take() {
    if (!sample_.is_valid()) return std::nullopt;
    const bool is_bad = has(bad_name_);
    nb::object sample = std::move(sample_);
    return is_bad ? std::nullopt : std::optional(std::move(sample));
  }

 private:
  /// Made once: samples of a shard have the same few.
  nb::handle name_of(const std::string& field) {
    for (const auto& [known, text] : names_)
      if (known == field) return text;
    if (names_.size() == kMostNames) names_.clear();
    return names_.emplace_back(field, field_name(field)).second;
  }

  bool has(nb::handle name) const {
    const int there = PyDict_Contains(sample_.ptr(), name.ptr());
    if (there < 0) throw nb::python_error();
    return there > 0;
  }

  void set(nb::handle name, nb::handle value) {
    if (PyDict_SetItem(sample_.ptr(), name.ptr(), value.ptr()) != 0) throw nb::python_error();
  }

  const nb::str key_name_ = nb::str("__key__");
  const nb::str url_name_ = nb::str("__url__");
  const nb::str path_name_ = nb::str("__local_path__");
  const nb::str bad_name_ = nb::str("__bad__");
  nb::object url_;
  nb::object local_path_;
  std::vector<std::pair<std::string, nb::object>> names_;
  nb::object sample_;
};

/// Makes records of what DictMaker makes dictionaries of.
class RecordMaker {
 public:
  using Sample = Record;

  void open(nb::object url, nb::object local_path) {
    shard_ = std::make_shared<const ShardNames>(ShardNames{std::move(url), std::move(local_path)});
    begun_ = false;
  }

  void begin(const std::string& key) {
    record_ = Record();
    record_.key = key;
    record_.bytes.reserve(last_size_);
    names_.clear();
    begun_ = true;
  }

  bool add(const std::string& field, ByteView data) {
    std::string name = lowered(field);
    const bool is_path = name == "__local_path__" && has_path();
    if (name == "__key__" || (name == "__url__" && has_url())) return false;
    if (is_path && !names_.empty()) return false;
    for (const std::string& other : names_)
      if (other == name) return false;
    // The shard's path takes the place of such a field.
    if (is_path) data = {};
    Record::Field& made = record_.fields.emplace_back();
    if (is_wanted_whole(name)) {
      made.whole = to_bytes(data);
    } else {
      made.begin = record_.bytes.size();
      made.size = data.size();
      record_.bytes.insert(record_.bytes.end(), data.begin(), data.end());
    }
    names_.push_back(std::move(name));
    return true;
  }

  std::optional<Record> take() {
    if (!std::exchange(begun_, false)) return std::nullopt;
    for (const std::string& name : names_)
      if (name == "__bad__") return std::nullopt;
    if (!layout_ || layout_->fields != names_ || layout_shard_ != shard_) layout_ = layout();
    layout_shard_ = shard_;
    record_.layout = layout_;
    record_.shard = shard_;
    last_size_ = record_.bytes.size();
    return std::move(record_);
  }

 private:
  static std::string lowered(const std::string& field) {
    for (const char c : field)
      if (static_cast<unsigned char>(c) >= 0x80) return from_str(field_name(field));
    return field;
  }

  /// By what became of the last sample's field at this place.
  bool is_wanted_whole(const std::string& name) const {
    const size_t place = names_.size();
    return layout_ && place < layout_->fields.size() && layout_->wanted_whole[place] &&
           layout_->fields[place] == name;
  }

  bool has_url() const { return !shard_->url.is_none(); }
  bool has_path() const { return !shard_->local_path.is_none(); }

  /// Made once: samples have the same few. No '/' is in a field's name.
  std::shared_ptr<const Layout> layout() {
    all_names_.clear();
    all_names_ += has_url() ? 'u' : '-';
    all_names_ += has_path() ? 'p' : '-';
    for (const std::string& name : names_) (all_names_ += '/') += name;
    const auto known = layouts_.find(all_names_);
    if (known != layouts_.end()) return known->second;
    if (layouts_.size() == kMostNames) layouts_.clear();
    return layouts_[all_names_] = new_layout();
  }

  std::shared_ptr<const Layout> new_layout() const {
    using Part = Layout::Part;
    auto made = std::make_shared<Layout>();
    made->fields = names_;
    made->wanted_whole.resize(names_.size());
    made->keys.push_back({nb::str("__key__"), Part::key});
    if (has_url()) made->keys.push_back({nb::str("__url__"), Part::url});
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != "__local_path__" || !has_path())
        made->keys.push_back({to_str(names_[i]), Part::field, i});
      if (i == 0 && has_path()) made->keys.push_back({nb::str("__local_path__"), Part::local_path});
    }
    return made;
  }

  std::shared_ptr<const ShardNames> shard_;
  std::shared_ptr<const Layout> layout_;  ///< of the last sample
  std::shared_ptr<const ShardNames> layout_shard_;
  Record record_;
  std::vector<std::string> names_;
  std::string all_names_;
  bool begun_ = false;
  size_t last_size_ = 0;
  std::unordered_map<std::string, std::shared_ptr<const Layout>> layouts_;
};

/// One archive: members next to each other with one key are a sample.
template <typename Maker>
class Archive {
 public:
  using Sample = typename Maker::Sample;

  Archive(Members members, Maker& maker) : members_(std::move(members)), maker_(maker) {}

  /// Nothing: the end.
  std::optional<Sample> next() {
    if (stopped_) return maker_.take();
    if (duplicate_) raise_duplicate();
    for (;;) {
      const TarStream::Member* member = members_.next();
      if (member == nullptr) {
        has_key_ = false;
        return maker_.take();
      }
      if (!unwrap(rule_.split(members_.name(), split_))) continue;
      std::optional<Sample> finished;
      if (!has_key_ || split_.key != key_) {
        finished = maker_.take();
        begin();
      }
      duplicate_ = !maker_.add(split_.field, member->data);
      if (finished) return finished;
      if (duplicate_) raise_duplicate();
    }
  }

  /// What there is of the last sample is all that is still to come.
  void stop() { stopped_ = true; }

 private:
  void begin() {
    key_ = split_.key;
    has_key_ = true;
    maker_.begin(key_);
  }

  [[noreturn]] void raise_duplicate() {
    duplicate_ = false;
    raise_as(PyExc_ValueError, members_.name() + ": duplicate file name in tar file");
  }

  Members members_;
  Maker& maker_;
  const KeyRule rule_;
  KeyField split_;
  std::string key_;
  bool has_key_ = false;    ///< a sample with that key has begun
  bool duplicate_ = false;  ///< the member just read could not be added, which is yet to be said
  bool stopped_ = false;
};

/// The samples of all shards.
template <typename Maker>
class ShardSamples {
 public:
  ShardSamples(nb::object shards, nb::object select, nb::object rename)
      : shards_(std::move(shards)), select_(std::move(select)), rename_(std::move(rename)) {}

  std::optional<typename Maker::Sample> next() {
    while (archive_ || begin_next()) {
      try {
        auto sample = archive_->next();
        if (sample) return sample;
        archive_.reset();
      } catch (nb::python_error& error) {
        ask(error);
      }
    }
    return std::nullopt;
  }

 private:
  bool begin_next() {
    PyObject* shard = PyIter_Next(shards_.ptr());
    if (shard == nullptr && PyErr_Occurred()) throw nb::python_error();
    if (shard != nullptr) begin(nb::cast<nb::tuple>(nb::steal(shard)));
    return shard != nullptr;
  }

  void begin(const nb::tuple& shard) {
    maker_.open(shard[1], shard[2]);
    archive_.emplace(Members(shard[0], select_, rename_, nb::cast<bool>(shard[3]), true), maker_);
  }

  /// Throws the error into the generator, which may raise it.
  void ask(const nb::python_error& error) {
    const nb::object value = nb::borrow(error.value());
    nb::object answer;
    try {
      answer = shards_.attr("throw")(value);
    } catch (...) {
      archive_.reset();
      throw;
    }
    if (!nb::cast<bool>(answer)) archive_->stop();
  }

  const nb::object shards_;
  const nb::object select_;
  const nb::object rename_;
  Maker maker_;
  std::optional<Archive<Maker>> archive_;
};

class TarSamples {
 public:
  TarSamples(nb::object shards, nb::object select, nb::object rename)
      : samples_(std::move(shards), std::move(select), std::move(rename)) {}

  nb::object next() {
    const Turn turn(mutex_);
    std::optional<nb::object> sample = samples_.next();
    if (!sample) throw nb::stop_iteration();
    return *std::move(sample);
  }

 private:
  std::mutex mutex_;
  ShardSamples<DictMaker> samples_;
};

class TarRecords final : public RecordStream {
 public:
  TarRecords(nb::object shards, nb::object select, nb::object rename)
      : samples_(std::move(shards), std::move(select), std::move(rename)) {}

  std::optional<Record> next() override { return samples_.next(); }

 private:
  ShardSamples<RecordMaker> samples_;
};

}  // namespace

void bind_webdataset_reader(nb::module_& module) {
  nb::class_<TarSamples>(module, "TarSamples", "The samples of shards as dictionaries.")
      .def(nb::init<nb::object, nb::object, nb::object>(), nb::arg("shards"),
           nb::arg("select").none(), nb::arg("rename").none())
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &TarSamples::next);
  nb::class_<TarRecords, RecordStream>(module, "TarRecords", "The same as records.")
      .def(nb::init<nb::object, nb::object, nb::object>(), nb::arg("shards"),
           nb::arg("select").none(), nb::arg("rename").none());
}

}  // namespace headrace::python
