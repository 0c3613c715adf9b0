// headrace/network.h and headrace/notes.h: what was asked of remote stores, and what to say of it.
#include "headrace/network.h"

#include <nanobind/stl/string.h>

#include "bindings.h"
#include "headrace/notes.h"

namespace headrace::python {
namespace {

nb::dict counters() {
  nb::dict out;
  for (const auto& [host, counted] : network_counters()) {
    nb::dict fields;
    fields["requests"] = counted.requests;
    fields["retries"] = counted.retries;
    fields["hedges"] = counted.hedges;
    fields["redirects"] = counted.redirects;
    fields["throttled"] = counted.throttled;
    fields["bytes_needed"] = counted.bytes_needed;
    fields["bytes_asked"] = counted.bytes_asked;
    fields["first_byte_seconds"] = counted.first_byte_seconds;
    fields["depth"] = counted.depth;
    out[host.c_str()] = fields;
  }
  return out;
}

nb::list notes() {
  nb::list out;
  for (const std::string& note : take_notes()) out.append(to_str(note));
  return out;
}

}  // namespace

void bind_network(nb::module_& module) {
  module.def("network_counters", &counters);
  module.def("take_notes", &notes);
}

}  // namespace headrace::python
