#include "codec/jpeg.h"

// jpeglib.h needs size_t and FILE from here.
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>

namespace headrace {

/// Plain C data. The functions that longjmp may leave touch nothing else.
struct JpegState {
  jpeg_decompress_struct codec;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf leave;
  char words[JMSG_LENGTH_MAX];
  size_t file_size;
  size_t error_offset;
  bool in_scans;
};

namespace {

JpegState& state_of(j_common_ptr codec) { return *static_cast<JpegState*>(codec->client_data); }

[[noreturn]] void leave(JpegState& state) {
  state.error_offset = state.file_size - state.source.bytes_in_buffer;
  std::longjmp(state.leave, 1);
}

[[noreturn]] void leave_saying(JpegState& state, const char* words) {
  std::snprintf(state.words, sizeof state.words, "%s", words);
  leave(state);
}

void on_error(j_common_ptr codec) {
  JpegState& state = state_of(codec);
  state.errors.format_message(codec, state.words);
  leave(state);
}

void on_message(j_common_ptr codec, int level) {
  JpegState& state = state_of(codec);
  if (level >= 0) return;  // tracing
  switch (state.errors.msg_code) {
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
      return;  // no pixel depends on these
    case JWRN_EXTRANEOUS_DATA:
      if (!state.in_scans) return;
      break;
    default:
      break;
  }
  on_error(codec);
}

void on_progress(j_common_ptr codec) {
  const auto* decompress = reinterpret_cast<j_decompress_ptr>(codec);
  if (decompress->input_scan_number > kJpegScanLimit)
    leave_saying(state_of(codec), "more scans than any real file has");
}

void source_nothing(j_decompress_ptr) {}

boolean source_ended(j_decompress_ptr codec) {
  codec->src->bytes_in_buffer = 0;
  leave_saying(state_of(reinterpret_cast<j_common_ptr>(codec)), "the file ends too soon");
}

void source_skip(j_decompress_ptr codec, long count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) > codec->src->bytes_in_buffer) source_ended(codec);
  codec->src->next_input_byte += count;
  codec->src->bytes_in_buffer -= static_cast<size_t>(count);
}

/// Each block takes at least one bit in the first scan: a header that announces more is a lie, and
/// is found out before memory is taken for it.
bool has_data_for_blocks(const JpegState& state) {
  const jpeg_decompress_struct& codec = state.codec;
  const uint64_t blocks = uint64_t{(codec.image_width + 7) / 8} * ((codec.image_height + 7) / 8);
  // Where the first component is the one that is subsampled it has fewer blocks than that.
  const auto& first = codec.comp_info[0];
  const auto share = static_cast<uint64_t>(codec.max_h_samp_factor * codec.max_v_samp_factor) /
                     static_cast<uint64_t>(first.h_samp_factor * first.v_samp_factor);
  return blocks / (share == 0 ? 1 : share) / 8 <= state.file_size;
}

void choose_colors(jpeg_decompress_struct& codec, Channels wish) {
  const bool four = codec.num_components == 4;
  const bool one = codec.num_components == 1;
  if (four) {
    codec.out_color_space = JCS_CMYK;
  } else if (wish == Channels::gray || (wish == Channels::unchanged && one)) {
    codec.out_color_space = JCS_GRAYSCALE;
  } else {
    codec.out_color_space = wish == Channels::rgba ? JCS_EXT_RGBA : JCS_RGB;
  }
}

/// Leaf: false after an error.
bool open_leaf(JpegState& state, const unsigned char* bytes, Channels wish) {
  if (setjmp(state.leave) != 0) return false;
  jpeg_decompress_struct& codec = state.codec;
  jpeg_create_decompress(&codec);
  codec.client_data = &state;
  codec.progress = &state.progress;
  codec.src = &state.source;
  state.source.next_input_byte = bytes;
  state.source.bytes_in_buffer = state.file_size;
  jpeg_save_markers(&codec, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&codec, TRUE);
  if (codec.arith_code) leave_saying(state, "arithmetic coding is not supported");
  if (codec.num_components != 1 && codec.num_components != 3 && codec.num_components != 4)
    leave_saying(state, "it has a number of components other than 1, 3 and 4");
  state.in_scans = true;
  choose_colors(codec, wish);
  return true;
}

