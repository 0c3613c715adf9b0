#include "dataset/containers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/try.h"
#include "dataset/decoded_source.h"
#include "format/frame_scan.h"
#include "format/parquet/index_parquet.h"
#include "io/urls.h"
#include "plan/shard_table.h"

namespace headrace {
namespace {

constexpr std::array<std::pair<std::string_view, Container>, 8> kSuffixes{{
    {".tar", Container::kTar},
    {".tgz", Container::kTarGz},
    {".tar.gz", Container::kTarGz},
    {".tar.lz4", Container::kTarLz4},
    {".tar.zst", Container::kTarZst},
    {".tzst", Container::kTarZst},
    {".zip", Container::kZip},
    {".parquet", Container::kParquet},
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

uint32_t block_samples(const ShardIndex& index, uint64_t object_bytes) {
  const uint32_t samples = default_block_samples(index.size(), read_bytes(index, object_bytes));
  if (!index.frames() || index.frames()->empty()) return samples;
  const Frame& first = index.frames()->frames().front();
  if (first.encoding != Encoding::kRowGroup) return samples;
  uint32_t rows = 0;
  while (rows < index.size() && index.sample_begin(rows) < first.decoded_end()) ++rows;
  rows = std::max(rows, 1U);
  return std::min((samples + rows - 1) / rows * rows, std::max(index.size(), 1U));
}

Status check_is_written(Container container) {
  if (container != Container::kParquet) return {};
  return Error{.code = Code::kUsage,
               .message = "Parquet is read, but not written",
               .origin = {},
               .hint = "Choose tar, tar.zst, tgz, tar.lz4 or zip."};
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
    case Container::kParquet:
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
                                       Container container, std::string_view name,
                                       const KeyRule& rule, const ReadAt& read) {
  if (container == Container::kParquet) {
    if (name.ends_with(container_suffix(container)))
      name.remove_suffix(container_suffix(container).size());
    return index_parquet(object->name(), name, object->size(), read);
  }
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
