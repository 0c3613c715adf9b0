#include "format/parquet/media_kind.h"

#include <algorithm>
#include <array>

namespace headrace::parquet {
namespace {

using namespace std::string_view_literals;

struct Begin {
  size_t at;
  std::string_view bytes;
  std::string_view kind;
};

// Later rows are looked at only where earlier ones do not fit.
constexpr std::array kBegins = {
    Begin{0, "\xff\xd8\xff"sv, "jpg"}, Begin{0, "\x89PNG\r\n\x1a\n"sv, "png"},
    Begin{0, "GIF8"sv, "gif"},         Begin{8, "WEBP"sv, "webp"},
    Begin{4, "ftypavif"sv, "avif"},    Begin{0, "II*\0"sv, "tif"},
    Begin{0, "MM\0*"sv, "tif"},        Begin{0, "fLaC"sv, "flac"},
    Begin{8, "WAVE"sv, "wav"},         Begin{0, "OggS"sv, "ogg"},
    Begin{0, "ID3"sv, "mp3"},          Begin{4, "ftypisom"sv, "mp4"},
    Begin{4, "ftypmp42"sv, "mp4"},
};

}  // namespace

std::string media_kind(std::string_view bytes, std::string_view path) {
  constexpr size_t kLongest = 8;
  for (const Begin& begin : kBegins)
    if (bytes.size() >= begin.at && bytes.substr(begin.at).starts_with(begin.bytes))
      return std::string(begin.kind);
  const size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || path.size() - dot - 1 > kLongest) return {};
  std::string kind(path.substr(dot + 1));
  for (char& c : kind) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) return {};
  }
  return kind;
}

}  // namespace headrace::parquet
