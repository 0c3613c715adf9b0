// What the tests against the reference results of Pillow and torchvision share.
#pragma once

#include <cmath>
#include <cstring>
#include <utility>

#include "codec/npy.h"
#include "codec/support.h"

namespace headrace {

using Json = nlohmann::json;

/// The largest and the mean difference of two byte strings.
inline std::pair<int, double> difference(std::string_view a, std::string_view b) {
  int largest = 0;
  double sum = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const int d = std::abs(static_cast<uint8_t>(a[i]) - static_cast<uint8_t>(b[i]));
    largest = std::max(largest, d);
    sum += d;
  }
  return {a.size() == b.size() ? largest : 256,
          sum / static_cast<double>(std::max(a.size(), size_t{1}))};
}

inline std::string expected_of(const Json& entry) {
  return decode(*decoder_of(NpySpec()),
                read_file(golden_folder() + "/" + entry["file"].get<std::string>()))
      ->bytes;
}

inline std::string source_of(const Json& entry) {
  return read_file(golden_folder() + "/" + entry["source"].get<std::string>());
}

inline ImageSpec lines_of(Channels channels) {
  ImageSpec spec;
  spec.channels = channels;
  spec.layout = Layout::hwc;
  return spec;
}

inline OwnedRow run(const Json& entry, ImageSpec spec) {
  spec.layout = entry["layout"] == "CHW" ? Layout::chw : Layout::hwc;
  spec.channels = Channels::unchanged;
  if (!spec.ops.empty() && std::holds_alternative<Normalize>(spec.ops.back()))
    spec.channels = Channels::rgb;
  auto row = decode(*decoder_of(spec), source_of(entry));
  EXPECT_TRUE(row.ok()) << (row.ok() ? "" : row.error().to_string());
  return row.ok() ? std::move(*row) : OwnedRow();
}

/// Runs `run(entry, params)` for each entry of an operation; how many it said true for.
template <typename Run>
int for_each(const char* op, Run run) {
  int seen = 0;
  for (const Json& entry : golden_entries()) {
    if (entry.value("op", "") != op) continue;
    SCOPED_TRACE(entry["file"]);
    seen += run(entry, entry["params"]) ? 1 : 0;
  }
  return seen;
}

}  // namespace headrace
