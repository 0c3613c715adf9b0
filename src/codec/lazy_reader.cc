#include "codec/lazy_reader.h"

#include "base/lazy_library.h"
#include "base/try.h"

namespace headrace {

Result<PictureHeader> LazyReader::open(ByteView file, const PictureWish& wish) {
  if (!reader_) {
    HR_TRY(auto* make, lazy_function<MakePictureReader>(library_, kMakePictureReader));
    reader_.reset(make());
  }
  return reader_->open(file, wish);
}

Result<Picture> LazyReader::read(const Box& box, int shrink, ReusedBuffer& into) {
  return reader_->read(box, shrink, into);
}

}  // namespace headrace
