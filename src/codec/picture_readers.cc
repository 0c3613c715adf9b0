#include "codec/picture_readers.h"

#include "codec/bmp.h"
#include "codec/gif.h"
#include "codec/jpeg.h"
#include "codec/lazy_reader.h"
#include "codec/png.h"
#include "codec/pnm.h"
#include "codec/tiff.h"
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
    case PictureKind::gif:
      return std::make_unique<GifReader>();
    case PictureKind::tiff:
      return std::make_unique<TiffReader>();
    case PictureKind::bmp:
      return std::make_unique<BmpReader>();
    case PictureKind::pnm:
      return std::make_unique<PnmReader>();
    case PictureKind::avif:
      return std::make_unique<LazyReader>("avif");
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
