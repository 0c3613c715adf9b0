#include "codec/picture_readers.h"

#include "codec/jpeg.h"
#include "codec/png.h"
#include "codec/webp.h"

namespace headrace {
namespace {

std::unique_ptr<PictureReader> make_reader(PictureKind kind) {
  switch (kind) {
    case PictureKind::jpeg:
      return std::make_unique<JpegReader>();
    case PictureKind::png:
      return std::make_unique<PngReader>();
    case PictureKind::webp:
      return std::make_unique<WebpReader>();
  }
  return nullptr;
}

}  // namespace

PictureReader& PictureReaders::of(PictureKind kind) {
  auto& reader = readers_[static_cast<size_t>(kind)];
  if (!reader) reader = make_reader(kind);
  return *reader;
}

}  // namespace headrace
