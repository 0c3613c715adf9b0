// headrace._native: the engine as Python sees it. Private; import headrace instead.
#include "bindings.h"

NB_MODULE(_native, module) {
  using namespace headrace::python;
  // Arrays may live as long as the interpreter: at its end that is no leak.
  nb::set_leak_warnings(false);
  bind_result(module);
  bind_field(module);
  bind_dataset(module);
  bind_samples(module);
  bind_batch(module);
  bind_loader(module);
  bind_audit(module);
  bind_network(module);
  bind_job(module);
  bind_webdataset_writer(module);
  bind_webdataset_arrays(module);
  bind_webdataset_collation(module);
  bind_webdataset_ahead(module);
  bind_webdataset_jpeg(module);
  bind_webdataset_members(module);
  bind_webdataset_pictures(module);
  bind_webdataset_records(module);
  bind_webdataset_reader(module);
  bind_webdataset_shuffle(module);
  bind_webdataset_batches(module);
  bind_object_stream(module);
}
