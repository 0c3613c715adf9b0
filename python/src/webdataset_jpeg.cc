// Parts of JPEG files for Pillow pictures that wait with their decoding (waiting_picture.py).
//
// Pillow keeps RGB in four bytes a pixel, so that is what comes out here; its pictures then lie on
// this memory. All functions are pure and release the GIL. The answer None means: ask Pillow.
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "bindings.h"
#include "codec/resample.h"
#include "codec/scratch.h"

namespace headrace::python {
namespace {

/// left, top, right, bottom, as Pillow has it.
using Corners = std::tuple<int, int, int, int>;

constexpr size_t kPixelBytes = 4;

ByteView view_of(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

Scratch::Buffers& scratch() {
  thread_local Scratch own;
  return own.buffers();
}

uint8_t at(ByteView file, size_t place) { return static_cast<uint8_t>(file[place]); }

/// The place behind the header of the only scan; 0 if it is no baseline file of one scan with all
/// of its components. Format: ITU-T T.81, annex B.
size_t only_scan(ByteView file) {
  constexpr uint8_t kBaseline = 0xc0, kExtended = 0xc1, kHuffmanTables = 0xc4, kScan = 0xda;
  uint8_t components = 0;
  size_t place = 2;
  while (place + 10 <= file.size() && at(file, place) == 0xff) {
    const uint8_t marker = at(file, place + 1);
    const size_t length = size_t{at(file, place + 2)} << 8 | at(file, place + 3);
    const bool is_frame = marker >= 0xc0 && marker <= 0xcf && marker != kHuffmanTables;
    if (is_frame) {
      if (components != 0 || (marker != kBaseline && marker != kExtended)) return 0;
      if (at(file, place + 4) != 8) return 0;
      components = at(file, place + 9);
      if (components != 1 && components != 3) return 0;
    }
    if (marker == kScan) return at(file, place + 4) == components ? place + 2 + length : 0;
    if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd9)) return 0;  // has no length
    place += 2 + length;
  }
  return 0;
}

/// Whether only coded data comes from `place` to the mark of the end.
bool ends_well(ByteView file, size_t place) {
  while (place + 1 < file.size()) {
    const void* found = std::memchr(file.data() + place, 0xff, file.size() - 1 - place);
    if (found == nullptr) return false;
    place = static_cast<size_t>(static_cast<const std::byte*>(found) - file.data());
    const uint8_t next = at(file, place + 1);
    if (next == 0xd9) return true;
    if (next != 0 && (next < 0xd0 || next > 0xd7)) return false;
    place += 2;
  }
  return false;
}

/// Opens the file and decodes a box, or says nothing.
std::optional<Picture> decode(ByteView file, Channels channels, const Box& box,
                              ReusedBuffer& into) {
  PictureReader& reader = scratch().readers.of(PictureKind::jpeg);
  const Result<PictureHeader> header = reader.open(file, {channels, false});
  if (!header.ok() || !box.inside({header->height, header->width})) return std::nullopt;
  Result<Picture> picture = reader.read(box, 1, into);
  if (!picture.ok()) return std::nullopt;
  return *picture;
}

/// True where decoding later cannot fail: the header and its tables are good, one scan follows, and
/// then the end. What is wrong inside of the scan is no error to Pillow but gray pixels.
bool may_wait(const nb::bytes& bytes) {
  nb::gil_scoped_release unlocked;
  const ByteView file = view_of(bytes);
  const size_t scan = only_scan(file);
  if (scan == 0 || !ends_well(file, scan)) return false;
  return decode(file, Channels::rgb, {0, 0, 1, 1}, scratch().decoded).has_value();
}

Box box_of(const Corners& corners) {
  const auto [left, top, right, bottom] = corners;
  return {top, left, bottom - top, right - left};
}

/// Pixels in some memory.
struct Pixels {
  uint8_t* begin = nullptr;
  size_t size = 0;
};

/// An array that owns the memory; None if there is nothing.
nb::object to_array(const Pixels& pixels, std::unique_ptr<ReusedBuffer> memory) {
  if (pixels.begin == nullptr) return nb::none();
  const nb::capsule owner(memory.release(), [](void* held) noexcept {
    const std::unique_ptr<ReusedBuffer> ends(static_cast<ReusedBuffer*>(held));
  });
  return nb::cast(nb::ndarray<nb::numpy, uint8_t>(pixels.begin, {pixels.size}, owner));
}

/// Moves the lines of a picture in memory of ours together, over the columns beside them.
Pixels close_up(const Picture& picture) {
  const size_t line = static_cast<size_t>(picture.width) * kPixelBytes;
  auto* const begin = const_cast<uint8_t*>(picture.pixels);
  uint8_t* out = begin;
  for (int y = 0; y < picture.height; ++y, out += line) std::memmove(out, picture.line(y), line);
  return {begin, line * static_cast<size_t>(picture.height)};
}

/// The pixels of the box, or None.
nb::object pixels(const nb::bytes& file, const Corners& corners) {
  auto memory = std::make_unique<ReusedBuffer>();
  Pixels found;
  {
    nb::gil_scoped_release unlocked;
    const std::optional<Picture> picture =
        decode(view_of(file), Channels::rgba, box_of(corners), *memory);
    if (picture && picture->channels == kPixelBytes) found = close_up(*picture);
  }
  return to_array(found, std::move(memory));
}

Pixels with_fourth_byte(const Picture& picture, uint8_t fourth, ReusedBuffer& into) {
  const auto width = static_cast<size_t>(picture.width);
  const size_t size = width * static_cast<size_t>(picture.height) * kPixelBytes;
  uint8_t* const begin = into.take_pixels(size);
  uint8_t* out = begin;
  for (int y = 0; y < picture.height; ++y) {
    const uint8_t* in = picture.line(y);
    for (size_t x = 0; x < width; ++x, in += 3, out += kPixelBytes) {
      out[0] = in[0];
      out[1] = in[1];
      out[2] = in[2];
      out[3] = fourth;
    }
  }
  return {begin, size};
}

/// The box scaled to (width, height), or None.
nb::object resized(const nb::bytes& file, const Corners& corners, std::tuple<int, int> size,
                   Interpolation filter) {
  auto memory = std::make_unique<ReusedBuffer>();
  const auto [width, height] = size;
  Pixels found;
  {
    nb::gil_scoped_release unlocked;
    Scratch::Buffers& own = scratch();
    const Box box = box_of(corners);
    const std::optional<Picture> picture = decode(view_of(file), Channels::rgb, box, own.decoded);
    if (picture && picture->channels == 3) {
      const Scaling scaling{box.size(), {height, width}, {0, 0, height, width}, filter};
      const uint8_t fourth = filter == Interpolation::nearest ? 255 : 0;  // as Pillow leaves it
      found = with_fourth_byte(resize(*picture, {}, scaling, own.resized[0], own), fourth, *memory);
    }
  }
  return to_array(found, std::move(memory));
}

/// Pillow's numbers of its filters; a filter that only Pillow has is None's business.
nb::object resized_by_number(const nb::bytes& file, const Corners& corners,
                             std::tuple<int, int> size, int filter) {
  constexpr Interpolation kFilters[] = {Interpolation::nearest, Interpolation::lanczos,
                                        Interpolation::bilinear, Interpolation::bicubic,
                                        Interpolation::box};
  if (filter < 0 || filter >= static_cast<int>(std::size(kFilters))) return nb::none();
  return resized(file, corners, size, kFilters[filter]);
}

}  // namespace

void bind_webdataset_jpeg(nb::module_& module) {
  module.def("jpeg_may_wait", &may_wait, nb::arg("file"));
  module.def("jpeg_pixels", &pixels, nb::arg("file"), nb::arg("corners"));
  module.def("jpeg_resized", &resized_by_number, nb::arg("file"), nb::arg("corners"),
             nb::arg("size"), nb::arg("filter"));
}

}  // namespace headrace::python
