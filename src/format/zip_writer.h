// The bytes of a zip archive around its members: pure functions, the same input gives the same
// bytes. No times, mode 0444. Names with bytes above 127 have the UTF-8 flag if they are UTF-8.
// Format: APPNOTE.TXT 6.3.10. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

struct ZipEntry {
  std::string_view name;  ///< at most 65,535 bytes
  bool deflated = false;  ///< else stored
  /// CRC and sizes stand behind the data, for they are not known before it.
  bool described = false;
  uint32_t crc32 = 0;
  uint64_t packed_size = 0;
  uint64_t size = 0;
  uint64_t header_offset = 0;
};

/// The local header, in front of the data. Of a described entry `size` says whether it needs zip64.
void append_zip_header(std::string& out, const ZipEntry& entry);
/// What follows the data of a described entry.
void append_zip_descriptor(std::string& out, const ZipEntry& entry);
/// The entry's place in the central directory.
void append_zip_entry(std::string& out, const ZipEntry& entry);
/// What follows a central directory of `bytes` bytes that begins at `offset`.
void append_zip_end(std::string& out, uint64_t entries, uint64_t bytes, uint64_t offset);

}  // namespace headrace
