#include "codec/text.h"

#include <cstdint>
#include <cstring>
#include <string>

namespace headrace {
namespace {

/// Length of the sequence at `at`, 0 if it is none. The table of RFC 3629, section 4.
size_t sequence_length(const uint8_t* at, size_t left) {
  const uint8_t lead = at[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (left < length) return 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (lead == 0xE0) low = 0xA0;   // overlong
  if (lead == 0xED) high = 0x9F;  // surrogates
  if (lead == 0xF0) low = 0x90;   // overlong
  if (lead == 0xF4) high = 0x8F;  // above U+10FFFF
  if (at[1] < low || at[1] > high) return 0;
  for (size_t i = 2; i < length; ++i)
    if ((at[i] & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

size_t utf8_error(ByteView text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const size_t size = text.size();
  size_t i = 0;
  while (i < size) {
    // Eight ASCII characters at once while there are such.
    uint64_t word = 0;
    while (size - i >= sizeof word) {
      std::memcpy(&word, bytes + i, sizeof word);
      if ((word & 0x8080808080808080u) != 0) break;
      i += sizeof word;
    }
    if (i == size) break;
    const size_t length = sequence_length(bytes + i, size - i);
    if (length == 0) return i;
    i += length;
  }
  return size;
}

Status check_utf8(ByteView text) {
  const size_t bad = utf8_error(text);
  if (bad == text.size()) return Status();
  return Error{Code::kCorrupt,
               "not UTF-8 text: byte " + std::to_string(bad) + " of the field starts no character",
               {},
               "read the field as bytes, or convert the files to UTF-8"};
}

}  // namespace headrace
