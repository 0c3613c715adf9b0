// The recursive walk: folders are read one after the other (cheap), files are looked at in
// parallel (the dear part: one stat each).
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>

#include "base/parallel.h"
#include "base/try.h"
#include "io/file.h"
#include "io/file_list.h"
#include "io/system_error.h"

namespace headrace {
namespace {

struct FolderId {
  dev_t device;
  ino_t inode;
  bool operator==(const FolderId&) const = default;
};

FolderId id_of(const struct stat& info) { return {info.st_dev, info.st_ino}; }

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

class Walker {
 public:
  Walker(const std::string& folder, const WalkOptions& options, WalkNotes* notes, FileList* out)
      : folder_(folder), options_(options), notes_(notes), out_(out) {}

  Status run() {
    if (!options_.skip.empty()) {
      struct stat info;
      if (::stat(options_.skip.c_str(), &info) == 0) skip_.push_back(id_of(info));
    }
    struct stat info;
    Dir dir = open_folder(AT_FDCWD, folder_.c_str(), &info);
    if (!dir) return system_error("read folder", folder_, errno);
    ancestors_.push_back(id_of(info));
    visit(std::move(dir), "");
    return {};
  }

 private:
  static Dir open_folder(int at, const char* name, struct stat* info) {
    const int descriptor = ::openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return nullptr;
    Dir dir(::fdopendir(descriptor));
    if (!dir || ::fstat(descriptor, info) != 0) return nullptr;
    return dir;
  }

  // Takes `dir` by value and closes it before going down, so depth costs no descriptors.
  void visit(Dir dir, const std::string& prefix) {
    std::vector<std::string> folders;
    const int at = ::dirfd(dir.get());
    errno = 0;
    while (const dirent* entry = ::readdir(dir.get())) {
      look(at, *entry, prefix, &folders);
      errno = 0;
    }
    if (errno != 0) note(system_error("read folder", folder_ + "/" + prefix, errno));
    dir.reset();
    for (const std::string& folder : folders) descend(prefix + folder);
  }

  void look(int at, const dirent& entry, const std::string& prefix,
            std::vector<std::string>* folders) {
    const std::string_view name = entry.d_name;
    if (name == "." || name == "..") return;
    if (!options_.hidden && name.front() == '.') {
      ++notes_->hidden;
      return;
    }
    unsigned char type = entry.d_type;
    if (type == DT_LNK || type == DT_UNKNOWN) {
      struct stat info;
      if (::fstatat(at, entry.d_name, &info, 0) != 0) {
        note(system_error("follow link", folder_ + "/" + prefix + entry.d_name, errno));
        return;
      }
      type = S_ISDIR(info.st_mode) ? DT_DIR : S_ISREG(info.st_mode) ? DT_REG : DT_FIFO;
    }
    if (type == DT_DIR)
      folders->emplace_back(name);
    else if (type == DT_REG)
      out_->add(prefix + entry.d_name, 0);
    else
      ++notes_->special;
  }

  void descend(const std::string& folder) {
    const std::string path = folder_ + "/" + folder;
    struct stat info;
    Dir dir = open_folder(AT_FDCWD, path.c_str(), &info);
    if (!dir) {
      note(system_error("read folder", path, errno));
      return;
    }
    const FolderId id = id_of(info);
    if (std::find(skip_.begin(), skip_.end(), id) != skip_.end()) return;
    if (std::find(ancestors_.begin(), ancestors_.end(), id) != ancestors_.end()) {
      ++notes_->loops;
      return;
    }
    ancestors_.push_back(id);
    visit(std::move(dir), folder + "/");
    ancestors_.pop_back();
  }

  void note(Error error) { notes_->unreadable.push_back(std::move(error)); }

  const std::string folder_;
  const WalkOptions& options_;
  WalkNotes* notes_;
  FileList* out_;
  std::vector<FolderId> ancestors_;
  std::vector<FolderId> skip_;
};

}  // namespace

void stat_files(int at, const std::string& prefix, FileList& list, unsigned threads,
                WalkNotes* notes) {
  constexpr size_t kChunk = 1024;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  const size_t chunks = (list.size() + kChunk - 1) / kChunk;
  run_on_threads(std::min<size_t>(threads, chunks), [&] {
    for (size_t begin; (begin = next.fetch_add(kChunk)) < list.size();) {
      const size_t end = std::min(begin + kChunk, list.size());
      for (size_t i = begin; i < end; ++i) {
        struct stat info;
        const bool found = ::fstatat(at, list.path(i).data(), &info, 0) == 0;
        if (found && S_ISREG(info.st_mode)) {
          list[i].bytes = static_cast<uint64_t>(info.st_size);
          list[i].mtime_ns = info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec;
          continue;
        }
        const std::string path = prefix + std::string(list.path(i));
        list[i].mtime_ns = kNoFile;
        const std::lock_guard lock(mutex);
        notes->unreadable.push_back(found ? Error{.code = Code::kUsage,
                                                  .message = "'" + path + "' is not a regular file",
                                                  .origin = {}}
                                          : system_error("look at", path, errno));
      }
    }
  });
  if (!notes->unreadable.empty())
    list.filter([&list](size_t i) { return list[i].mtime_ns != kNoFile; });
}

Result<FileList> walk(const std::string& folder, const WalkOptions& options, WalkNotes* notes) {
  FileList list;
  HR_CHECK(Walker(folder, options, notes, &list).run());
  if (options.sizes) {
    const File root = open_file(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY);
    if (!root.is_open()) return system_error("read folder", folder, errno);
    stat_files(root.get(), folder + "/", list, options.threads, notes);
  }
  list.sort();
  return list;
}

}  // namespace headrace
