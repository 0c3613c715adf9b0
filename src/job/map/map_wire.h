// What a job says to the Python process that a function lives in, and hears from it.
//
//   message    u64 bytes | bytes            a text in it: u64 bytes | bytes
//   question   u64 number | key | u64 fields | (name | payload) a field
//   answer     u64 0 | u64 samples | (key | u64 fields | (name | payload) …) a sample
//              u64 1 | what was raised
//
// The process greets with an answer of no samples. headrace/drivers/map_worker.py is the other end;
// what it says is checked as any input is. Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/result.h"
#include "job/map/step.h"

namespace headrace {

/// Without the size in front, as all here.
std::string encode_map_question(const MapSample& sample, uint64_t number);

struct MapAnswer {
  std::vector<MapSample> samples;
  std::optional<std::string> raised;  ///< in its place: a traceback
};

/// Code::kCorrupt for anything else.
Result<MapAnswer> decode_map_answer(std::string_view bytes);
Error damaged_map_answer();

}  // namespace headrace
