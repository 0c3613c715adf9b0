#include "codec/jpeg_write.h"

// jpeglib.h needs size_t and FILE from here.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "codec/jpeg.h"
#include "codec/orientation.h"

namespace headrace {
namespace {

/// Plain C data. The functions that longjmp may leave touch nothing else.
struct Transcoder {
  jpeg_decompress_struct in{};
  jpeg_compress_struct out{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf leave{};
  char words[JMSG_LENGTH_MAX] = "";
  bool in_scans = false;
  unsigned char* bytes = nullptr;  ///< of the finished file, by libjpeg's malloc
  unsigned long size = 0;

  Transcoder();
  Transcoder(const Transcoder&) = delete;
  Transcoder& operator=(const Transcoder&) = delete;
  ~Transcoder() {
    jpeg_destroy_compress(&out);
    jpeg_destroy_decompress(&in);
    std::free(bytes);  // NOLINT(cppcoreguidelines-owning-memory,cppcoreguidelines-no-malloc)
  }
  Error error() const { return picture_error("JPEG", words); }
};

Transcoder& state_of(j_common_ptr codec) { return *static_cast<Transcoder*>(codec->client_data); }

void on_error(j_common_ptr codec) {
  Transcoder& state = state_of(codec);
  state.errors.format_message(codec, state.words);
  std::longjmp(state.leave, 1);
}

// Damaged data is an error, as in JpegReader; but no pixel depends on these.
void on_message(j_common_ptr codec, int level) {
  const Transcoder& state = state_of(codec);
  const int code = state.errors.msg_code;
  const bool harmless = code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
                        code == JWRN_BOGUS_ICC || (code == JWRN_EXTRANEOUS_DATA && !state.in_scans);
  if (level < 0 && !harmless) on_error(codec);
}

void on_progress(j_common_ptr codec) {
  const auto* decompress = reinterpret_cast<j_decompress_ptr>(codec);
  if (!codec->is_decompressor || decompress->input_scan_number <= kJpegScanLimit) return;
  Transcoder& state = state_of(codec);
  std::snprintf(state.words, sizeof state.words, "more scans than any real file has");
  std::longjmp(state.leave, 1);
}

Transcoder::Transcoder() {
  in.err = out.err = jpeg_std_error(&errors);
  errors.error_exit = on_error;
  errors.emit_message = on_message;
  progress.progress_monitor = on_progress;
  in.client_data = out.client_data = this;
}

/// Leaf: false after an error.
bool open_leaf(Transcoder& state, const unsigned char* bytes, size_t size) {
  if (setjmp(state.leave) != 0) return false;
  jpeg_create_decompress(&state.in);
  state.in.progress = &state.progress;
  for (int app = 0; app < 16; ++app) jpeg_save_markers(&state.in, JPEG_APP0 + app, 0xFFFF);
  jpeg_save_markers(&state.in, JPEG_COM, 0xFFFF);
  jpeg_mem_src(&state.in, bytes, size);
  jpeg_read_header(&state.in, TRUE);
  state.in_scans = true;
  return true;
}

bool is_marker(const jpeg_marker_struct& marker, int app, const char* name, unsigned length) {
  return marker.marker == JPEG_APP0 + app && marker.data_length >= length &&
         std::equal(name, name + length, marker.data);
}

/// JFIF and Adobe segments are written by libjpeg itself where the colours ask for them.
void copy_markers_leaf(Transcoder& state) {
  for (auto* marker = state.in.marker_list; marker != nullptr; marker = marker->next) {
    if (state.out.write_JFIF_header && is_marker(*marker, 0, "JFIF", 5)) continue;
    if (state.out.write_Adobe_marker && is_marker(*marker, 14, "Adobe", 5)) continue;
    jpeg_write_marker(&state.out, marker->marker, marker->data, marker->data_length);
  }
}

/// An EXIF segment of one entry: tag 0x0112, a SHORT.
void write_orientation_leaf(Transcoder& state, int orientation) {
  unsigned char exif[] = {'E',  'x',  'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1,
                          0x01, 0x12, 0,   3,   0, 0, 0,   1,   0, 0,  0, 0, 0, 0, 0, 0};
  exif[25] = static_cast<unsigned char>(orientation);
  jpeg_write_marker(&state.out, JPEG_APP0 + 1, exif, sizeof exif);
}

/// Leaf: the file's coefficients, which the codec owns; nullptr after an error.
jvirt_barray_ptr* read_leaf(Transcoder& state) {
  if (setjmp(state.leave) != 0) return nullptr;
  return jpeg_read_coefficients(&state.in);
}

/// Whether every bit of every coefficient has come; only progressive files keep count.
bool is_complete(const jpeg_decompress_struct& in) {
  if (in.coef_bits == nullptr) return true;
  for (int component = 0; component < in.num_components; ++component)
    for (const int missing : in.coef_bits[component])
      if (missing != 0) return false;
  return true;
}

/// Leaf: false after an error.
bool transcode_leaf(Transcoder& state, jvirt_barray_ptr* coefficients, bool keep, int orientation) {
  if (setjmp(state.leave) != 0) return false;
  jpeg_create_compress(&state.out);
  jpeg_mem_dest(&state.out, &state.bytes, &state.size);
  jpeg_copy_critical_parameters(&state.in, &state.out);
  state.out.optimize_coding = TRUE;
  jpeg_write_coefficients(&state.out, coefficients);
  if (keep)
    copy_markers_leaf(state);
  else if (orientation != 1)
    write_orientation_leaf(state, orientation);
  jpeg_finish_compress(&state.out);
  jpeg_finish_decompress(&state.in);
  return true;
}

/// Leaf: false after an error.
bool encode_leaf(Transcoder& state, const Picture& picture, int quality) {
  if (setjmp(state.leave) != 0) return false;
  jpeg_compress_struct& out = state.out;
  jpeg_create_compress(&out);
  jpeg_mem_dest(&out, &state.bytes, &state.size);
  out.image_width = static_cast<JDIMENSION>(picture.width);
  out.image_height = static_cast<JDIMENSION>(picture.height);
  out.input_components = picture.channels;
  out.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&out);
  jpeg_set_quality(&out, quality, TRUE);
  out.optimize_coding = TRUE;
  jpeg_start_compress(&out, TRUE);
  while (out.next_scanline < out.image_height) {
    // libjpeg's interface knows no const; it only reads.
    JSAMPROW line = const_cast<JSAMPROW>(picture.line(static_cast<int>(out.next_scanline)));
    jpeg_write_scanlines(&out, &line, 1);
  }
  jpeg_finish_compress(&out);
  return true;
}

int orientation_of(const jpeg_decompress_struct& in) {
  for (auto* marker = in.marker_list; marker != nullptr; marker = marker->next)
    if (is_marker(*marker, 1, "Exif\0", 6))
      return exif_orientation(
          ByteView(reinterpret_cast<const std::byte*>(marker->data), marker->data_length)
              .subspan(6));
  return 1;
}

/// Each block takes at least a bit in the first scan, which may have a sixteenth of them.
bool has_data_for_blocks(const jpeg_decompress_struct& in, size_t file_size) {
  const uint64_t blocks = uint64_t{(in.image_width + 7) / 8} * ((in.image_height + 7) / 8);
  return blocks / 16 / 8 <= file_size;
}

bool open(Transcoder& state, ByteView file) {
  return open_leaf(state, reinterpret_cast<const unsigned char*>(file.data()), file.size());
}

/// Whether the first frame header is SOF0: read from the segments, as libjpeg does not tell.
bool has_baseline_frame(ByteView file) {
  const auto byte = [&](size_t at) {
    return at < file.size() ? std::to_integer<unsigned>(file[at]) : 0U;
  };
  for (size_t at = 2; at + 4 <= file.size();) {
    if (byte(at) != 0xFF) return false;
    const unsigned marker = byte(at + 1);
    if (marker == 0xFF) {  // a fill byte
      ++at;
      continue;
    }
    if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC)
      return marker == 0xC0;
    at += 2 + (byte(at + 2) << 8 | byte(at + 3));
  }
  return false;
}

}  // namespace

