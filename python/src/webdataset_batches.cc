// ColumnBatches makes batches of headrace.webdataset from records, where no function of the user
// stands between source and batch: columns straight from the bytes of fields, without a Python
// object a sample or a field.
//
//   records ──▶ [entry | entry | entry | entry] ──▶ batch: one column after the other
//                    threads decode pictures,
//                    into the rows of their batch
//
// What is done to the fields of a layout is a plan, which the package makes. A sample that is not
// plain (a field is missing or damaged, a picture is one for Pillow) goes through the package's own
// stages, one by one, which skip it, raise, or give its value. A batch that has such a value in it,
// or rows that do not stack, is collated by the package.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings.h"
#include "webdataset_arrays.h"
#include "webdataset_columns.h"
#include "webdataset_pictures.h"
#include "webdataset_records.h"

namespace headrace::python {
namespace {

/// What is done to a field: nothing; text to a number or str; an array's or a picture's file to an
/// array; or what a function of the package does.
enum class FieldKind { value, integer, text, npy, picture, function };

FieldKind kind_of(const std::string& name) {
  if (name == "integer") return FieldKind::integer;
  if (name == "text") return FieldKind::text;
  if (name == "npy") return FieldKind::npy;
  if (name == "picture") return FieldKind::picture;
  return name == "function" ? FieldKind::function : FieldKind::value;
}

/// One field of a layout that is used.
struct Part {
  Layout::Key source;
  FieldKind kind;
  nb::object key;  ///< its name when it is decoded
};

/// What becomes of samples of one layout.
struct Plan {
  nb::object names;         ///< of the columns; None: batches are tuples
  std::vector<Part> parts;  ///< the columns, then what must be plain besides
  size_t columns = 0;

  bool has_columns_of(const Plan& other) const {
    const auto same_kind = [](const Part& a, const Part& b) { return a.kind == b.kind; };
    return columns == other.columns && names.equal(other.names) &&
           std::equal(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(columns),
                      other.parts.begin(), same_kind);
  }
};

/// What a part of a sample has become.
struct Cell {
  int64_t integer = 0;
  nb::object object;
  std::unique_ptr<PictureJob> picture;
};

struct Entry {
  Record record;
  std::shared_ptr<const Plan> plan;  ///< none: one for the stages
  std::vector<Cell> cells;
  nb::object value;  ///< what the stages made of it

  ByteView field(size_t part) const { return record.field(plan->parts[part].source.field); }
};
using Entries = std::vector<std::unique_ptr<Entry>>;

/// As the stages of Python are asked.
struct Stages {
  nb::object plan;      ///< (keys) -> (names, [(index of a key, kind, key)], columns), or None
  nb::object decode;    ///< (key, bytes) -> value
  nb::object finish;    ///< (dictionary, {key: array}) -> [value]; []: skipped; None: stopped
  nb::object finished;  ///< array -> what the image spec makes of it
  nb::object collate;   ///< [value] -> batch
  Combine combine;

  explicit Stages(const nb::object& stages)
      : plan(stages.attr("plan")),
        decode(stages.attr("decode")),
        finish(stages.attr("finish")),
        finished(stages.attr("finished")),
        collate(stages.attr("collate")),
        combine{true, true, stages.attr("combine")} {}
};

/// The plans of layouts.
class Plans {
 public:
  explicit Plans(const Stages& stages) : stages_(stages) {}

  std::shared_ptr<const Plan> of(const std::shared_ptr<const Layout>& layout) {
    const auto known = plans_.find(layout);
    if (known != plans_.end()) return known->second;
    if (plans_.size() == kMost) plans_.clear();
    return plans_[layout] = make(*layout);
  }

 private:
  static constexpr size_t kMost = 64;

  std::shared_ptr<const Plan> make(const Layout& layout) const {
    nb::list keys;
    for (const Layout::Key& key : layout.keys) keys.append(key.name);
    const nb::object answer = stages_.plan(keys);
    if (answer.is_none()) return nullptr;
    auto plan = std::make_shared<Plan>();
    plan->names = answer[0];
    for (const nb::handle part : answer[1])
      plan->parts.push_back({layout.keys.at(nb::cast<size_t>(part[0])),
                             kind_of(nb::cast<std::string>(part[1])), nb::borrow(part[2])});
    plan->columns = nb::cast<size_t>(answer[2]);
    for (const Part& part : plan->parts)
      if (part.kind == FieldKind::value && part.source.part == Layout::Part::field)
        layout.wanted_whole[part.source.field] = true;
    return plan;
  }

  const Stages& stages_;
  std::unordered_map<std::shared_ptr<const Layout>, std::shared_ptr<const Plan>> plans_;
};

/// The rows that pictures of the next batches are decoded into: those of each column.
class BatchRows {
 public:
  BatchRows(size_t size, bool floats) : size_(size), floats_(floats) {}

