#include "io/hf/hf_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/safe_path.h"
#include "io/file_list.h"
#include "io/json_fields.h"
#include "io/local_source.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kTreeFormat = 1;

std::optional<std::string> read_text(const std::string& path) {
  const auto file = open_local_file(path);
  if (!file.ok()) return std::nullopt;
  std::string text((*file)->size(), '\0');
  if (!(*file)->read_at(0, as_writable_bytes(text)).ok()) return std::nullopt;
  return text;
}

std::optional<HfFile> file_of(const json& object) {
  const auto bytes = number_of(object, "size");
  if (!bytes) return std::nullopt;
  HfFile file{.bytes = *bytes,
              .blob_id = text_of(object, "blob_id"),
              .sha256 = text_of(object, "lfs_sha256"),
              .xet_hash = text_of(object, "xet_hash")};
  if (file.etag().empty()) return std::nullopt;
  return file;
}

json json_of(const HfFile& file) {
  json object{{"size", file.bytes}, {"blob_id", file.blob_id}};
  if (!file.sha256.empty()) {
    object["lfs_sha256"] = file.sha256;
    object["lfs_size"] = file.bytes;
  }
  if (!file.xet_hash.empty()) object["xet_hash"] = file.xet_hash;
  return object;
}

std::string folder_name(const HfLocation& repository) {
  std::string name = repository.kind + "--" + repository.id;
  return name.replace(name.find('/'), 1, "--");
}

}  // namespace

HfCache::HfCache(const HfSettings& settings, const HfLocation& repository)
    : folder_(settings.cache + "/" + folder_name(repository)),
      locks_(settings.cache + "/.locks/" + folder_name(repository)),
      symlinks_(settings.symlinks) {}

std::optional<std::string> HfCache::read_ref(const std::string& revision,
                                             std::chrono::seconds age) const {
  if (!is_safe_path(revision)) return std::nullopt;
  const std::string path = folder_ + "/refs/" + revision;
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  if (now - std::chrono::seconds(info.st_mtim.tv_sec) > age) return std::nullopt;
  return read_text(path);
}

void HfCache::write_ref(const std::string& revision, const std::string& commit) const {
  if (is_safe_path(revision)) write_whole(folder_ + "/refs/" + revision, as_bytes(commit));
}

void HfCache::forget_ref(const std::string& revision) const {
  if (is_safe_path(revision)) ::unlink((folder_ + "/refs/" + revision).c_str());
}

std::optional<HfTree> HfCache::read_tree(const std::string& name) const {
  const auto text = read_text(folder_ + "/trees/" + name + ".json");
  if (!text) return std::nullopt;
  const json root = json::parse(*text, nullptr, false);
  const json& files = field_of(root, "files");
  if (number_of(root, "format_version") != kTreeFormat || !files.is_object()) return std::nullopt;
  HfTree tree;
  for (const auto& [path, object] : files.items()) {
    auto file = file_of(object);
    if (!file || !is_safe_path(path)) return std::nullopt;
    tree.emplace_hint(tree.end(), path, std::move(*file));
  }
  return tree;
}

void HfCache::write_tree(const std::string& name, const HfTree& tree) const {
  json files = json::object();
  for (const auto& [path, file] : tree) files[path] = json_of(file);
  const json root{{"format_version", kTreeFormat}, {"files", std::move(files)}};
  write_whole(folder_ + "/trees/" + name + ".json",
              as_bytes(root.dump(1, ' ', false, json::error_handler_t::replace)));
}

HfTree HfCache::scan_snapshot(const std::string& commit) const {
  HfTree tree;
  WalkNotes notes;
  const std::string folder = folder_ + "/snapshots/" + commit;
  const auto files = walk(folder, {.hidden = true}, &notes);
  if (!files.ok()) return tree;
  for (size_t i = 0; i < files->size(); ++i) {
    const std::string path(files->path(i));
    std::error_code none;
    const std::string blob = fs::read_symlink(folder + "/" + path, none).filename();
    HfFile file;
    file.bytes = (*files)[i].bytes;
    file.blob_id = blob.empty() ? path : blob;
    if (blob.size() == 64) file.sha256 = blob;
    tree.emplace(path, std::move(file));
  }
  return tree;
}

/// Whole under its name, or not at all. Temporaries lie where no reader of the cache looks.
bool HfCache::write_whole(const std::string& path, ByteView bytes) const {
  std::error_code problem;
  fs::create_directories(fs::path(path).parent_path(), problem);
  fs::create_directories(locks_, problem);
  std::string temporary = locks_ + "/XXXXXX.incomplete";
  const File file(::mkostemps(temporary.data(), 11, O_CLOEXEC));
  if (!file.is_open()) return false;
  ::fchmod(file.get(), 0644);
  if (write_fully(file.get(), bytes, temporary).ok() &&
      ::rename(temporary.c_str(), path.c_str()) == 0)
    return true;
  ::unlink(temporary.c_str());
  return false;
}

std::string HfCache::snapshot(const std::string& commit, const std::string& path) const {
  return folder_ + "/snapshots/" + commit + "/" + path;
}

std::string HfCache::find(const std::string& commit, const std::string& path,
                          const HfFile& file) const {
  for (std::string place : {snapshot(commit, path), folder_ + "/blobs/" + file.etag()}) {
    struct stat info;
    if (::stat(place.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        static_cast<uint64_t>(info.st_size) == file.bytes)
      return place;
  }
  return "";
}

void HfCache::write_file(const std::string& commit, const std::string& path, const HfFile& file,
                         ByteView bytes) const {
  const std::string place = snapshot(commit, path);
  if (!symlinks_) {
    write_whole(place, bytes);
    return;
  }
  if (!write_whole(folder_ + "/blobs/" + file.etag(), bytes)) return;
  std::string up = "../../";
  for (const char c : path)
    if (c == '/') up += "../";
  std::error_code problem;
  fs::create_directories(fs::path(place).parent_path(), problem);
  ::unlink(place.c_str());
  fs::create_symlink(up + "blobs/" + file.etag(), place, problem);
}

File HfCache::lock(const std::string& name) const {
  std::error_code problem;
  fs::create_directories(locks_, problem);
  File file = open_file(AT_FDCWD, (locks_ + "/" + name + ".lock").c_str(), O_RDWR | O_CREAT, 0666);
  if (file.is_open()) ::flock(file.get(), LOCK_EX);
  return file;
}

}  // namespace headrace
