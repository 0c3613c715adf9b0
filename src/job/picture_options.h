// What pack and convert are told to do to pictures, and what they say of it afterwards.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace headrace {

/// What pack and convert do to pictures on their way into the shards: fields named jpg, png …
struct PictureOptions {
  /// The longer side becomes at most so many pixels; smaller pictures stay byte for byte. 0: any.
  /// JPEG files are written as JPEG again; other kinds are only shrunk together with `raw`.
  uint32_t max_side = 0;
  int quality = 90;  ///< of the JPEG that is written where a picture shrinks, 1 to 100
  /// Decoded: the field becomes `npy`, uint8 of height x width x channels.
  bool raw = false;
  /// JPEG files that are not baseline become so, without loss.
  bool baseline = false;
  bool strip = false;  ///< with baseline: all metadata goes, but for the EXIF orientation
  /// Every picture is decoded; a sample with one that cannot be is left out.
  bool drop_corrupt = false;

  bool changes_bytes() const { return max_side > 0 || raw || baseline; }
  bool any() const { return changes_bytes() || drop_corrupt; }
};

/// What was done to the pictures of the shards that this call wrote.
struct PictureReport {
  uint64_t pictures = 0;
  uint64_t changed = 0;
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  /// Decoding as a loader does it, on one thread, of a sample of the pictures before and after.
  uint64_t timed = 0;
  double seconds_before = 0;
  double seconds_after = 0;

  void add(const PictureReport& more);
};

/// As plans and recipes have them: what is not wanted is not there.
nlohmann::json picture_options_to_json(const PictureOptions& options);
/// Throws nlohmann's exceptions for what is no such thing.
PictureOptions picture_options_from_json(const nlohmann::json& in);

}  // namespace headrace
