#include "job/map/picture_mapper.h"

#include "base/try.h"
#include "headrace/bytes.h"
#include "job/payload_meter.h"
#include "job/picture_pass.h"

namespace headrace {
namespace {

// Two pictures that are decoded may want the same name.
Status check_names_differ(const PictureOptions& options, const MapSample& sample) {
  for (size_t later = 1; later < sample.fields.size(); ++later)
    for (size_t earlier = 0; earlier < later; ++earlier) {
      const std::string name = packed_field(options, sample.fields[later].name);
      if (packed_field(options, sample.fields[earlier].name) != name) continue;
      return Error{.code = Code::kUsage,
                   .message = "the fields '" + sample.fields[earlier].name + "' and '" +
                              sample.fields[later].name + "' would both become '" + name + "'",
                   .hint = "Give one of them another name before, with 'headrace rename'."};
    }
  return {};
}

class PictureMapper : public Mapper {
 public:
  PictureMapper(const PictureOptions& options, PicturePass pass)
      : options_(options), pass_(std::move(pass)) {}

  Result<Mapped> run(MapSample sample, uint64_t number) override {
    HR_CHECK(check_names_differ(options_, sample));
    Mapped mapped;
    for (MapField& field : sample.fields) {
      if (!is_picture_field(field.name)) continue;
      const Status changed = change(field, number, mapped.pictures);
      if (!changed.ok())
        return Mapped{.failed = changed.error().to_string(), .picture = field.name};
    }
    mapped.samples.push_back(std::move(sample));
    return mapped;
  }

 private:
  Status change(MapField& field, uint64_t number, PictureReport& report) {
    const ByteView file = as_bytes(field.bytes);
    HR_TRY(const ByteView result, pass_.run(file, number, report));
    if (result.data() == file.data()) return {};
    field.bytes = as_text(result);
    return options_.raw ? name_array(field) : measure_again(field);
  }

  // Arrays are not measured in what their pictures were.
  Status name_array(MapField& field) const {
    field.name = packed_field(options_, field.name);
    field.measure = {};
    return {};
  }

  Status measure_again(MapField& field) {
    if (field.measure.unit == Unit::kNone) return {};
    HR_TRY(field.measure, meter_.measure(field.measure.unit, as_bytes(field.bytes)));
    return {};
  }

  const PictureOptions options_;
  PicturePass pass_;
  PayloadMeter meter_;
};

}  // namespace

Result<std::unique_ptr<Mapper>> make_picture_mapper(const PictureOptions& options) {
  HR_TRY(PicturePass pass, PicturePass::make(options));
  return std::unique_ptr<Mapper>(std::make_unique<PictureMapper>(options, std::move(pass)));
}

}  // namespace headrace
