// What a payload measures besides its bytes, so that samples of like length can be dealt to one
// step without anybody reading them: pixels of a picture, tokens of a text. An index keeps one
// number a member, and one unit a field.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace {

/// As indexes and records have them: the numbers stay.
enum class Unit : uint8_t {
  kNone = 0,    ///< not measured
  kPixels = 1,  ///< of a picture: width times height
  kTokens = 2,  ///< elements of an npy array or of a JSON list, else words between white space
  kFrames = 3,  ///< length of the first axis of an npy array, sample frames of WAV and FLAC
  kValue = 4,   ///< the number that the field itself says
};

inline constexpr std::array<std::string_view, 5> kUnitNames{"none", "pixels", "tokens", "frames",
                                                            "value"};

inline std::string_view unit_name(Unit unit) { return kUnitNames[static_cast<size_t>(unit)]; }

/// By its name; not "none".
inline std::optional<Unit> parse_unit(std::string_view name) {
  for (size_t i = 1; i < kUnitNames.size(); ++i)
    if (kUnitNames[i] == name) return static_cast<Unit>(i);
  return std::nullopt;
}

/// As it is stored; nothing for a number that no unit has.
inline std::optional<Unit> unit_of(uint64_t stored) {
  if (stored >= kUnitNames.size()) return std::nullopt;
  return static_cast<Unit>(stored);
}

struct Measure {
  Unit unit = Unit::kNone;
  uint64_t value = 0;
  bool operator==(const Measure&) const = default;
};

}  // namespace headrace