/// Leaf: false after an error.
bool read_leaf(JpegState& state, uint8_t* pixels) {
  constexpr JDIMENSION kLines = 16;
  if (setjmp(state.leave) != 0) return false;
  jpeg_decompress_struct& codec = state.codec;
  jpeg_start_decompress(&codec);
  const size_t stride = size_t{codec.output_width} * static_cast<size_t>(codec.output_components);
  JSAMPROW lines[kLines];
  while (codec.output_scanline < codec.output_height) {
    for (JDIMENSION i = 0; i < kLines; ++i)
      lines[i] = pixels + stride * (size_t{codec.output_scanline} + i);
    jpeg_read_scanlines(&codec, lines, kLines);
  }
  jpeg_finish_decompress(&codec);
  return true;
}

/// Inverted CMYK, as all writers make it, to RGB by Pillow's formula: (1 - k)(1 - c).
void cmyk_to_rgb(uint8_t* pixels, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* in = pixels + 4 * i;
    uint8_t* out = pixels + 3 * i;
    const uint32_t light = in[3];
    for (int c = 0; c < 3; ++c) {
      const uint32_t ink = 255u - in[c];
      const uint32_t product = ink * light + 128;
      out[c] = static_cast<uint8_t>(light - ((product + (product >> 8)) >> 8));
    }
  }
}

Error error_of(const JpegState& state) {
  return picture_error("JPEG", std::string(state.words) + ", at byte " +
                                   std::to_string(state.error_offset) + " of the field");
}

}  // namespace

JpegReader::JpegReader() : state_(std::make_unique<JpegState>()) {
  state_->codec.err = jpeg_std_error(&state_->errors);
  state_->errors.error_exit = on_error;
  state_->errors.emit_message = on_message;
  state_->progress.progress_monitor = on_progress;
  state_->source.init_source = source_nothing;
  state_->source.fill_input_buffer = source_ended;
  state_->source.skip_input_data = source_skip;
  state_->source.resync_to_restart = jpeg_resync_to_restart;
  state_->source.term_source = source_nothing;
}

JpegReader::~JpegReader() { jpeg_destroy_decompress(&state_->codec); }

Result<PictureHeader> JpegReader::open(ByteView file, Channels wish) {
  state_->file_size = file.size();
  // Set before jpeg_create_decompress, which keeps it, so that errors inside find their way.
  state_->codec.client_data = state_.get();
  if (!open_leaf(*state_, reinterpret_cast<const unsigned char*>(file.data()), wish))
    return error_of(*state_);
  const jpeg_decompress_struct& codec = state_->codec;
  if (!has_data_for_blocks(*state_))
    return picture_error("JPEG", "its header says " + std::to_string(codec.image_width) + " x " +
                                     std::to_string(codec.image_height) +
                                     " pixels, too many for its bytes");
  PictureHeader header;
  header.width = static_cast<int>(codec.image_width);
  header.height = static_cast<int>(codec.image_height);
  const bool cmyk = codec.out_color_space == JCS_CMYK;
  header.buffer_pixel = cmyk                                     ? 4
                        : codec.out_color_space == JCS_GRAYSCALE ? 1
                        : codec.out_color_space == JCS_EXT_RGBA  ? 4
                                                                 : 3;
  header.channels = cmyk ? 3 : header.buffer_pixel;
  constexpr std::string_view kExif("Exif\0\0", 6);
  for (auto* marker = codec.marker_list; marker != nullptr; marker = marker->next) {
    const ByteView data(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
    if (!as_text(data).starts_with(kExif)) continue;
    header.orientation = exif_orientation(data.subspan(kExif.size()));
    break;
  }
  return header;
}

Status JpegReader::read(uint8_t* pixels) {
  const bool cmyk = state_->codec.out_color_space == JCS_CMYK;
  if (!read_leaf(*state_, pixels)) return error_of(*state_);
  if (cmyk) cmyk_to_rgb(pixels, size_t{state_->codec.image_width} * state_->codec.image_height);
  return Status();
}

}  // namespace headrace
