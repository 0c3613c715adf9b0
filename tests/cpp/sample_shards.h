// Small tar shards whose contents follow from the number of the sample.
#pragma once

#include <string>
#include <vector>

#include "format/tar_writer.h"
#include "temporary_folder.h"

namespace headrace {

/// Sample n: key "s<n>", field "bin" of n % 700 bytes, field "cls" with n in decimal digits.
inline std::string sample_payload(uint64_t n) {
  std::string bytes(n % 700, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(n * 31 + i);
  return bytes;
}

inline void append_member(std::string& tar, const std::string& name, const std::string& payload) {
  append_tar_header(tar, name, payload.size());
  tar += payload;
  tar.append(tar_padding(payload.size()), '\0');
}

/// One shard a count, "shard-<i>.tar"; samples are numbered through.
inline std::vector<std::string> write_shards(const TemporaryFolder& folder,
                                             const std::vector<uint32_t>& counts) {
  std::vector<std::string> paths;
  uint64_t n = 0;
  for (const uint32_t count : counts) {
    std::string tar;
    for (uint32_t i = 0; i < count; ++i, ++n) {
      append_member(tar, "s" + std::to_string(n) + ".bin", sample_payload(n));
      append_member(tar, "s" + std::to_string(n) + ".cls", std::to_string(n));
    }
    append_tar_end(tar);
    paths.push_back(folder / ("shard-" + std::to_string(paths.size() + 100) + ".tar"));
    write_file(paths.back(), tar);
  }
  return paths;
}

}  // namespace headrace
