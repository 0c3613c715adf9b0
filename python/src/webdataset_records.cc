#include "webdataset_records.h"

#include <utility>

namespace headrace::python {
namespace {

/// A stream that must not be empty: `complain` raises what is to be said then.
class CheckedRecords final : public RecordStream {
 public:
  CheckedRecords(nb::object records, nb::object complain)
      : owner_(std::move(records)),
        records_(nb::cast<RecordStream&>(owner_)),
        complain_(std::move(complain)) {}

  std::optional<Record> next() override {
    std::optional<Record> record = records_.next();
    if (!record && !std::exchange(checked_, true)) complain_();
    checked_ = true;
    return record;
  }

 private:
  const nb::object owner_;
  RecordStream& records_;
  const nb::object complain_;
  bool checked_ = false;
};

}  // namespace

ByteView Record::field(size_t i) const {
  const Field& one = fields[i];
  if (!one.whole.is_valid()) return ByteView(bytes).subspan(one.begin, one.size);
  return {reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(one.whole.ptr())),
          static_cast<size_t>(PyBytes_GET_SIZE(one.whole.ptr()))};
}

nb::object Record::value(const Layout::Key& name) const {
  switch (name.part) {
    case Layout::Part::key:
      return to_str(key);
    case Layout::Part::url:
      return shard->url;
    case Layout::Part::local_path:
      return shard->local_path;
    default:
      return fields[name.field].whole.is_valid() ? fields[name.field].whole
                                                 : to_bytes(field(name.field));
  }
}

nb::dict Record::to_dict() const {
  nb::dict sample;
  for (const Layout::Key& name : layout->keys) sample[name.name] = value(name);
  return sample;
}

void bind_webdataset_records(nb::module_& module) {
  const nb::class_<RecordStream> base(module, "RecordStream",
                                      "Samples that are no Python objects.");
  nb::class_<CheckedRecords, RecordStream>(module, "CheckedRecords")
      .def(nb::init<nb::object, nb::object>(), nb::arg("records"), nb::arg("complain"));
}

}  // namespace headrace::python
