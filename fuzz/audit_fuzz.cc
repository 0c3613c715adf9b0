// Any bytes as the audit files of two ranks: a report that adds up, or an error.
#include <cstdlib>
#include <fstream>
#include <string>

#include "format/tar_writer.h"
#include "headrace/audit.h"
#include "scratch_folder.h"

namespace {

using namespace headrace;

constexpr int kSamples = 3;

std::shared_ptr<const Dataset> make_set(const std::string& folder) {
  std::string tar;
  for (int i = 0; i < kSamples; ++i) {
    append_tar_header(tar, std::to_string(i) + ".cls", 1);
    tar += "7" + std::string(tar_padding(1), '\0');
  }
  append_tar_end(tar);
  const std::string path = folder + "/one.tar";
  std::ofstream(path, std::ios::binary) << tar;
  const auto set = Dataset::open({path});
  if (!set.ok()) std::abort();
  return *set;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFolder made;
  const std::string& folder = made.path();
  static const auto set = make_set(folder);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::ofstream(folder + "/0.audit", std::ios::binary) << "HRAUDIT1" << bytes.substr(0, size / 2);
  std::ofstream(folder + "/1.audit", std::ios::binary) << "HRAUDIT1" << bytes.substr(size / 2);
  const auto report = check_audit({folder}, *set);
  if (!report.ok()) return 0;
  for (const AuditReport::Epoch& epoch : report->epochs)
    if (epoch.missing > kSamples || epoch.duplicates > epoch.delivered) std::abort();
  return 0;
}
