// Reading the files of a job's sources, and noticing that they changed.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/digest.h"
#include "base/try.h"
#include "io/system_error.h"
#include "job/sources.h"

namespace headrace {
namespace {

Error changed(const Sources& sources, uint64_t file, const std::string& how) {
  return {.code = Code::kChanged,
          .message = "'" + sources.full_path(file) + "' " + how + " since it was listed",
          .origin = {},
          .hint =
              "Run it again when the files are at rest (with --replace, for it is another "
              "input then), or leave such samples out with --on-error skip."};
}

Result<File> open_local(const Sources& sources, uint64_t file) {
  const SourceRoot& root = sources.roots[sources.files[file].root];
  File opened = open_file(root.folder.get(), sources.files.path(file).data(), O_RDONLY);
  if (opened.is_open()) return opened;
  if (errno == ENOENT || errno == ENOTDIR) return changed(sources, file, "vanished");
  return system_error("read", sources.full_path(file), errno);
}

// Size and time are those of the listing.
Status check_local(const Sources& sources, uint64_t file, const File& opened) {
  const FileList::Entry& entry = sources.files[file];
  struct stat info;
  if (::fstat(opened.get(), &info) != 0)
    return system_error("look at", sources.full_path(file), errno);
  const int64_t mtime = info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec;
  if (static_cast<uint64_t>(info.st_size) == entry.bytes && mtime == entry.mtime_ns) return {};
  return changed(sources, file, "changed");
}

// One open, one read, and one look at size and time afterwards: a file that changed before or while
// it was read is noticed.
Status read_local(const Sources& sources, uint64_t file, uint64_t offset, MutableBytes into) {
  HR_TRY(const File opened, open_local(sources, file));
  const ssize_t got = read_fully(opened.get(), into, offset);
  if (got < 0) return system_error("read", sources.full_path(file), errno);
  HR_CHECK(check_local(sources, file, opened));
  if (static_cast<size_t>(got) != into.size()) return changed(sources, file, "changed");
  return {};
}

// An answer's size is the listing's, or it is an error; its version is looked at afterwards.
Status read_object(const Sources& sources, uint64_t file, uint64_t offset, MutableBytes into) {
  const FileList::Entry& entry = sources.files[file];
  const std::string path(sources.files.path(file));
  HR_TRY(const auto source, sources.roots[entry.root].store->open_known(path, entry.bytes));
  const Status read = into.empty() ? Status() : source->read_at(offset, into);
  if (!read.ok()) {
    const Code code = read.error().code;
    if (code == Code::kNotFound) return changed(sources, file, "vanished");
    return code == Code::kCorrupt ? changed(sources, file, "changed") : read;
  }
  const std::string identity = entry.mtime_ns == 0 ? "" : source->identity();
  if (identity.empty() || pin_of(identity) == entry.mtime_ns) return {};
  return changed(sources, file, "changed");
}

}  // namespace

int64_t pin_of(const std::string& identity) {
  return identity.empty() ? 0 : static_cast<int64_t>(xxh3(as_bytes(identity)));
}

bool Sources::are_remote() const {
  return std::ranges::any_of(roots, [](const SourceRoot& root) {
    return root.store != nullptr || (root.archive && root.archive->is_remote());
  });
}

Status Sources::read(uint64_t file, uint64_t offset, MutableBytes into) const {
  const FileList::Entry& entry = files[file];
  const SourceRoot& root = roots[entry.root];
  if (root.store) return read_object(*this, file, offset, into);
  if (!root.archive) return read_local(*this, file, offset, into);
  return root.archive->read_at(member_offsets.at(entry.path_begin) + offset, into);
}

Status Sources::check(uint64_t file) const {
  const SourceRoot& root = roots[files[file].root];
  if (root.archive) return {};
  if (root.store) {
    std::byte first{};
    return read(file, 0, files[file].bytes > 0 ? MutableBytes(&first, 1) : MutableBytes());
  }
  HR_TRY(const File opened, open_local(*this, file));
  return check_local(*this, file, opened);
}

}  // namespace headrace
