// A file descriptor that closes itself, and reads and writes that do not stop half-way.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// Owns one descriptor. Movable; belongs to whoever holds it.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// open(2) of `path`, relative to the folder `at` (or AT_FDCWD), again after a signal. The
/// descriptor does not outlive exec. Not open on failure: errno says why.
File open_file(int at, const char* path, int flags, mode_t mode = 0);

/// A new file without a name in `folder`, to read and to write: it goes with its descriptor.
Result<File> open_nameless(const std::string& folder);

/// Reads up to into.size() bytes from `offset` on; fewer only at the end of the file. -1: errno.
/// `block`: a read that ends within one has come to the end of the file, and from there another
/// would not be aligned, as O_DIRECT wants it.
ssize_t read_fully(int descriptor, MutableBytes into, uint64_t offset, uint64_t block = 1);

/// One system call; the bytes that it read, 0 if none for whatever reason.
size_t read_once(int descriptor, uint64_t offset, std::span<const MutableBytes> parts);

/// Writes all of `bytes` at the descriptor's place.
Status write_fully(int descriptor, ByteView bytes, const std::string& path);

/// fcntl(2) with a lock of `type` (F_WRLCK, F_UNLCK) on `length` bytes from `offset` on (0: on all
/// that follow), again after a signal. 0, or errno.
int lock_bytes(int descriptor, int command, short type, uint64_t offset, uint64_t length = 1);
/// Whether that errno says that somebody else has it.
bool is_lock_taken(int problem);

}  // namespace headrace
