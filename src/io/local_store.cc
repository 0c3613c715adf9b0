#include "io/local_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/digest.h"
#include "base/permutation.h"
#include "base/try.h"
#include "io/file.h"
#include "io/file_list.h"
#include "io/growing_file.h"
#include "io/local_source.h"
#include "io/stripes.h"
#include "io/system_error.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryPrefix = ".headrace-";
constexpr std::string_view kTemporarySuffix = ".part";

bool is_temporary(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with(kTemporaryPrefix) && name.ends_with(kTemporarySuffix);
}

// A name that no other writer, here or on another machine, has.
std::string temporary_name() {
  static std::atomic<uint64_t> counter{0};
  struct timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t time =
      static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  const uint64_t writer = static_cast<uint64_t>(::getpid()) << 32 | counter++;
  return std::string(kTemporaryPrefix) + hex64(mix(time, writer)) + std::string(kTemporarySuffix);
}

// Removes temporaries whose writers are gone: nobody holds their lock.
void sweep(const std::string& folder) {
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    const std::string& path = entry.path().native();
    if (!is_temporary(path)) continue;
    const File file = open_file(AT_FDCWD, path.c_str(), O_RDONLY);
    if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  }
}

// Locks a new temporary. True if another process took it for one of a dead writer meanwhile:
// between its creation and the lock there is a moment.
bool is_swept(const File& file) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    errno = ENOENT;
    return true;
  }
  struct stat info;
  const bool gone = ::fstat(file.get(), &info) == 0 && info.st_nlink == 0;
  errno = ENOENT;
  return gone;
}

Status sync_folder(const std::string& path) {
  const File file = open_file(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!file.is_open() && errno == ENOENT) return {};  // removed with its last object
  if (!file.is_open() || ::fsync(file.get()) != 0) return system_error("sync", path, errno);
  return {};
}

Status check_path(const std::string& path) {
  const fs::path parts(path);
  bool inside = !path.empty() && parts.is_relative();
  for (const fs::path& part : parts) inside = inside && part != "..";
  if (inside) return {};
  return Error{.code = Code::kUsage,
               .message = "'" + path + "' does not name an object inside the store",
               .origin = {}};
}

}  // namespace

class LocalStore::Sink : public ByteSink {
 public:
  Sink(LocalStore* store, std::string path, std::string temporary, File file)
      : store_(store),
        path_(std::move(path)),
        temporary_(std::move(temporary)),
        file_(std::move(file), path_) {}

  ~Sink() override {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Status append(ByteView bytes) override { return file_.append(bytes); }

  Status commit() override {
    HR_CHECK(settle());
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      return system_error("create", path_, errno);
    temporary_.clear();
    store_->remember(path_.substr(0, path_.rfind('/')));
    return {};
  }

  Result<bool> commit_if_absent() override {
    HR_CHECK(settle());
    if (::link(temporary_.c_str(), path_.c_str()) == 0) {
      store_->remember(path_.substr(0, path_.rfind('/')));
      return true;  // the destructor removes the temporary's name
    }
    if (errno == EEXIST) return false;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
      return system_error("create", path_, errno);
    return rename_if_absent();
  }

 private:
  // For file systems without hard links.
  Result<bool> rename_if_absent() {
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0) {
      if (errno == EEXIST) return false;
      return system_error("create", path_, errno);
    }
    temporary_.clear();
    store_->remember(path_.substr(0, path_.rfind('/')));
    return true;
  }

  Status settle() {
    file_.trim();
    if (store_->durability_ == Durability::kDurable && ::fsync(file_.file().get()) != 0)
      return system_error("write", path_, errno);
    return {};
  }

  LocalStore* store_;
  const std::string path_;
  std::string temporary_;
  GrowingFile file_;
};

LocalStore::LocalStore(std::string root, Durability durability)
    : root_(std::move(root)), durability_(durability) {}

std::string LocalStore::full(const std::string& path) const {
  return root_.ends_with('/') ? root_ + path : root_ + "/" + path;
}

Result<std::unique_ptr<ByteSource>> LocalStore::open(const std::string& path) const {
  HR_CHECK(check_path(path));
  return open_local_file(full(path));
}

Result<bool> LocalStore::exists(const std::string& path) const {
  HR_CHECK(check_path(path));
  struct stat info;
  if (::stat(full(path).c_str(), &info) == 0) return S_ISREG(info.st_mode);
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return system_error("look at", full(path), errno);
}