  /// Of the next sample, as the how manieth of its pictures.
  void place(PictureJob& job, size_t picture) {
    while (rows_.size() <= picture) rows_.push_back(std::make_shared<PictureRows>(size_, floats_));
    job.rows = rows_[picture];
    job.index = next_;
  }

  void advance() {
    next_ = (next_ + 1) % size_;
    if (next_ == 0) rows_.clear();
  }

  /// The next sample is the how manieth of its batch, whose other rows lie elsewhere.
  void restart(size_t next) {
    next_ = next % size_;
    rows_.clear();
  }

 private:
  const size_t size_;
  const bool floats_;
  size_t next_ = 0;
  std::vector<std::shared_ptr<PictureRows>> rows_;
};

/// What a function of the package makes of a field; an invalid object: it raised.
nb::object called(const nb::object& decode, const nb::object& key, ByteView field) {
  try {
    return decode(key, to_bytes(field));
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    return {};
  }
}

class ColumnBatches {
 public:
  ColumnBatches(nb::object records, const nb::object& stages, const nb::object& pictures,
                int threads, int64_t size, bool partial)
      : owner_(std::move(records)),
        records_(nb::cast<RecordStream&>(owner_)),
        stages_(stages),
        plans_(stages_),
        size_(static_cast<size_t>(std::max(int64_t{1}, size))),
        partial_(partial) {
    if (pictures.is_none()) return;
    work_.emplace(pictures, threads);
    rows_.emplace(size_, work_->floats());
    if (threads > 0) depth_ = std::max(2 * static_cast<size_t>(threads) + 1, size_);
  }

  nb::object next() {
    const Turn turn(mutex_);
    try {
      return next_batch();
    } catch (...) {
      stop();
      batch_.clear();
      throw;
    }
  }

 private:
  nb::object next_batch() {
    if (!std::exchange(begun_, true)) following_ = take();
    batch_.clear();
    while (following_ && batch_.size() < size_) {
      batch_.push_back(std::move(following_));
      // Asked for before the batch is given: its error comes first, as in `batched`.
      following_ = take();
    }
    if (batch_.empty() || (batch_.size() < size_ && !partial_)) throw nb::stop_iteration();
    nb::object made = columns();
    if (!made.is_valid()) made = collated();
    batch_.clear();
    return made;
  }

  /// The next sample that no stage leaves out; none: the end.
  std::unique_ptr<Entry> take() {
    for (;;) {
      while (!ended_ && ahead_.size() < depth_) fetch();
      if (ahead_.empty()) break;
      const bool is_plain = settle(*ahead_.front());
      std::unique_ptr<Entry> entry = std::move(ahead_.front());
      ahead_.pop_front();
      if (is_plain) return entry;
      const nb::object outcome = finish(*entry);
      if (outcome.is_none()) {
        stop();
        return nullptr;
      }
      if (nb::len(outcome) > 0) {
        entry->value = outcome[0];
        return entry;
      }
      if (rows_) rows_->restart(batch_.size() + ahead_.size());
    }
    if (!error_) return nullptr;
    auto error = std::exchange(error_, std::nullopt);
    throw nb::python_error(std::move(*error));
  }

  void fetch() {
    auto entry = std::make_unique<Entry>();
    try {
      std::optional<Record> record = records_.next();
      ended_ = !record;
      if (ended_) return;
      entry->record = *std::move(record);
    } catch (nb::python_error& error) {
      ended_ = true;
      error_.emplace(std::move(error));
      return;
    }
    entry->plan = plans_.of(entry->record.layout);
    ahead_.push_back(std::move(entry));
    ask(*ahead_.back());
  }

  /// Has the pictures of a sample decoded.
  void ask(Entry& entry) {
    if (entry.plan) {
      entry.cells.resize(entry.plan->parts.size());
      size_t pictures = 0;
      for (size_t i = 0; i < entry.cells.size(); ++i) {
        if (entry.plan->parts[i].kind != FieldKind::picture) continue;
        auto& job = entry.cells[i].picture =
            std::make_unique<PictureJob>(PictureJob{entry.field(i)});
        if (i < entry.plan->columns) rows_->place(*job, pictures++);
        work_->ask(*job);
      }
    }
    if (rows_) rows_->advance();
  }

  /// Waits for a sample's pictures and reads its other fields. False: it is not plain.
  bool settle(Entry& entry) {
    bool is_plain = entry.plan != nullptr;
    for (const Cell& cell : entry.cells) {
      if (!cell.picture) continue;
      work_->wait(*cell.picture);
      is_plain &= cell.picture->decoded;
    }
    for (size_t i = 0; is_plain && i < entry.cells.size(); ++i) is_plain = read(entry, i);
    return is_plain;
  }

