// The readers of all kinds of pictures, of one thread: each is made when the first file of its kind
// comes, and kept.
#pragma once

#include <array>
#include <memory>

#include "codec/picture_reader.h"

namespace headrace {

class PictureReaders {
 public:
  PictureReader& of(PictureKind kind);

 private:
  std::array<std::unique_ptr<PictureReader>, kPictureKinds> readers_;
};

}  // namespace headrace
