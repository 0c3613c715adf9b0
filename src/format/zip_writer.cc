#include "format/zip_writer.h"

#include "base/little_endian.h"

namespace headrace {
namespace {

constexpr uint32_t kIn64 = 0xffffffff;
constexpr uint16_t kIn64Entries = 0xffff;
constexpr uint16_t kFirstDay = 0x21;  // 1980-01-01, the earliest that there is

bool is_large(uint64_t number) { return number >= kIn64; }

bool needs_64(const ZipEntry& entry) { return is_large(entry.size) || is_large(entry.packed_size); }

uint32_t low(uint64_t number, bool large) { return large ? kIn64 : static_cast<uint32_t>(number); }

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    const int more = first < 0x80                    ? 0
                     : first >= 0xc2 && first < 0xe0 ? 1
                     : first >= 0xe0 && first < 0xf0 ? 2
                     : first >= 0xf0 && first < 0xf5 ? 3
                                                     : -1;
    if (more < 0 || text.size() - i < static_cast<size_t>(more)) return false;
    for (int k = 0; k < more; ++k)
      if ((static_cast<unsigned char>(text[i++]) & 0xc0U) != 0x80) return false;
  }
  return true;
}

bool is_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

/// From "version needed" up to the sizes, which local header and directory have alike.
void append_common(std::string& out, const ZipEntry& entry, bool large, bool sizes) {
  const bool named = !is_ascii(entry.name) && is_utf8(entry.name);
  append_le(out, static_cast<uint16_t>(large ? 45 : 20));
  append_le(out, static_cast<uint16_t>((named ? 0x800 : 0) | (entry.described ? 8 : 0)));
  append_le(out, static_cast<uint16_t>(entry.deflated ? 8 : 0));
  append_le(out, uint16_t{0});
  append_le(out, kFirstDay);
  append_le(out, sizes ? entry.crc32 : 0);
  append_le(out, large ? kIn64 : sizes ? static_cast<uint32_t>(entry.packed_size) : 0);
  append_le(out, large ? kIn64 : sizes ? static_cast<uint32_t>(entry.size) : 0);
  append_le(out, static_cast<uint16_t>(entry.name.size()));
}

}  // namespace

void append_zip_header(std::string& out, const ZipEntry& entry) {
  const bool large = needs_64(entry);
  append_le(out, uint32_t{0x04034b50});
  append_common(out, entry, large, !entry.described);
  append_le(out, static_cast<uint16_t>(large ? 20 : 0));
  out += entry.name;
  if (!large) return;
  append_le(out, uint16_t{1});
  append_le(out, uint16_t{16});
  append_le(out, entry.described ? uint64_t{0} : entry.size);
  append_le(out, entry.described ? uint64_t{0} : entry.packed_size);
}

void append_zip_descriptor(std::string& out, const ZipEntry& entry) {
  append_le(out, uint32_t{0x08074b50});
  append_le(out, entry.crc32);
  if (needs_64(entry)) {
    append_le(out, entry.packed_size);
    append_le(out, entry.size);
  } else {
    append_le(out, static_cast<uint32_t>(entry.packed_size));
    append_le(out, static_cast<uint32_t>(entry.size));
  }
}

void append_zip_entry(std::string& out, const ZipEntry& entry) {
  constexpr uint32_t kMode = 0100444;
  const bool sizes = needs_64(entry);
  const bool far = is_large(entry.header_offset);
  append_le(out, uint32_t{0x02014b50});
  append_le(out, static_cast<uint16_t>(3 << 8 | 45));  // by Unix, so that the mode counts
  append_common(out, entry, sizes, true);
  const int extra = (sizes ? 16 : 0) + (far ? 8 : 0);
  append_le(out, static_cast<uint16_t>(extra > 0 ? extra + 4 : 0));
  append_le(out, uint16_t{0});  // comment
  append_le(out, uint16_t{0});  // disk
  append_le(out, uint16_t{0});  // kind of contents
  append_le(out, kMode << 16);
  append_le(out, low(entry.header_offset, far));
  out += entry.name;
  if (extra == 0) return;
  append_le(out, uint16_t{1});
  append_le(out, static_cast<uint16_t>(extra));
  if (sizes) append_le(out, entry.size);
  if (sizes) append_le(out, entry.packed_size);
  if (far) append_le(out, entry.header_offset);
}

void append_zip_end(std::string& out, uint64_t entries, uint64_t bytes, uint64_t offset) {
  const bool large = entries >= kIn64Entries || is_large(bytes) || is_large(offset);
  if (large) {
    append_le(out, uint32_t{0x06064b50});
    append_le(out, uint64_t{44});
    append_le(out, static_cast<uint16_t>(3 << 8 | 45));
    append_le(out, uint16_t{45});
    append_le(out, uint64_t{0});  // disks
    append_le(out, entries);
    append_le(out, entries);
    append_le(out, bytes);
    append_le(out, offset);
    append_le(out, uint32_t{0x07064b50});
    append_le(out, uint32_t{0});
    append_le(out, offset + bytes);
    append_le(out, uint32_t{1});
  }
  const auto count = large ? kIn64Entries : static_cast<uint16_t>(entries);
  append_le(out, uint32_t{0x06054b50});
  append_le(out, uint32_t{0});  // disks
  append_le(out, count);
  append_le(out, count);
  append_le(out, low(bytes, large));
  append_le(out, low(offset, large));
  append_le(out, uint16_t{0});  // comment
}

}  // namespace headrace
