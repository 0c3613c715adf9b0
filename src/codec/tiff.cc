#include "codec/tiff.h"

#ifdef HEADRACE_TIFF

#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

namespace headrace {

struct TiffState {
  TIFF* codec = nullptr;
  ByteView bytes;
  size_t at = 0;
  std::string words;  ///< of the first error

  ~TiffState() { close(); }
  void close() {
    if (codec != nullptr) TIFFClose(codec);
    codec = nullptr;
  }
};

namespace {

/// What libtiff may take at once beyond the pixels' own memory.
constexpr tmsize_t kMostMemory = tmsize_t{1} << 30;

/// Pixels of a tile, where the picture has fewer: libtiff takes memory for whole tiles.
constexpr uint64_t kMostOfTile = uint64_t{4096} * 4096;

tmsize_t read_bytes(thandle_t handle, void* into, tmsize_t count) {
  auto* state = static_cast<TiffState*>(handle);
  if (state->at >= state->bytes.size() || count <= 0) return 0;
  const size_t size = std::min(static_cast<size_t>(count), state->bytes.size() - state->at);
  std::memcpy(into, state->bytes.data() + state->at, size);
  state->at += size;
  return static_cast<tmsize_t>(size);
}

tmsize_t write_nothing(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  auto* state = static_cast<TiffState*>(handle);
  const size_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? state->at : state->bytes.size();
  state->at = from + offset;
  return state->at;
}

int close_nothing(thandle_t) { return 0; }

toff_t size_of(thandle_t handle) { return static_cast<TiffState*>(handle)->bytes.size(); }

int on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  auto* state = static_cast<TiffState*>(user);
  if (!state->words.empty()) return 1;
  char words[256];
  std::vsnprintf(words, sizeof words, format, arguments);
  state->words = words;
  return 1;
}

int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

TIFF* open_codec(TiffState& state) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, kMostMemory);
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &state);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, &state);
  TIFF* codec = TIFFClientOpenExt("field", "rm", &state, read_bytes, write_nothing, seek,
                                  close_nothing, size_of, nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  return codec;
}

Error error_of(const TiffState& state) {
  return picture_error("TIFF", state.words.empty() ? "it cannot be read" : state.words);
}

uint16_t short_tag(TIFF* codec, uint32_t tag) {
  uint16_t value = 0;
  TIFFGetFieldDefaulted(codec, tag, &value);
  return value;
}

/// libtiff's pixels: the first byte of each four is red on every machine.
struct Rgba {
  uint8_t red, green, blue, alpha;
};

}  // namespace

TiffReader::TiffReader() : state_(std::make_unique<TiffState>()) {}
TiffReader::~TiffReader() = default;

