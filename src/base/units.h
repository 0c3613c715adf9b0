// Sizes, rates and durations as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/result.h"

namespace headrace {

/// "256MiB", "1.5 GB", "4096" -> bytes. SI (kB, MB …) and IEC (KiB, MiB …) suffixes, any case.
Result<uint64_t> parse_bytes(std::string_view text);

/// 1536 -> "1.50 KiB": three significant digits, IEC units.
std::string format_bytes(uint64_t bytes);

/// 1234567 -> "1,234,567".
std::string format_count(uint64_t count);

/// (1, "shard") -> "1 shard"; (1234, "shard") -> "1,234 shards".
std::string format_number_of(uint64_t count, std::string_view noun);

/// 3723.4 -> "1h02m03s"; 4.25 -> "4.2s".
std::string format_seconds(double seconds);

}  // namespace headrace
