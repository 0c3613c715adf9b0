#include "io/cache/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/digest.h"
#include "base/try.h"
#include "io/system_error.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kObjectSuffix = ".object";
constexpr const char* kRootName = "/root";
constexpr const char* kPinName = "/pinned";
constexpr uint64_t kLongestRoot = 65536;
// An eviction makes room for more than the next granules, so that not each of them needs a search.
constexpr uint64_t kEvictionShare = 64;

bool lock_file(const File& file, int how) {
  int result = 0;
  do result = ::flock(file.get(), how);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

bool is_removed(const File& file) {
  struct stat info;
  return ::fstat(file.get(), &info) == 0 && info.st_nlink == 0;
}

std::string read_root(const std::string& folder) {
  const File file = open_file(AT_FDCWD, (folder + kRootName).c_str(), O_RDONLY | O_NOFOLLOW);
  std::string text(kLongestRoot, '\0');
  const ssize_t got = file.is_open() ? read_fully(file.get(), as_writable_bytes(text), 0) : 0;
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// The folder's lock while nobody else reads from it; not open if somebody does.
File claim(const std::string& folder) {
  File file = open_file(AT_FDCWD, (folder + kRootName).c_str(), O_RDONLY | O_NOFOLLOW);
  if (file.is_open() && lock_file(file, LOCK_EX | LOCK_NB)) return file;
  return File();
}

bool is_pinned(const std::string& folder) {
  return ::access((folder + kPinName).c_str(), F_OK) == 0;
}

std::vector<std::string> set_folders(const std::string& path) {
  std::vector<std::string> folders;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, problem))
    if (entry.is_directory(problem) && fs::exists(entry.path() / "root", problem))
      folders.push_back(entry.path().native());
  std::ranges::sort(folders);
  return folders;
}

}  // namespace

std::vector<CachedObject> cached_objects(const std::string& folder) {
  std::vector<CachedObject> objects;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    struct stat info;
    const std::string& path = entry.path().native();
    if (!path.ends_with(kObjectSuffix) || ::lstat(path.c_str(), &info) != 0) continue;
    objects.push_back({path, static_cast<uint64_t>(info.st_blocks) * 512,
                       int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec});
  }
  std::ranges::sort(objects, {}, &CachedObject::path);
  return objects;
}

Result<std::unique_ptr<CacheFolder>> CacheFolder::open(const std::string& path,
                                                       CacheLimits limits) {
  std::error_code problem;
  fs::create_directories(path, problem);
  if (problem) return system_error("create folder", path, problem.value());
  const std::string name = path + "/space";
  File space = open_file(AT_FDCWD, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
  if (!space.is_open()) return system_error("open", name, errno);
  if (!limits.reserve) {
    struct statvfs disk;
    limits.reserve = ::fstatvfs(space.get(), &disk) == 0
                         ? uint64_t{disk.f_blocks} * uint64_t{disk.f_frsize} / 20
                         : 0;
  }
  return std::unique_ptr<CacheFolder>(new CacheFolder(path, limits, std::move(space)));
}

std::string CacheFolder::set_folder(const std::string& root) const {
  return path_ + "/" + sha256_hex(as_bytes(root)).substr(0, 32);
}

Result<std::unique_ptr<CacheLease>> CacheFolder::lease(const std::string& root) {
  const std::string folder = set_folder(root);
  const std::string name = folder + kRootName;
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::error_code ignored;  // what matters is whether the file opens
    fs::create_directory(folder, ignored);
    File file = open_file(AT_FDCWD, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
    if (!file.is_open() && errno != ENOENT)  // another user's
      file = open_file(AT_FDCWD, name.c_str(), O_RDONLY | O_NOFOLLOW);
    if (!file.is_open() && errno == ENOENT) continue;  // clear() took the folder away
    if (!file.is_open()) return system_error("open", name, errno);
    if (!lock_file(file, LOCK_SH)) return system_error("lock", name, errno);
    if (is_removed(file)) continue;
    // Everybody writes the same.
    [[maybe_unused]] const ssize_t put = ::pwrite(file.get(), root.data(), root.size(), 0);
    return std::make_unique<CacheLease>(folder, std::move(file));
  }
  return Error{.message = "the folder of the data set in the cache cannot be made",
               .origin = {.shard = folder}};
}

bool CacheFolder::fits(uint64_t used, uint64_t bytes) const {
  if (limits_.bytes != 0 && used + bytes > limits_.bytes) return false;
  struct statvfs disk;
  if (::fstatvfs(space_.get(), &disk) != 0) return false;
  return uint64_t{disk.f_bavail} * uint64_t{disk.f_frsize} >= *limits_.reserve + bytes;
}

bool CacheFolder::take(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!lock_file(space_, LOCK_EX)) return false;
  uint64_t used = 0;
  const MutableBytes number = std::as_writable_bytes(std::span(&used, 1));
  if (read_fully(space_.get(), number, 0) != sizeof used) used = 0;
  bool fitting = fits(used, bytes);
  if (!fitting) {
    used = make_room(bytes);
    fitting = fits(used, bytes);
  }
  if (fitting) used += bytes;
  fitting = ::pwrite(space_.get(), &used, sizeof used, 0) == sizeof used && fitting;
  lock_file(space_, LOCK_UN);
  return fitting;
}

