// A reader of pictures that lies in a lazy library (base/lazy_library.h): the library is loaded
// when the first file comes. Its C function headrace_make_picture_reader gives the reader.
#pragma once

#include <memory>

#include "codec/picture_reader.h"

namespace headrace {

using MakePictureReader = PictureReader*();
inline constexpr const char* kMakePictureReader = "headrace_make_picture_reader";

class LazyReader final : public PictureReader {
 public:
  /// `library`: its NAME in headrace_lazy_library.
  explicit LazyReader(const char* library) : library_(library) {}

  Result<PictureHeader> open(ByteView file, const PictureWish& wish) override;
  Result<Picture> read(const Box& box, int shrink, ReusedBuffer& into) override;

 private:
  const char* library_;
  std::unique_ptr<PictureReader> reader_;
};

}  // namespace headrace
