// headrace/audit.h: the proof that every sample came once.
#include "headrace/audit.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "handles.h"

namespace headrace::python {
namespace {

nb::dict epoch_dict(const AuditReport::Epoch& epoch) {
  nb::dict out;
  out["epoch"] = epoch.epoch;
  out["delivered"] = epoch.delivered;
  out["padded"] = epoch.padded;
  out["missing"] = epoch.missing;
  out["duplicates"] = epoch.duplicates;
  nb::list examples;
  for (const std::string& example : epoch.examples) examples.append(to_str(example));
  out["examples"] = examples;
  return out;
}

nb::dict check(const std::vector<std::string>& folders, const PySet& set) {
  Result<AuditReport> result = [&] {
    nb::gil_scoped_release unlocked;
    return check_audit(folders, *set.set);
  }();
  const AuditReport report = unwrap(std::move(result));
  nb::list epochs;
  for (const AuditReport::Epoch& epoch : report.epochs) epochs.append(epoch_dict(epoch));
  nb::dict out;
  out["passed"] = report.passed();
  out["files"] = report.files;
  out["forgotten"] = report.forgotten;
  out["changed"] = report.changed;
  out["epochs"] = epochs;
  out["text"] = to_str(report.to_string());
  return out;
}

}  // namespace

void bind_audit(nb::module_& module) { module.def("check_audit", &check); }

}  // namespace headrace::python
