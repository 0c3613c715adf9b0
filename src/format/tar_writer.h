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
// Only a name that does not fit, or a size of 8 GiB and more, is preceded by one pax header ('x')
// with the records `path` and `size` as needed, and nothing else. Names are bytes: they need not be
// ASCII or UTF-8.
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

/// Appends the header, or headers, of a regular member. Precondition: `name` is not
/// empty, holds no NUL byte and does not end with a slash.
void append_tar_header(std::string& out, std::string_view name, uint64_t size);

/// How many bytes append_tar_header would append.
uint64_t tar_header_bytes(std::string_view name, uint64_t size);

/// Zero bytes that follow a payload of `size` bytes.
inline constexpr uint64_t tar_padding(uint64_t size) { return (kTarBlock - size) % kTarBlock; }

/// Appends the two zero blocks.
void append_tar_end(std::string& out);

}  // namespace headrace
