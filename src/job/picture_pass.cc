#include "job/picture_pass.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/thread_time.h"
#include "base/try.h"
#include "codec/jpeg_write.h"
#include "codec/npy.h"

namespace headrace {
namespace {

std::string_view ending(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // the whole name without a dot
}

bool is_picture_ending(std::string_view word) {
  constexpr std::array<std::string_view, 12> kEndings = {
      "jpg", "jpeg", "png", "webp", "gif", "tif", "tiff", "bmp", "ppm", "pgm", "pnm", "avif"};
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(kEndings.begin(), kEndings.end(), lower) != kEndings.end();
}

bool is_jpeg(ByteView file) { return as_text(file).starts_with("\xFF\xD8\xFF"); }

Error usage(std::string message) {
  return {.code = Code::kUsage, .message = std::move(message), .origin = {}, .hint = {}};
}

Status check(const PictureOptions& o) {
  if (o.quality < 1 || o.quality > 100) return usage("the quality of a JPEG is 1 to 100");
  if (o.raw && o.baseline)
    return usage("pictures that are decoded (raw-uint8) cannot become baseline JPEG as well");
  if (o.strip && !o.baseline) return usage("metadata is stripped only together with baseline");
  return {};
}

Result<std::unique_ptr<Decoder>> decoder_of(FieldKind kind) {
  return make_decoder(
      {.name = "picture", .sources = {"picture"}, .kind = std::move(kind), .fallback = {}});
}

ImageSpec stored_picture() {
  ImageSpec spec;
  spec.channels = Channels::unchanged;
  spec.layout = Layout::hwc;
  return spec;
}

}  // namespace

bool is_picture_name(std::string_view path) {
  return path.find('.') != path.npos && is_picture_field(path);
}

bool is_picture_field(std::string_view field) { return is_picture_ending(ending(field)); }

std::string packed_field(const PictureOptions& options, const std::string& field) {
  const std::string_view last = ending(field);
  if (!options.raw || !is_picture_ending(last)) return field;
  return field.substr(0, field.size() - last.size()) + "npy";
}

Result<PicturePass> PicturePass::make(const PictureOptions& options) {
  HR_CHECK(check(options));
  PicturePass pass(options);
  HR_TRY(pass.whole_, decoder_of(stored_picture()));
  if (options.max_side > 0) {
    ImageSpec spec = stored_picture();
    spec.ops = {Resize{.by = Resize::By::longer, .height = static_cast<int>(options.max_side)}};
    HR_TRY(pass.shrunk_, decoder_of(spec));
  }
  if (options.raw) {
    HR_TRY(pass.array_, decoder_of(NpySpec{}));
  }
  return pass;
}

Result<ByteView> PicturePass::run(ByteView file, uint64_t position, PictureReport& report) {
  constexpr uint64_t kTimedOneIn = 16;
  HR_TRY(const ByteView result, change(file));
  if (options_.changes_bytes() && position % kTimedOneIn == 0) time(file, result, report);
  ++report.pictures;
  report.changed += result.data() != file.data() ? 1 : 0;
  report.bytes_before += file.size();
  report.bytes_after += result.size();
  return result;
}

Result<ByteView> PicturePass::change(ByteView file) {
  out_.clear();
  if (options_.raw) return make_raw(file);
  bool decoded = false;
  ByteView result = file;
  if (options_.changes_bytes() && is_jpeg(file)) {
    HR_TRY(result, change_jpeg(file, decoded));
  }
  if (options_.drop_corrupt && !decoded) HR_CHECK(whole_->decode_dynamic(file, {}, scratch_));
  return result;
}

Result<ByteView> PicturePass::make_raw(ByteView file) {
  HR_TRY(DynamicRow row, whole_->decode_dynamic(file, {}, scratch_));
  const auto larger = static_cast<int64_t>(options_.max_side);
  if (larger > 0 && std::max(row.shape[0], row.shape[1]) > larger) {
    HR_TRY(row, shrunk_->decode_dynamic(file, {}, scratch_));
  }
  out_ = npy_header_u8(row.shape);
  out_ += as_text(row.bytes);
  return as_bytes(out_);
}

Result<ByteView> PicturePass::change_jpeg(ByteView file, bool& decoded) {
  HR_TRY(const JpegFacts facts, read_jpeg_facts(file));
  const auto longer = static_cast<uint32_t>(std::max(facts.width, facts.height));
  if (options_.max_side > 0 && longer > options_.max_side) {
    decoded = true;
    return shrink_jpeg(file);
  }
  if (!options_.baseline || (facts.baseline && !options_.strip)) return file;
  const auto metadata = options_.strip ? JpegMetadata::kStrip : JpegMetadata::kKeep;
  HR_TRY(const bool done, jpeg_to_baseline(file, metadata, out_));
  return done ? as_bytes(out_) : file;
}

Result<ByteView> PicturePass::shrink_jpeg(ByteView file) {
  HR_TRY(const DynamicRow row, shrunk_->decode_dynamic(file, {}, scratch_));
  const auto channels = static_cast<size_t>(row.shape[2]);
  const Picture picture{.pixels = reinterpret_cast<const uint8_t*>(row.bytes.data()),
                        .width = static_cast<int>(row.shape[1]),
                        .height = static_cast<int>(row.shape[0]),
                        .channels = static_cast<int>(channels),
                        .stride = static_cast<size_t>(row.shape[1]) * channels};
  HR_CHECK(encode_jpeg(picture, options_.quality, out_));
  return as_bytes(out_);
}

// Decodes both once more, with a clock; says nothing if that fails.
void PicturePass::time(ByteView before, ByteView after, PictureReport& report) {
  using Seconds = std::chrono::duration<double>;
  const auto begin = thread_time();
  if (!whole_->decode_dynamic(before, {}, scratch_).ok()) return;
  const auto between = thread_time();
  if (!(options_.raw ? array_ : whole_)->decode_dynamic(after, {}, scratch_).ok()) return;
  report.seconds_before += Seconds(between - begin).count();
  report.seconds_after += Seconds(thread_time() - between).count();
  ++report.timed;
}

}  // namespace headrace
