#include "job/index_input.h"

#include <fcntl.h>

#include <filesystem>

#include "base/try.h"
#include "base/units.h"
#include "dataset/containers.h"
#include "io/file.h"
#include "io/urls.h"
#include "plan/manifest.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

bool is_shard(std::string_view path) { return container_of(path).has_value(); }

// Shards of several kinds are no data set. Precondition: there are shards.
Status find_container(IndexInput& input) {
  std::vector<std::string> names;
  names.reserve(input.shards.size());
  for (size_t i = 0; i < input.shards.size(); ++i) names.emplace_back(input.shards.path(i));
  HR_TRY(input.container, common_container(names));
  return {};
}

Status unreadable(const WalkNotes& notes) {
  if (notes.unreadable.empty()) return {};
  return notes.unreadable.front();
}

Result<IndexInput> in_folder(const std::string& folder, const IndexOptions& options,
                             unsigned threads) {
  IndexInput input;
  input.folder = folder;
  if (options.kind == IndexKind::kFiles) {
    input.container = Container::kFiles;
    return input;
  }
  WalkNotes notes;
  HR_TRY(input.shards, walk(folder, {.threads = threads}, &notes));
  HR_CHECK(unreadable(notes));
  input.shards.filter([&input](size_t i) {  // what an earlier run left
    return input.shards.path(i) != kManifestName &&
           !input.shards.path(i).starts_with(std::string(kTableFolder) + "/");
  });
  const size_t files = input.shards.size();
  input.shards.filter([&input](size_t i) { return is_shard(input.shards.path(i)); });
  if (input.shards.empty() && options.kind == IndexKind::kAuto && files > 0) {
    input.container = Container::kFiles;
    return input;
  }
  const size_t others = files - input.shards.size();
  if (others > 0 && !input.shards.empty())
    input.notes.push_back(format_number_of(others, "file") + " passed over: no shards");
  if (!input.shards.empty()) {
    HR_CHECK(find_container(input));
    return input;
  }
  return Error{.code = Code::kNotFound,
               .message = "there are no shards in '" + folder + "'",
               .origin = {},
               .hint =
                   "Shards are files that end in .tar, .tar.gz, .tgz, .tar.lz4, .tar.zst, .zip or "
                   ".parquet."};
}

// The deepest folder that holds all of them.
fs::path common_folder(const std::vector<fs::path>& paths) {
  fs::path common = paths.front().parent_path();
  for (const fs::path& path : paths) {
    const fs::path folder = path.parent_path();
    while (!common.empty() &&
           std::mismatch(common.begin(), common.end(), folder.begin(), folder.end()).first !=
               common.end())
      common = common == common.root_path() ? fs::path() : common.parent_path();
  }
  return common;
}

Result<IndexInput> of_shards(const std::vector<std::string>& names, unsigned threads) {
  std::vector<fs::path> paths;
  paths.reserve(names.size());
  for (const std::string& name : names)
    paths.push_back(fs::absolute(local_path(name)).lexically_normal());
  IndexInput input;
  input.folder = common_folder(paths).native();
  const std::string prefix = input.folder.ends_with('/') ? input.folder : input.folder + "/";
  for (const fs::path& path : paths) input.shards.add(path.native().substr(prefix.size()), 0);
  const File at = open_file(AT_FDCWD, input.folder.c_str(), O_RDONLY | O_DIRECTORY);
  WalkNotes notes;
  stat_files(at.get(), prefix, input.shards, threads, &notes);
  HR_CHECK(unreadable(notes));
  HR_CHECK(find_container(input));
  return input;
}

}  // namespace

Result<IndexInput> find_index_input(const IndexOptions& options, unsigned threads) {
  HR_TRY(const std::vector<std::string> names, expand_locations(options.sources));
  if (names.empty())
    return Error{.code = Code::kUsage,
                 .message = "no source was given",
                 .origin = {},
                 .hint = "Name a folder, or shards as 'shards-{000..127}.tar'."};
  for (const std::string& name : names)
    if (is_remote_location(name))
      return Error{.code = Code::kUsage,
                   .message = "an index lies beside its shards, in a folder",
                   .origin = {.shard = std::string(without_query(name))},
                   .hint = "'headrace cp' copies them to one first."};
  std::error_code none;
  if (names.size() == 1 && fs::is_directory(local_path(names[0]), none))
    return in_folder(local_path(names[0]), options, threads);
  for (const std::string& name : names)
    if (fs::is_directory(local_path(name), none))
      return Error{.code = Code::kUsage,
                   .message = "'" + name + "' is a folder among other sources",
                   .origin = {},
                   .hint = "Index one folder at a time, or name shards."};
  return of_shards(names, threads);
}

}  // namespace headrace
