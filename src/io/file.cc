#include "io/file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "io/system_error.h"

namespace headrace {

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File open_file(int at, const char* path, int flags, mode_t mode) {
  int descriptor = -1;
  do descriptor = ::openat(at, path, flags | O_CLOEXEC, mode);
  while (descriptor < 0 && errno == EINTR);
  return File(descriptor);
}

Result<File> open_nameless(const std::string& folder) {
  File file = open_file(AT_FDCWD, folder.c_str(), O_TMPFILE | O_RDWR, 0600);
  if (file.is_open()) return file;
  // Not every file system knows files without a name.
  std::string path = folder + "/.headrace-XXXXXX";
  File named(::mkostemp(path.data(), O_CLOEXEC));
  if (!named.is_open()) return system_error("create a scratch file in", folder, errno);
  ::unlink(path.c_str());
  return named;
}

ssize_t read_fully(int descriptor, MutableBytes into, uint64_t offset, uint64_t block) {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(descriptor, into.data() + done, into.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    done += static_cast<size_t>(got);
    if (got == 0 || static_cast<uint64_t>(got) % block != 0) break;
  }
  return static_cast<ssize_t>(done);
}

size_t read_once(int descriptor, uint64_t offset, std::span<const MutableBytes> parts) {
  constexpr size_t kMostParts = 16;
  std::array<iovec, kMostParts> places;
  const size_t count = std::min(parts.size(), places.size());
  for (size_t i = 0; i < count; ++i) places[i] = {parts[i].data(), parts[i].size()};
  const ssize_t got =
      ::preadv(descriptor, places.data(), static_cast<int>(count), static_cast<off_t>(offset));
  return got < 0 ? 0 : static_cast<size_t>(got);
}

Status write_fully(int descriptor, ByteView bytes, const std::string& path) {
  // The page cache takes one large write in large pages, which may be slow to come by.
  constexpr size_t kPiece = size_t{256} << 10;
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), std::min(bytes.size(), kPiece));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return system_error("write", path, errno);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return {};
}

int lock_bytes(int descriptor, int command, short type, uint64_t offset, uint64_t length) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = static_cast<off_t>(length);
  int result = 0;
  do result = ::fcntl(descriptor, command, &lock);
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

bool is_lock_taken(int problem) { return problem == EAGAIN || problem == EACCES; }

}  // namespace headrace
