// headrace/network.h: what was asked of remote stores.
#include "headrace/network.h"

#include <nanobind/stl/string.h>

#include "bindings.h"

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

}  // namespace

void bind_network(nb::module_& module) { module.def("network_counters", &counters); }

}  // namespace headrace::python
