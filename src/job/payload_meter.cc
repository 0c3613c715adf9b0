#include "job/payload_meter.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/little_endian.h"
#include "base/try.h"
#include "codec/npy.h"
#include "codec/picture.h"

namespace headrace {
namespace {

Error unmeasured(const std::string& why) { return {.code = Code::kCorrupt, .message = why}; }

bool is_npy(ByteView payload) { return as_text(payload).starts_with("\x93NUMPY"); }

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

uint64_t count_words(std::string_view text) {
  uint64_t words = 0;
  bool inside = false;
  for (const char c : text) {
    words += !inside && !is_space(c) ? 1 : 0;
    inside = !is_space(c);
  }
  return words;
}

// Of a JSON list; nothing for any other text. Keeps nothing of the list.
std::optional<uint64_t> count_elements(std::string_view text) {
  using nlohmann::json;
  if (!text.starts_with('[')) return std::nullopt;
  uint64_t elements = 0;
  using Event = json::parse_event_t;
  const auto count = [&elements](int depth, Event event, const json&) {
    const bool begins =
        event == Event::value || event == Event::array_start || event == Event::object_start;
    if (depth == 1 && begins) ++elements;
    return depth == 0;
  };
  if (json::parse(text, count, false).is_discarded()) return std::nullopt;
  return elements;
}

Result<uint64_t> count_tokens(ByteView payload, std::vector<int64_t>& shape) {
  if (is_npy(payload)) {
    HR_TRY([[maybe_unused]] const NpyArray array, parse_npy(payload, shape));
    uint64_t elements = 1;
    for (const int64_t side : shape) elements *= static_cast<uint64_t>(side);
    return elements;
  }
  const std::string_view text = trimmed(as_text(payload));
  return count_elements(text).value_or(count_words(text));
}

/// Whether blocks of this format tag are sample frames: PCM, float, A-law, mu-law, extensible.
bool has_plain_frames(uint16_t tag) {
  return tag == 1 || tag == 3 || tag == 6 || tag == 7 || tag == 0xfffe;
}

/// RIFF: "fmt " says how many bytes a sample frame has, "data" how many there are.
Result<uint64_t> count_wav_frames(ByteView payload) {
  uint64_t frame_bytes = 0;
  for (size_t at = 12; at + 8 <= payload.size();) {
    const std::string_view name = as_text(payload.subspan(at, 4));
    const uint64_t size = load_le<uint32_t>(payload.data() + at + 4);
    const uint64_t there = std::min<uint64_t>(size, payload.size() - at - 8);
    if (name == "fmt " && there >= 16) {
      if (!has_plain_frames(load_le<uint16_t>(payload.data() + at + 8)))
        return unmeasured("the WAV file is compressed: its blocks are no sample frames");
      frame_bytes = load_le<uint16_t>(payload.data() + at + 20);
    }
    if (name == "data" && size != there)
      return unmeasured("the WAV file is shorter than it says, or was written to a stream");
    if (name == "data" && size == 0 && at + 8 < payload.size())
      return unmeasured("the WAV file does not say how long it is");
    if (name == "data" && frame_bytes > 0) return there / frame_bytes;
    at += 8 + there + there % 2;
  }
  return unmeasured("the WAV file has no 'fmt ' and 'data' chunks");
}

/// STREAMINFO, the first block: 36 bits, of which 0 means that the encoder did not know.
Result<uint64_t> count_flac_frames(ByteView payload) {
  constexpr size_t kTotal = 4 + 4 + 13;  // mark, block header, what stands before
  if (payload.size() < kTotal + 5 || (std::to_integer<unsigned>(payload[4]) & 0x7fU) != 0)
    return unmeasured("the FLAC file does not begin with STREAMINFO");
  uint64_t total = std::to_integer<uint64_t>(payload[kTotal]) & 0xfU;
  for (size_t i = 1; i < 5; ++i)
    total = total << 8 | std::to_integer<uint64_t>(payload[kTotal + i]);
  if (total == 0) return unmeasured("the FLAC file does not say how long it is");
  return total;
}

Result<uint64_t> count_frames(ByteView payload, std::vector<int64_t>& shape) {
  const std::string_view text = as_text(payload);
  if (is_npy(payload)) {
    HR_TRY([[maybe_unused]] const NpyArray array, parse_npy(payload, shape));
    return shape.empty() ? 1 : static_cast<uint64_t>(shape.front());
  }
  if (text.starts_with("RIFF") && text.substr(0, 12).ends_with("WAVE"))
    return count_wav_frames(payload);
  if (text.starts_with("fLaC")) return count_flac_frames(payload);
  return unmeasured("frames are counted in npy, WAV and FLAC files; this is none of them");
}

Result<uint64_t> read_value(ByteView payload) {
  const std::string_view text = trimmed(as_text(payload));
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
  return unmeasured("it is not a whole number from 0 on");
}

}  // namespace

Result<uint64_t> PayloadMeter::pixels(ByteView payload) {
  HR_TRY(const PictureKind kind, sniff_picture(payload));
  HR_TRY(const PictureHeader header, readers_.of(kind).open(payload, {}));
  return static_cast<uint64_t>(header.width) * static_cast<uint64_t>(header.height);
}

Result<Measure> PayloadMeter::measure(Unit unit, ByteView payload) {
  const auto count = [&]() -> Result<uint64_t> {
    switch (unit) {
      case Unit::kPixels:
        return pixels(payload);
      case Unit::kTokens:
        return count_tokens(payload, shape_);
      case Unit::kFrames:
        return count_frames(payload, shape_);
      case Unit::kValue:
        return read_value(payload);
      case Unit::kNone:
        break;
    }
    return 0;
  };
  HR_TRY(const uint64_t value, count());
  return Measure{unit, value};
}

}  // namespace headrace
