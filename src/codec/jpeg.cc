#include "codec/jpeg.h"

#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <string>

#include "codec/jpeg_memory.h"
#include "codec/orientation.h"

namespace headrace {

/// Plain C data, and memory for the codec. The functions that longjmp may leave touch nothing else.
struct JpegState {
  jpeg_decompress_struct codec;
  jpeg_decompress_struct fresh;  ///< the codec as it was made: each file begins with that
  jpeg_memory_mgr* own_memory;   ///< of the codec, for what it takes when it is made
  JpegMemory memory;             ///< for what a file takes
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf leave;
  char words[JMSG_LENGTH_MAX];
  size_t file_size;
  size_t error_offset;
  bool in_scans;  ///< the header was read
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
bool create_leaf(JpegState& state) {
  jpeg_decompress_struct& codec = state.codec;
  if (setjmp(state.leave) != 0) {
    jpeg_destroy_decompress(&codec);
    return false;
  }
  jpeg_create_decompress(&codec);
  codec.progress = &state.progress;
  codec.src = &state.source;
  jpeg_save_markers(&codec, JPEG_APP0 + 1, 0xFFFF);
  state.own_memory = codec.mem;
  state.fresh = codec;
  state.fresh.mem = state.memory.manager();
  return true;
}

/// Leaf: false after an error.
bool open_leaf(JpegState& state, const unsigned char* bytes, const PictureWish& wish) {
  if (setjmp(state.leave) != 0) return false;
  jpeg_decompress_struct& codec = state.codec;
  state.source.next_input_byte = bytes;
  state.source.bytes_in_buffer = state.file_size;
  jpeg_read_header(&codec, TRUE);
  if (codec.arith_code) leave_saying(state, "arithmetic coding is not supported");
  if (codec.data_precision != 8) leave_saying(state, "other than 8 bits are not supported");
  if (codec.num_components != 1 && codec.num_components != 3 && codec.num_components != 4)
    leave_saying(state, "it has a number of components other than 1, 3 and 4");
  state.in_scans = true;
  choose_colors(codec, wish.channels);
  if (wish.fast) {
    codec.dct_method = JDCT_FASTEST;
    codec.do_fancy_upsampling = FALSE;
  }
  return true;
}

/// Leaf: false after an error. The size of the whole picture at this scale is known then.
bool start_leaf(JpegState& state, int shrink) {
  if (setjmp(state.leave) != 0) return false;
  state.codec.scale_num = 1;
  state.codec.scale_denom = static_cast<unsigned>(shrink);
  jpeg_start_decompress(&state.codec);
  return true;
}

/// The columns that are decoded for some columns of the picture.
struct Columns {
  JDIMENSION left;
  JDIMENSION width;
};

/// Fancy upsampling mixes each pixel's colour from two neighbours, and the codec takes the edge of
/// what it decodes for the edge of the picture; so one more colour sample is decoded on each side.
/// It also changes its method where it decodes less than three colour samples a line.
Columns with_margin(const jpeg_decompress_struct& codec, int left, int width) {
  const int sample = codec.max_h_samp_factor;
  const int all = static_cast<int>(codec.output_width);
  const int begin = std::max(0, std::min(left - sample, all - 4 * sample));
  const int end = std::min(all, std::max(left + width + sample, begin + 4 * sample));
  return {static_cast<JDIMENSION>(begin), static_cast<JDIMENSION>(end - begin)};
}

/// True for a progressive file that leaves some detail out: the codec then smooths each block by
/// its neighbours, also by those outside of a box.
bool smooths_blocks(const jpeg_decompress_struct& codec) {
  if (!codec.progressive_mode || codec.coef_bits == nullptr) return false;
  for (int c = 0; c < codec.num_components; ++c)
    for (int i = 0; i < DCTSIZE2; ++i)
      if (codec.coef_bits[c][i] != 0) return true;
  return false;
}

/// Leaf: false after an error. Decodes no other columns from now on; the codec moves the first one
/// to the left, to where a block begins.
bool crop_leaf(JpegState& state, Columns& columns) {
  if (setjmp(state.leave) != 0) return false;
  jpeg_crop_scanline(&state.codec, &columns.left, &columns.width);
  return true;
}

/// Leaf: false after an error. Lines [top, top + height).
bool read_leaf(JpegState& state, JDIMENSION top, JDIMENSION height, uint8_t* pixels) {
  constexpr JDIMENSION kLines = 16;
  if (setjmp(state.leave) != 0) return false;
  jpeg_decompress_struct& codec = state.codec;
  if (top > 0) jpeg_skip_scanlines(&codec, top);
  const size_t stride = size_t{codec.output_width} * static_cast<size_t>(codec.output_components);
  JSAMPROW lines[kLines];
  for (JDIMENSION done = 0; done < height;) {
    const JDIMENSION count = std::min(kLines, height - done);
    for (JDIMENSION i = 0; i < count; ++i) lines[i] = pixels + stride * (size_t{done} + i);
    done += jpeg_read_scanlines(&codec, lines, count);
  }
  if (codec.output_scanline == codec.output_height) jpeg_finish_decompress(&codec);
  return true;
}

/// Whether the mark of the end follows behind what was read: it cannot occur inside of coded data.
/// Files of several scans have been read to their end before the first line.
bool end_follows(JpegState& state) {
  if (jpeg_has_multiple_scans(&state.codec) || state.codec.unread_marker == JPEG_EOI) return true;
  const auto* begin = state.source.next_input_byte;
  for (const auto* at = begin + state.source.bytes_in_buffer; at - begin >= 2; --at)
    if (at[-2] == 0xFF && at[-1] == JPEG_EOI) return true;
  return false;
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
  jpeg_decompress_struct& codec = state_->codec;
  codec.err = jpeg_std_error(&state_->errors);
  // Set before jpeg_create_decompress, which keeps it, so that errors inside find their way.
  codec.client_data = state_.get();
  state_->errors.error_exit = on_error;
  state_->errors.emit_message = on_message;
  state_->progress.progress_monitor = on_progress;
  state_->source.init_source = source_nothing;
  state_->source.fill_input_buffer = source_ended;
  state_->source.skip_input_data = source_skip;
  state_->source.resync_to_restart = jpeg_resync_to_restart;
  state_->source.term_source = source_nothing;
}

JpegReader::~JpegReader() {
  if (state_->own_memory != nullptr) state_->codec.mem = state_->own_memory;
  jpeg_destroy_decompress(&state_->codec);
}

Result<PictureHeader> JpegReader::open(ByteView file, const PictureWish& wish) {
  state_->file_size = file.size();
  state_->in_scans = false;
  if (state_->own_memory == nullptr && !create_leaf(*state_)) return error_of(*state_);
  // A codec that is used again would keep the tables of the file before, which this one may lack.
  state_->codec = state_->fresh;
  state_->memory.clear();
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
  header.channels = codec.out_color_space == JCS_GRAYSCALE  ? 1
                    : codec.out_color_space == JCS_EXT_RGBA ? 4
                                                            : 3;
  if (wish.fast) header.largest_shrink = 8;
  constexpr std::string_view kExif("Exif\0\0", 6);
  for (auto* marker = codec.marker_list; marker != nullptr; marker = marker->next) {
    const ByteView data(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
    if (!as_text(data).starts_with(kExif)) continue;
    header.orientation = exif_orientation(data.subspan(kExif.size()));
    break;
  }
  return header;
}

Result<Picture> JpegReader::read(const Box& box, int shrink, ReusedBuffer& into) {
  const jpeg_decompress_struct& codec = state_->codec;
  if (!start_leaf(*state_, shrink)) return error_of(*state_);
  const Box scaled = divided(box, shrink);
  const Size all{static_cast<int>(codec.output_height), static_cast<int>(codec.output_width)};
  const Box part = smooths_blocks(codec) ? Box{0, 0, all.height, all.width} : scaled;
  Columns columns{0, codec.output_width};
  if (part.width < all.width) {
    columns = with_margin(codec, part.left, part.width);
    if (!crop_leaf(*state_, columns)) return error_of(*state_);
  }
  const auto pixel = static_cast<size_t>(codec.output_components);
  const size_t decoded = size_t{codec.output_width} * static_cast<size_t>(part.height);
  uint8_t* pixels = into.take_pixels(decoded * pixel);
  if (!read_leaf(*state_, static_cast<JDIMENSION>(part.top), static_cast<JDIMENSION>(part.height),
                 pixels))
    return error_of(*state_);
  if (codec.output_scanline < codec.output_height && !end_follows(*state_))
    return picture_error("JPEG", "its end is missing, after " + std::to_string(state_->file_size) +
                                     " bytes of the field");
  const bool cmyk = codec.out_color_space == JCS_CMYK;
  if (cmyk) cmyk_to_rgb(pixels, decoded);
  const int channels = cmyk ? 3 : codec.output_components;
  const Picture lines{pixels, static_cast<int>(codec.output_width), part.height, channels,
                      size_t{codec.output_width} * static_cast<size_t>(channels)};
  return cut(lines, {scaled.top - part.top, scaled.left - static_cast<int>(columns.left),
                     scaled.height, scaled.width});
}

}  // namespace headrace
