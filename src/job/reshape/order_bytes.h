// Numbers and texts as bytes that compare as they do: what SpillSort sorts by.
// Thread-safety: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

void append_ordered(std::string& out, uint32_t number);
void append_ordered(std::string& out, uint64_t number);
void append_ordered(std::string& out, int64_t number);
/// -0 is 0. No NaN.
void append_ordered(std::string& out, double number);
/// With its end, so that something may follow.
void append_ordered(std::string& out, std::string_view text);
/// The same where digits compare as numbers: a2 before a10. Bytes otherwise, and where nothing else
/// differs (01 before 1).
void append_natural(std::string& out, std::string_view text);

/// The last eight bytes, which append_ordered() of a uint64_t wrote.
uint64_t last_number(std::string_view bytes);
/// The eight bytes from `at` on.
uint64_t number_at(std::string_view bytes, size_t at);

}  // namespace headrace
