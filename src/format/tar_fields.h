// The fields of a tar header block, and the two number formats and the checksum in it.
//
// Format: POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format"
// (base-256 numbers, types L, K and S). Offsets and sizes are bytes in the 512-byte block.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headrace/bytes.h"

namespace headrace {

inline constexpr uint64_t kTarBlock = 512;

/// `size` rounded up to whole blocks. Precondition: size < 2^63.
inline constexpr uint64_t tar_padded(uint64_t size) {
  return (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

struct TarField {
  size_t offset;
  size_t size;
};

inline constexpr TarField kTarName{0, 100};
inline constexpr TarField kTarMode{100, 8};
inline constexpr TarField kTarUid{108, 8};
inline constexpr TarField kTarGid{116, 8};
inline constexpr TarField kTarSize{124, 12};
inline constexpr TarField kTarMtime{136, 12};
inline constexpr TarField kTarChecksum{148, 8};
inline constexpr TarField kTarType{156, 1};
inline constexpr TarField kTarLinkname{157, 100};
inline constexpr TarField kTarMagic{257, 6};
inline constexpr TarField kTarVersion{263, 2};
inline constexpr TarField kTarUser{265, 32};
inline constexpr TarField kTarGroup{297, 32};
inline constexpr TarField kTarDevMajor{329, 8};
inline constexpr TarField kTarDevMinor{337, 8};
inline constexpr TarField kTarPrefix{345, 155};

/// The text of a field: up to its first NUL or its end.
std::string_view tar_text(ByteView block, TarField field);

/// The number in a field, octal or base-256; blank is 0. Nothing if it is no number, is negative or
/// does not fit 63 bits.
std::optional<uint64_t> tar_number(ByteView block, TarField field);

/// The sum of all bytes of the block; 0 only for a block of zeros.
uint32_t tar_byte_sum(ByteView block);

/// The header checksum: the sum with the checksum field taken as eight spaces.
uint32_t tar_checksum(ByteView block, uint32_t byte_sum);

/// The same with bytes taken as signed, which some old writers did.
int32_t tar_signed_checksum(ByteView block);

}  // namespace headrace