// Answers what is used afterwards, counted anew.
uint64_t CacheFolder::make_room(uint64_t bytes) {
  struct Victim {
    CachedObject object;
    size_t set;
  };
  std::vector<File> claims;  // of data sets that nobody reads from; held until the end
  std::vector<Victim> victims;
  uint64_t used = 0;
  for (const std::string& folder : set_folders(path_)) {
    const std::vector<CachedObject> objects = cached_objects(folder);
    for (const CachedObject& object : objects) used += object.bytes;
    if (fits(used, bytes) && limits_.bytes == 0) continue;
    claims.push_back(is_pinned(folder) ? File() : claim(folder));
    if (!claims.back().is_open()) continue;
    for (const CachedObject& object : objects) victims.push_back({object, claims.size() - 1});
  }
  std::ranges::sort(victims, {}, [](const Victim& victim) { return victim.object.last_used; });
  const uint64_t wanted = std::max(bytes, limits_.bytes / kEvictionShare);
  for (const Victim& victim : victims) {
    if (fits(used, wanted)) break;
    if (::unlink(victim.object.path.c_str()) == 0) used -= victim.object.bytes;
  }
  return used;
}

Result<std::vector<CachedSet>> CacheFolder::sets() const {
  std::vector<CachedSet> sets;
  for (const std::string& folder : set_folders(path_)) {
    CachedSet set{.folder = folder, .root = read_root(folder), .pinned = is_pinned(folder)};
    set.in_use = !claim(folder).is_open();
    for (const CachedObject& object : cached_objects(folder)) {
      ++set.objects;
      set.bytes += object.bytes;
      set.last_used = std::max(set.last_used, object.last_used / 1'000'000'000);
    }
    sets.push_back(std::move(set));
  }
  std::ranges::sort(sets, {}, &CachedSet::root);
  return sets;
}

Status CacheFolder::pin(const std::string& root, bool pinned) {
  HR_TRY(const auto held, lease(root));
  const std::string name = held->folder() + kPinName;
  if (pinned) {
    const File file = open_file(AT_FDCWD, name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW, 0666);
    if (!file.is_open()) return system_error("create", name, errno);
  } else if (::unlink(name.c_str()) != 0 && errno != ENOENT) {
    return system_error("remove", name, errno);
  }
  return {};
}

Result<std::vector<CachedSet>> CacheFolder::clear(const std::string& root) {
  std::vector<CachedSet> busy;
  HR_TRY(const std::vector<CachedSet> known, sets());
  for (const CachedSet& set : known) {
    if (!root.empty() && set.root != root) continue;
    const File held = claim(set.folder);
    if (!held.is_open()) {
      busy.push_back(set);
      continue;
    }
    std::error_code problem;
    fs::remove_all(set.folder, problem);
    if (problem) return system_error("remove", set.folder, problem.value());
  }
  return busy;
}

}  // namespace headrace
