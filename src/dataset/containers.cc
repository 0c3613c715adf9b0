#include "dataset/containers.h"

#include <array>
#include <utility>

#include "base/try.h"
#include "dataset/decoded_source.h"
#include "format/frame_scan.h"
#include "io/urls.h"

namespace headrace {
namespace {

constexpr std::array<std::pair<std::string_view, Container>, 7> kSuffixes{{
    {".tar", Container::kTar},
    {".tgz", Container::kTarGz},
    {".tar.gz", Container::kTarGz},
    {".tar.lz4", Container::kTarLz4},
    {".tar.zst", Container::kTarZst},
    {".tzst", Container::kTarZst},
    {".zip", Container::kZip},
}};

}  // namespace

std::optional<Container> container_of(std::string_view path) {
  const std::string_view name = without_query(path);
  for (const auto& [suffix, container] : kSuffixes)
    if (name.ends_with(suffix)) return container;
  return std::nullopt;
}

std::string_view container_suffix(Container container) {
  for (const auto& [suffix, known] : kSuffixes)
    if (known == container) return suffix;
  return {};
}

Result<Container> common_container(const std::vector<std::string>& paths) {
  const auto first = container_of(paths.front());
  for (const std::string& path : paths)
    if (container_of(path) != first)
      return Error{.code = Code::kUsage,
                   .message = "the shards are of several kinds, as '" +
                              std::string(without_query(paths.front())) + "' and '" +
                              std::string(without_query(path)) + "'",
                   .origin = {},
                   .hint = "Name those of one kind, and mix the data sets."};
  return first.value_or(Container::kTar);
}

Encoding container_encoding(Container container) {
  switch (container) {
    case Container::kTarGz:
      return Encoding::kGzip;
    case Container::kTarLz4:
      return Encoding::kLz4;
    case Container::kTarZst:
      return Encoding::kZstd;
    case Container::kTar:
    case Container::kFiles:
    case Container::kZip:
      break;
  }
  return Encoding::kStored;
}

Encoding frame_encoding(Container container) {
  if (container == Container::kZip) return Encoding::kDeflate;
  return container == Container::kTarGz ? Encoding::kDeflatePart : container_encoding(container);
}

Result<ArchiveView> view_archive(std::shared_ptr<const ByteSource> object, Container container,
                                 const ReadAt& read) {
  if (!is_compressed(container)) return ArchiveView{std::move(object), {}};
  auto frames = scan_frames(container_encoding(container), object->size(), read);
  if (!frames.ok()) return std::move(frames).error().at({.shard = object->name()});
  auto bytes = std::make_shared<DecodedSource>(
      std::move(object), std::make_shared<const FrameMap>(*frames), DecodedFrames::make(), 0);
  return ArchiveView{std::move(bytes), std::move(*frames)};
}

Result<IndexedArchive> index_container(const std::shared_ptr<const ByteSource>& object,
                                       Container container, const KeyRule& rule,
                                       const ReadAt& read) {
  if (container == Container::kZip) return index_zip(object->name(), object->size(), read, rule);
  HR_TRY(ArchiveView view, view_archive(object, container, read));
  const ReadAt read_view =
      container == Container::kTar ? read : [&view](uint64_t offset, MutableBytes into) {
        return view.bytes->read_at(offset, into);
      };
  HR_TRY(IndexedArchive archive,
         index_archive(object->name(), view.bytes->size(), read_view, rule));
  archive.builder.set_frames(std::move(view.frames));
  return archive;
}

}  // namespace headrace
