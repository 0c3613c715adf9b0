#include "codec/gif.h"

#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/try.h"

namespace headrace {

struct GifState {
  GifFileType* codec = nullptr;
  ByteView bytes;
  size_t at = 0;
  int transparent = NO_TRANSPARENT_COLOR;  ///< index of a colour

  ~GifState() { close(); }
  void close() {
    int error = 0;
    if (codec != nullptr) DGifCloseFile(codec, &error);
    codec = nullptr;
  }
};

namespace {

int read_bytes(GifFileType* codec, GifByteType* into, int count) {
  auto* state = static_cast<GifState*>(codec->UserData);
  const size_t size = std::min(static_cast<size_t>(count), state->bytes.size() - state->at);
  if (size > 0) std::memcpy(into, state->bytes.data() + state->at, size);
  state->at += size;
  return static_cast<int>(size);
}

Error error_of(const GifState& state, int code) {
  const char* words = GifErrorString(code);
  return picture_error("GIF", std::string(words != nullptr ? words : "it cannot be read") +
                                  ", before byte " + std::to_string(state.at) + " of the field");
}

/// Extensions say which colour is transparent, and other things.
Status read_extension(GifState& state) {
  int code = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(state.codec, &code, &block) == GIF_ERROR)
    return error_of(state, state.codec->Error);
  while (block != nullptr) {
    GraphicsControlBlock control;
    if (code == GRAPHICS_EXT_FUNC_CODE &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
      state.transparent = control.TransparentColor;
    if (DGifGetExtensionNext(state.codec, &block) == GIF_ERROR)
      return error_of(state, state.codec->Error);
  }
  return Status();
}

/// Reads up to the first frame's pixels.
Status find_frame(GifState& state) {
  for (;;) {
    GifRecordType record = UNDEFINED_RECORD_TYPE;
    if (DGifGetRecordType(state.codec, &record) == GIF_ERROR)
      return error_of(state, state.codec->Error);
    if (record == TERMINATE_RECORD_TYPE) return picture_error("GIF", "it has no frame");
    if (record == EXTENSION_RECORD_TYPE) HR_CHECK(read_extension(state));
    if (record != IMAGE_DESC_RECORD_TYPE) continue;
    if (DGifGetImageDesc(state.codec) == GIF_ERROR) return error_of(state, state.codec->Error);
    return Status();
  }
}

/// The four passes of an interlaced frame: first line and distance of each.
constexpr std::array<std::array<int, 2>, 4> kPasses = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};

Status read_frame(GifState& state, int width, uint8_t* canvas) {
  const GifImageDesc& frame = state.codec->Image;
  const auto read_line = [&](int y) {
    uint8_t* line =
        canvas + static_cast<size_t>(frame.Top + y) * static_cast<size_t>(width) + frame.Left;
    return DGifGetLine(state.codec, line, frame.Width) != GIF_ERROR;
  };
  for (const auto& [first, step] : kPasses) {
    for (int y = frame.Interlace ? first : 0; y < frame.Height; y += frame.Interlace ? step : 1)
      if (!read_line(y)) return error_of(state, state.codec->Error);
    if (!frame.Interlace) break;
  }
  return Status();
}

}  // namespace

GifReader::GifReader() : state_(std::make_unique<GifState>()) {}
GifReader::~GifReader() = default;

Result<PictureHeader> GifReader::open(ByteView file, const PictureWish& wish) {
  state_->close();
  *state_ = GifState();
  state_->bytes = file;
  int error = 0;
  state_->codec = DGifOpen(state_.get(), read_bytes, &error);
  if (state_->codec == nullptr) return error_of(*state_, error);
  HR_CHECK(find_frame(*state_));
  const GifImageDesc& frame = state_->codec->Image;
  if (frame.Width < 1 || frame.Height < 1) return picture_error("GIF", "its frame is empty");
  header_ = {};
  header_.width = std::max(state_->codec->SWidth, frame.Left + frame.Width);
  header_.height = std::max(state_->codec->SHeight, frame.Top + frame.Height);
  const bool alpha = wish.channels == Channels::rgba ||
                     (wish.channels == Channels::unchanged && state_->transparent >= 0);
  header_.channels = alpha ? 4 : 3;
  return header_;
}

Result<Picture> GifReader::read(const Box& box, int, ReusedBuffer& into) {
  const GifFileType& codec = *state_->codec;
  const ColorMapObject* colors =
      codec.Image.ColorMap != nullptr ? codec.Image.ColorMap : codec.SColorMap;
  const int transparent = state_->transparent;
  const auto width = static_cast<size_t>(header_.width);
  canvas_.assign(width * static_cast<size_t>(header_.height),
                 static_cast<uint8_t>(std::max(transparent, 0)));
  HR_CHECK(read_frame(*state_, header_.width, canvas_.data()));

  std::array<std::array<uint8_t, 4>, 256> rgba{};
  for (int i = 0; i < 256; ++i) {
    GifColorType color{0, 0, 0};  // colours that the palette lacks are black
    if (colors != nullptr && i < colors->ColorCount) color = colors->Colors[i];
    if (colors == nullptr)
      color = {static_cast<uint8_t>(i), static_cast<uint8_t>(i), static_cast<uint8_t>(i)};
    rgba[static_cast<size_t>(i)] = {color.Red, color.Green, color.Blue,
                                    static_cast<uint8_t>(i == transparent ? 0 : 255)};
  }
  const auto channels = static_cast<size_t>(header_.channels);
  const size_t stride = static_cast<size_t>(box.width) * channels;
  uint8_t* pixels = into.take_pixels(stride * static_cast<size_t>(box.height));
  uint8_t* out = pixels;
  for (int y = box.top; y < box.top + box.height; ++y) {
    const uint8_t* line = canvas_.data() + static_cast<size_t>(y) * width;
    for (int x = box.left; x < box.left + box.width; ++x, out += channels)
      std::copy_n(rgba[line[x]].data(), channels, out);
  }
  return Picture{pixels, box.width, box.height, header_.channels, stride};
}

}  // namespace headrace