Result<PictureHeader> TiffReader::open(ByteView file, const PictureWish& wish) {
  state_->close();
  *state_ = TiffState();
  state_->bytes = file;
  state_->codec = open_codec(*state_);
  if (state_->codec == nullptr) return error_of(*state_);
  TIFF* codec = state_->codec;
  uint32_t width = 0, height = 0;
  TIFFGetField(codec, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(codec, TIFFTAG_IMAGELENGTH, &height);
  constexpr uint32_t kMost = 0x7FFFFFFF;
  if (width < 1 || height < 1 || width > kMost || height > kMost)
    return picture_error("TIFF", "its header gives no size");
  uint32_t tile_width = 0, tile_height = 0;
  if (TIFFIsTiled(codec) != 0) {
    TIFFGetField(codec, TIFFTAG_TILEWIDTH, &tile_width);
    TIFFGetField(codec, TIFFTAG_TILELENGTH, &tile_height);
  }
  const uint64_t most = std::max(kMostOfTile, uint64_t{width} * height);
  if (uint64_t{tile_width} * tile_height > most)
    return picture_error("TIFF", "its tiles are larger than it: " + std::to_string(tile_width) +
                                     " x " + std::to_string(tile_height) + " pixels");
  char words[1024] = "";
  const uint16_t format = short_tag(codec, TIFFTAG_SAMPLEFORMAT);
  if (format != SAMPLEFORMAT_UINT || TIFFRGBAImageOK(codec, words) == 0)
    return picture_error("TIFF", format != SAMPLEFORMAT_UINT
                                     ? "samples that are no unsigned integers are not supported"
                                     : words);
  const uint16_t photometric = short_tag(codec, TIFFTAG_PHOTOMETRIC);
  if (photometric == PHOTOMETRIC_CIELAB || photometric == PHOTOMETRIC_ICCLAB ||
      photometric == PHOTOMETRIC_ITULAB)
    return picture_error("TIFF", "Lab colours are not supported");
  uint16_t extras = 0;
  uint16_t* kinds = nullptr;
  TIFFGetFieldDefaulted(codec, TIFFTAG_EXTRASAMPLES, &extras, &kinds);
  const bool gray = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
  const bool alpha = extras > 0 && kinds[0] != EXTRASAMPLE_UNSPECIFIED;
  // libtiff would multiply colours by an alpha that is stored beside them: it is told otherwise.
  uint16_t associated = EXTRASAMPLE_ASSOCALPHA;
  if (extras == 1 && alpha) TIFFSetField(codec, TIFFTAG_EXTRASAMPLES, 1, &associated);
  header_ = {};
  header_.width = static_cast<int>(width);
  header_.height = static_cast<int>(height);
  header_.channels =
      wish.channels == Channels::rgba || (alpha && wish.channels == Channels::unchanged) ? 4
      : gray                                                                             ? 1
                                                                                         : 3;
  const uint16_t orientation = short_tag(codec, TIFFTAG_ORIENTATION);
  header_.orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
  return header_;
}

Result<Picture> TiffReader::read(const Box& box, int, ReusedBuffer& into) {
  TIFFRGBAImage image;
  char words[1024] = "";
  if (TIFFRGBAImageBegin(&image, state_->codec, 1, words) == 0) return picture_error("TIFF", words);
  // Lines as the file has them: the picture is turned later.
  image.orientation = ORIENTATION_TOPLEFT;
  image.req_orientation = ORIENTATION_TOPLEFT;
  if (image.Bitdepth16To8 != nullptr)
    for (uint32_t i = 0; i < 65536; ++i) image.Bitdepth16To8[i] = static_cast<uint8_t>(i >> 8);
  const auto width = static_cast<size_t>(header_.width);
  const auto height = static_cast<size_t>(header_.height);
  uint8_t* pixels = into.take_pixels(4 * width * height);
  const int done =
      TIFFRGBAImageGet(&image, reinterpret_cast<uint32_t*>(pixels), image.width, image.height);
  TIFFRGBAImageEnd(&image);
  if (done == 0 || !state_->words.empty()) return error_of(*state_);
  if (header_.channels < 4) {
    const auto* in = reinterpret_cast<const Rgba*>(pixels);
    const auto channels = static_cast<size_t>(header_.channels);
    for (size_t i = 0; i < width * height; ++i) {
      const Rgba pixel = in[i];  // what is written lies before what is read
      pixels[i * channels] = pixel.red;
      if (channels == 1) continue;
      pixels[i * channels + 1] = pixel.green;
      pixels[i * channels + 2] = pixel.blue;
    }
  }
  const Picture page{pixels, header_.width, header_.height, header_.channels,
                     width * static_cast<size_t>(header_.channels)};
  return cut(page, box);
}

}  // namespace headrace

#else  // built without libtiff

namespace headrace {

struct TiffState {};

TiffReader::TiffReader() = default;
TiffReader::~TiffReader() = default;

Result<PictureHeader> TiffReader::open(ByteView, const PictureWish&) {
  header_ = {};
  return Error{.code = Code::kCorrupt,
               .message = "this build of Headrace reads no TIFF",
               .hint = "Build it from its source, with libtiff, or convert the pictures."};
}

Result<Picture> TiffReader::read(const Box&, int, ReusedBuffer&) { return Picture{}; }

}  // namespace headrace

#endif
