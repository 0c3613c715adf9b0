#include "codec/png_write.h"

#include <png.h>

#include <array>

namespace headrace {

Status encode_png(const Picture& picture, std::string& out) {
  constexpr std::array<png_uint_32, 4> kFormats = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                                   PNG_FORMAT_RGBA};
  // The simplified interface: it holds no C++ objects and returns instead of jumping.
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = kFormats[static_cast<size_t>(picture.channels - 1)];
  const auto stride = static_cast<png_int_32>(picture.stride);
  png_alloc_size_t size = 0;
  const auto write = [&](char* into) {
    return png_image_write_to_memory(&image, into, &size, 0, picture.pixels, stride, nullptr) != 0;
  };
  bool done = write(nullptr);  // asks for the size
  if (done) {
    const size_t before = out.size();
    out.resize(before + size);
    done = write(out.data() + before);
    out.resize(done ? before + size : before);
  }
  if (done) return {};
  return Error{.code = Code::kFailure,
               .message = std::string("cannot write a PNG: ") + image.message,
               .origin = {},
               .hint = {}};
}

}  // namespace headrace
