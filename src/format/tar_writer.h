// The bytes of a tar archive around its payloads: pure functions, the same input gives the same
// bytes.
//
//   append_tar_header(out, "n01/a.jpg", 1255);  payload;  tar_padding(1255) zero bytes;  …
//   append_tar_end(out);
//
// Every member is a plain ustar header:
//
//   name     up to 100 bytes, or prefix/name split at a '/' up to 155 + 100
//   mode     0444      uid, gid 0, no owner names      mtime 0      type '0'
//
// and a TarAttributes puts other values there. Only a name or an owner's name that does not fit, or
// a size of 8 GiB and more, is preceded by one pax header ('x') with the records `path`, `uname`,
// `gname` and `size` as needed, and nothing else. Names are bytes: they need not be ASCII or UTF-8.
//
// The archive ends with two zero blocks and is not padded to 10,240 bytes: the record size matters
// to tape drives alone, all readers of today go by the two blocks, and shards stay small.
//
// Format: POSIX.1-2017, pax. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/tar_fields.h"

namespace headrace {

inline constexpr uint64_t kTarEndBytes = 2 * kTarBlock;

/// What a header says about a member besides its name and size.
struct TarAttributes {
  uint32_t mode = 0444;  ///< its low twelve bits are written
  uint64_t mtime = 0;    ///< whole seconds since 1970, at most kLargestTarTime
  std::string user;      ///< without NUL bytes
  std::string group;
};

inline constexpr uint64_t kLargestTarTime = (uint64_t{1} << 33) - 1;  // eleven octal digits

/// Appends the header, or headers, of a regular member. Precondition: `name` is not
/// empty, holds no NUL byte and does not end with a slash.
void append_tar_header(std::string& out, std::string_view name, uint64_t size,
                       const TarAttributes& attributes = {});

/// How many bytes append_tar_header would append with the default attributes.
uint64_t tar_header_bytes(std::string_view name, uint64_t size);

/// Zero bytes that follow a payload of `size` bytes.
inline constexpr uint64_t tar_padding(uint64_t size) { return (kTarBlock - size) % kTarBlock; }

/// Appends the two zero blocks.
void append_tar_end(std::string& out);

}  // namespace headrace