Status encode_jpeg(const Picture& picture, int quality, std::string& out) {
  Transcoder state;
  if (!encode_leaf(state, picture, quality)) return state.error();
  out.append(reinterpret_cast<const char*>(state.bytes), state.size);
  return {};
}

Result<JpegFacts> read_jpeg_facts(ByteView file) {
  Transcoder state;
  if (!open(state, file)) return state.error();
  return JpegFacts{.width = static_cast<int>(state.in.image_width),
                   .height = static_cast<int>(state.in.image_height),
                   .baseline = has_baseline_frame(file),
                   .orientation = orientation_of(state.in)};
}

Result<bool> jpeg_to_baseline(ByteView file, JpegMetadata metadata, std::string& out) {
  Transcoder state;
  if (!open(state, file)) return state.error();
  if (!has_data_for_blocks(state.in, file.size()))
    return picture_error("JPEG", "its header says more pixels than its bytes can hold");
  jvirt_barray_ptr* coefficients = read_leaf(state);
  if (coefficients == nullptr) return state.error();
  if (!is_complete(state.in)) return false;
  const bool keep = metadata == JpegMetadata::kKeep;
  if (!transcode_leaf(state, coefficients, keep, orientation_of(state.in))) return state.error();
  out.append(reinterpret_cast<const char*>(state.bytes), state.size);
  return true;
}

}  // namespace headrace
