// A condition on samples: nothing that is parsed hangs or crashes on a sample, and it says the same
// twice.
#include <cstdlib>
#include <fstream>
#include <string>

#include "format/tar_writer.h"
#include "job/reshape/expression.h"
#include "scratch_folder.h"

namespace {

using namespace headrace;

void add_member(std::string& tar, const std::string& name, const std::string& text) {
  append_tar_header(tar, name, text.size());
  tar += text;
  tar.append(tar_padding(text.size()), '\0');
}

/// A data set of one sample.
Inputs make_inputs(const std::string& folder) {
  std::string tar;
  add_member(tar, "a/key7.json",
             R"({"width": 640, "tags": {"lang": "en"}, "no": null, "f": 1e400})");
  add_member(tar, "a/key7.cls", "3");
  add_member(tar, "a/key7.txt", "a caption with \xff and \"quotes\"");
  append_tar_end(tar);
  const std::string path = folder + "/one.tar";
  std::ofstream(path, std::ios::binary) << tar;
  auto inputs = Inputs::open({path}, false, 1);
  if (!inputs.ok()) std::abort();
  return std::move(*inputs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFolder folder;
  static const Inputs inputs = make_inputs(folder.path());
  const auto condition = Expression::parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!condition.ok()) return 0;
  const auto index = inputs.index(0);
  if (!index.ok() || (*index)->size() != 1) std::abort();
  const ScannedSample sample(inputs, 0, **index);
  const auto holds = condition->holds(sample);
  const auto again = condition->holds(sample);
  if (holds.ok() != again.ok() || (holds.ok() && *holds != *again)) std::abort();
  return 0;
}