Result<std::vector<StoreEntry>> LocalStore::list(const std::string& prefix) const {
  if (!prefix.empty()) HR_CHECK(check_path(prefix));
  const std::string folder = prefix.empty() ? root_ : full(prefix);
  std::vector<StoreEntry> entries;
  if (std::error_code none; !fs::exists(folder, none) && !none) return entries;
  WalkNotes notes;
  auto walked = walk(folder, {.hidden = true}, &notes);
  if (!walked.ok() && walked.error().code == Code::kNotFound) return entries;
  HR_TRY(const FileList files, std::move(walked));
  for (Error& problem : notes.unreadable)  // what others removed meanwhile is not there
    if (problem.code != Code::kNotFound) return std::move(problem);
  const std::string above = prefix.empty() || prefix.ends_with('/') ? prefix : prefix + "/";
  entries.reserve(files.size());
  for (size_t i = 0; i < files.size(); ++i)
    if (!is_temporary(files.path(i)))
      entries.push_back(
          {above + std::string(files.path(i)), files[i].bytes,
           std::chrono::system_clock::time_point(std::chrono::nanoseconds(files[i].mtime_ns))});
  return entries;
}

Status LocalStore::prepare_folder(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  if (prepared_.contains(folder)) return {};
  std::error_code problem;
  for (fs::path above = folder; !above.empty() && !fs::exists(above, problem);
       above = above.parent_path())
    unsynced_.insert(above.has_parent_path() ? above.parent_path().native() : ".");
  // Others may remove a parent that was empty until now.
  for (int attempt = 0; attempt < 10; ++attempt) {
    fs::create_directories(folder, problem);
    if (problem != std::errc::no_such_file_or_directory) break;
  }
  if (problem) return system_error("create folder", folder, problem.value());
  sweep(folder);
  prepared_.insert(folder);
  return {};
}

Result<std::unique_ptr<ByteSink>> LocalStore::create(const std::string& path) {
  HR_CHECK(check_path(path));
  const std::string target = full(path);
  const std::string folder = target.substr(0, target.rfind('/'));
  HR_TRY(const StripeLayout layout, stripe_layout());
  File file;
  std::string temporary;
  for (int attempt = 0; attempt < 10 && !file.is_open(); ++attempt) {
    HR_CHECK(prepare_folder(folder.empty() ? "/" : folder));
    temporary = folder + "/" + temporary_name();
    file = create_file(temporary, layout, layout.is_default() ? 0 : file_system_type(folder));
    if (file.is_open() && is_swept(file)) file = File();
    if (file.is_open()) break;
    if (errno != ENOENT) return system_error("create", target, errno);
    const std::lock_guard lock(mutex_);  // remove() took the folder away with its last object
    prepared_.erase(folder);
  }
  if (!file.is_open()) return system_error("create", target, ENOENT);
  return std::unique_ptr<ByteSink>(
      std::make_unique<Sink>(this, target, std::move(temporary), std::move(file)));
}

/// Whether it is gone. What a killed writer has left does not count.
bool LocalStore::remove_if_empty(const std::string& folder) {
  if (::rmdir(folder.c_str()) == 0) return true;
  if (errno != ENOTEMPTY) return false;
  {
    const std::lock_guard lock(mutex_);
    if (!swept_.insert(folder).second) return false;  // once: a folder may have many objects
  }
  sweep(folder);
  return ::rmdir(folder.c_str()) == 0;
}

Status LocalStore::remove(const std::string& path) {
  HR_CHECK(check_path(path));
  const std::string target = full(path);
  if (::unlink(target.c_str()) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return system_error("remove", target, errno);
  }
  // A store has objects, not folders: one that is empty now goes too.
  fs::path folder = fs::path(target).parent_path();
  const fs::path root(full(""));
  while (folder.native().size() >= root.native().size() && remove_if_empty(folder.native()))
    folder = folder.parent_path();
  return {};
}

void LocalStore::remember(const std::string& folder) {
  if (durability_ != Durability::kDurable) return;
  const std::lock_guard lock(mutex_);
  unsynced_.insert(folder.empty() ? "/" : folder);
}

Status LocalStore::sync() {
  std::set<std::string> folders;
  {
    const std::lock_guard lock(mutex_);
    folders.swap(unsynced_);
  }
  if (durability_ != Durability::kDurable) return {};
  for (const std::string& folder : folders) HR_CHECK(sync_folder(folder));
  return {};
}

}  // namespace headrace