  bool read(Entry& entry, size_t part) {
    const Part& wanted = entry.plan->parts[part];
    Cell& cell = entry.cells[part];
    switch (wanted.kind) {
      case FieldKind::integer: {
        const std::optional<int64_t> number = integer_of(entry.field(part));
        cell.integer = number.value_or(0);
        return number.has_value();
      }
      case FieldKind::text:
        cell.object = text_of(entry.field(part));
        return cell.object.is_valid();
      case FieldKind::function:
        cell.object = called(stages_.decode, wanted.key, entry.field(part));
        return cell.object.is_valid();
      case FieldKind::npy:
        return npy_.is_plain(entry.field(part));
      default:
        return true;
    }
  }

  /// What the stages make of one sample.
  nb::object finish(const Entry& entry) const {
    nb::dict ready;
    for (size_t i = 0; i < entry.cells.size(); ++i) {
      const auto& job = entry.cells[i].picture;
      if (job && job->decoded)
        ready[entry.plan->parts[i].key] = stages_.finished(picture_array(job->rows, job->index));
    }
    return stages_.finish(entry.record.to_dict(), ready);
  }

  /// The batch by columns; an invalid object: it has an odd sample in it, or does not stack.
  nb::object columns() const {
    const Plan* plan = batch_.front()->plan.get();
    for (const std::unique_ptr<Entry>& entry : batch_) {
      if (!entry->plan || entry->value.is_valid()) return {};
      if (entry->plan.get() != plan && !entry->plan->has_columns_of(*plan)) return {};
    }
    nb::list made;
    for (size_t i = 0; i < plan->columns; ++i) {
      nb::object column = this->column(i, plan->parts[i].kind);
      if (!column.is_valid()) return {};
      made.append(std::move(column));
    }
    if (plan->names.is_none()) return nb::tuple(made);
    nb::dict named;
    for (size_t i = 0; i < plan->columns; ++i) named[plan->names[i]] = made[i];
    return named;
  }

  nb::object column(size_t part, FieldKind kind) const {
    if (kind == FieldKind::integer) {
      std::vector<int64_t> numbers;
      for (const auto& entry : batch_) numbers.push_back(entry->cells[part].integer);
      return column_of_integers(numbers);
    }
    if (kind == FieldKind::npy) {
      std::vector<ByteView> files;
      for (const auto& entry : batch_) files.push_back(entry->field(part));
      return column_of_npy(files);
    }
    if (kind == FieldKind::picture) return column_of_pictures(part);
    Values values;
    for (const auto& entry : batch_)
      values.push_back(kind == FieldKind::value
                           ? entry->record.value(entry->plan->parts[part].source)
                           : entry->cells[part].object);
    return stages_.combine.column(values);
  }

  nb::object column_of_pictures(size_t part) const {
    const PictureJob& first = *batch_.front()->cells[part].picture;
    bool in_place = true;
    std::vector<ByteView> rows;
    for (const auto& entry : batch_) {
      const PictureJob& job = *entry->cells[part].picture;
      if (job.rows->shape() != first.rows->shape()) return {};
      in_place &= job.rows == first.rows && job.index == rows.size();
      rows.emplace_back(job.rows->at(job.index), job.rows->row_bytes());
    }
    if (in_place) return stages_.finished(batch_array(first.rows, rows.size()));
    auto moved = std::make_shared<PictureRows>(rows.size(), first.rows->floats());
    std::byte* into = moved->row(0, first.rows->shape());
    if (into == nullptr) throw std::bad_alloc();
    copy_rows(rows, {into, rows.size() * moved->row_bytes()});
    return stages_.finished(batch_array(moved, rows.size()));
  }

  nb::object collated() const {
    nb::list samples;
    for (const auto& entry : batch_)
      samples.append(entry->value.is_valid() ? entry->value : nb::object(finish(*entry)[0]));
    return stages_.collate(samples);
  }

  /// Nothing more comes.
  void stop() {
    ended_ = true;
    error_.reset();
    if (work_) work_->stop();
    ahead_.clear();
    following_.reset();
  }

  std::mutex mutex_;
  const nb::object owner_;
  RecordStream& records_;
  const Stages stages_;
  Plans plans_;
  const size_t size_;
  const bool partial_;
  size_t depth_ = 1;
  std::optional<BatchRows> rows_;
  bool begun_ = false;
  bool ended_ = false;
  std::optional<nb::python_error> error_;
  NpyHeader npy_;
  Entries batch_;
  std::unique_ptr<Entry> following_;
  std::deque<std::unique_ptr<Entry>> ahead_;
  std::optional<PictureWork> work_;  // goes first: it looks into `ahead_`
};

}  // namespace

void bind_webdataset_batches(nb::module_& module) {
  nb::class_<ColumnBatches>(module, "ColumnBatches", "Batches of records, column by column.")
      .def(nb::init<nb::object, const nb::object&, const nb::object&, int, int64_t, bool>(),
           nb::arg("records"), nb::arg("stages"), nb::arg("pictures").none(), nb::arg("threads"),
           nb::arg("size"), nb::arg("partial"))
      .def("__iter__", [](nb::handle self) { return self; })
      .def("__next__", &ColumnBatches::next);
}

}  // namespace headrace::python
