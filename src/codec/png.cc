#include "codec/png.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/big_endian.h"
#include "codec/orientation.h"

namespace headrace {

/// Plain C data. The functions that longjmp may leave touch nothing else.
struct PngState {
  Arena* memory;
  png_structp codec;
  png_infop info;
  png_infop end;
  std::jmp_buf leave;
  char words[256];
  const std::byte* bytes;
  size_t size;
  size_t at;
  size_t data_at;      ///< where the image data begins, if `bytes` are not the file's any more
  size_t stored_bits;  ///< a pixel, as the file has it: 1 to 64
  size_t stride;
};

namespace {

[[noreturn]] void on_error(png_structp codec, png_const_charp words) {
  auto* state = static_cast<PngState*>(png_get_error_ptr(codec));
  std::snprintf(state->words, sizeof state->words, "%s", words);
  std::longjmp(state->leave, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp codec, png_bytep into, size_t count) {
  auto* state = static_cast<PngState*>(png_get_io_ptr(codec));
  if (count > state->size - state->at) png_error(codec, "the file ends too soon");
  std::memcpy(into, state->bytes + state->at, count);
  state->at += count;
}

/// Gray and palettes of 1 to 16 bits, or RGB of 8: what class numbers are kept in.
void choose_numbers(PngState& state) {
  const int type = png_get_color_type(state.codec, state.info);
  const int depth = png_get_bit_depth(state.codec, state.info);
  if ((type & PNG_COLOR_MASK_ALPHA) != 0 || (type == PNG_COLOR_TYPE_RGB && depth == 16))
    png_error(state.codec, "a mask is gray, has a palette, or is RGB of 8 bits");
  if (depth == 16) png_set_swap(state.codec);
  png_set_packing(state.codec);
}

void choose_transforms(PngState& state, Channels wish) {
  const int type = png_get_color_type(state.codec, state.info);
  if (png_get_bit_depth(state.codec, state.info) == 16) png_set_strip_16(state.codec);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(state.codec);
  if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(state.codec);
  if (wish == Channels::rgb || wish == Channels::gray) {
    png_set_strip_alpha(state.codec);
  } else if (png_get_valid(state.codec, state.info, PNG_INFO_tRNS) != 0) {
    png_set_tRNS_to_alpha(state.codec);
  }
}

/// Chunks that change no pixel are skipped, so that nobody inflates their text.
void skip_other_chunks(png_structp codec) {
  png_set_keep_unknown_chunks(codec, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  static const png_byte kWanted[] = "tRNS\0eXIf";
  png_set_keep_unknown_chunks(codec, PNG_HANDLE_CHUNK_AS_DEFAULT, kWanted, 2);
}

png_voidp take_memory(png_structp codec, png_alloc_size_t size) {
  return static_cast<Arena*>(png_get_mem_ptr(codec))->take(size);
}

/// All of it is given back before the next file.
void free_later(png_structp, png_voidp) {}

/// Leaf: false after an error. Takes no memory for the size that the header announces.
bool open_leaf(PngState& state) {
  if (setjmp(state.leave) != 0) return false;
  state.codec = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning,
                                         state.memory, take_memory, free_later);
  if (state.codec == nullptr) return false;
  state.info = png_create_info_struct(state.codec);
  state.end = png_create_info_struct(state.codec);
  if (state.info == nullptr || state.end == nullptr) png_error(state.codec, "out of memory");
  png_set_read_fn(state.codec, &state, read_bytes);
  png_set_crc_action(state.codec, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_set_user_limits(state.codec, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  skip_other_chunks(state.codec);
  png_read_info(state.codec, state.info);
  state.stored_bits = size_t{png_get_channels(state.codec, state.info)} *
                      png_get_bit_depth(state.codec, state.info);
  return true;
}

/// Leaf: false after an error. What the pixels are to become; takes no memory for them.
bool choose_leaf(PngState& state, const PictureWish& wish) {
  if (setjmp(state.leave) != 0) return false;
  if (wish.numbers) {
    choose_numbers(state);
  } else {
    choose_transforms(state, wish.channels);
  }
  png_set_interlace_handling(state.codec);
  return true;
}

/// Leaf: false after an error. Takes memory for lines as long as the header announces.
bool start_leaf(PngState& state) {
  if (setjmp(state.leave) != 0) return false;
  png_read_update_info(state.codec, state.info);
  state.stride = png_get_rowbytes(state.codec, state.info);
  return true;
}

/// What the image data inflates to: lines, each behind a byte that names its filter.
size_t raw_bytes(const PngState& state) {
  const png_uint_32 width = png_get_image_width(state.codec, state.info);
  const png_uint_32 height = png_get_image_height(state.codec, state.info);
  const auto pass_bytes = [&](size_t columns, size_t rows) {
    return columns == 0 ? 0 : rows * (1 + (columns * state.stored_bits + 7) / 8);
  };
  if (png_get_interlace_type(state.codec, state.info) != PNG_INTERLACE_ADAM7)
    return pass_bytes(width, height);
  size_t bytes = 0;
  for (int pass = 0; pass < 7; ++pass)
    bytes += pass_bytes(PNG_PASS_COLS(width, pass), PNG_PASS_ROWS(height, pass));
  return bytes;
}

/// Goes on with other bytes than the file's, whose checksums were looked at.
void read_from(PngState& state, ByteView bytes) {
  state.data_at = state.at;
  state.bytes = bytes.data();
  state.size = bytes.size();
  state.at = 0;
  png_set_crc_action(state.codec, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
}

/// Leaf: false after an error.
bool read_leaf(PngState& state, uint8_t* pixels) {
  if (setjmp(state.leave) != 0) return false;
  const png_uint_32 height = png_get_image_height(state.codec, state.info);
  const int passes = png_get_interlace_type(state.codec, state.info) == PNG_INTERLACE_ADAM7 ? 7 : 1;
  for (int pass = 0; pass < passes; ++pass)
    for (png_uint_32 y = 0; y < height; ++y)
      png_read_row(state.codec, pixels + state.stride * y, nullptr);
  png_read_end(state.codec, state.end);
  return true;
}

/// As it is decoded, once the codec has started.
int pixel_bytes(const PngState& state) {
  return png_get_channels(state.codec, state.info) * png_get_bit_depth(state.codec, state.info) / 8;
}

/// The same before that: the codec says it only when it has taken memory for a line.
int pixel_bytes_to_come(const PngState& state, const PictureWish& wish) {
  const int type = png_get_color_type(state.codec, state.info);
  if (wish.numbers) {
    const int numbers = png_get_channels(state.codec, state.info);
    return png_get_bit_depth(state.codec, state.info) == 16 ? 2 * numbers : numbers;
  }
  const bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 ||
                         png_get_valid(state.codec, state.info, PNG_INFO_tRNS) != 0;
  const bool drops_alpha = wish.channels == Channels::rgb || wish.channels == Channels::gray;
  return ((type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) + (has_alpha && !drops_alpha ? 1 : 0);
}

Error error_of(const PngState& state) {
  const std::string where = state.data_at > 0
                                ? ", in the image data from byte " + std::to_string(state.data_at)
                                : ", before byte " + std::to_string(state.at);
  return picture_error("PNG", state.words + where + " of the field");
}

void close(PngState& state) {
  if (state.codec != nullptr) png_destroy_read_struct(&state.codec, &state.info, &state.end);
}

/// The orientation in the eXIf chunk, wherever it is; it may follow the pixels.
int orientation_in(ByteView file) {
  constexpr size_t kSignature = 8;
  constexpr size_t kAroundData = 12;  // length, name; checksum
  for (size_t at = kSignature; file.size() - at >= kAroundData;) {
    const uint64_t size = load_be32(file.data() + at);
    if (size > file.size() - at - kAroundData) return 1;
    if (as_text(file.subspan(at + 4, 4)) == "eXIf")
      return exif_orientation(file.subspan(at + 8, size));
    at += kAroundData + size;
  }
  return 1;
}

/// What deflate can at most make of a byte (zlib's technical details: 1032:1).
constexpr uint64_t kDeflateGain = 1032;

}  // namespace

PngReader::PngReader() : state_(std::make_unique<PngState>()) {}

PngReader::~PngReader() { close(*state_); }

Result<PictureHeader> PngReader::open(ByteView file, const PictureWish& wish) {
  close(*state_);
  memory_.clear();
  *state_ = {};
  state_->memory = &memory_;
  state_->bytes = file.data();
  state_->size = file.size();
  if (!open_leaf(*state_)) return error_of(*state_);
  const uint64_t width = png_get_image_width(state_->codec, state_->info);
  const uint64_t height = png_get_image_height(state_->codec, state_->info);
  if (width * state_->stored_bits / 8 * height / kDeflateGain > file.size())
    return picture_error("PNG", "its header says " + std::to_string(width) + " x " +
                                    std::to_string(height) + " pixels, too many for its bytes");
  if (!choose_leaf(*state_, wish)) return error_of(*state_);
  PictureHeader header;
  header.width = static_cast<int>(width);
  header.height = static_cast<int>(height);
  header.channels = pixel_bytes_to_come(*state_, wish);
  header.orientation = orientation_in(file);
  return header;
}

Result<Picture> PngReader::read(const Box& box, int, ReusedBuffer& into) {
  if (!start_leaf(*state_)) return error_of(*state_);
  const png_uint_32 width = png_get_image_width(state_->codec, state_->info);
  const png_uint_32 height = png_get_image_height(state_->codec, state_->info);
  uint8_t* pixels = into.take_pixels(state_->stride * height);
  const ByteView file(state_->bytes, state_->size);
  const ByteView data = image_data_.stored(file, state_->at, raw_bytes(*state_));
  if (!data.empty()) read_from(*state_, data);
  if (!read_leaf(*state_, pixels)) return error_of(*state_);
  const Picture picture{pixels, static_cast<int>(width), static_cast<int>(height),
                        pixel_bytes(*state_), state_->stride};
  return cut(picture, box);
}

}  // namespace headrace
