#include "io/growing_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/try.h"

namespace headrace {
namespace {

// Small files are written at once, and are many.
constexpr uint64_t kFirst = uint64_t{1} << 20;

// Others gain less, and may lose: XFS waits for the disk when the rest is given back, and btrfs
// does not compress what was allocated ahead.
bool is_ext4(const File& file) {
  struct statfs info {};
  return ::fstatfs(file.get(), &info) == 0 && info.f_type == EXT4_SUPER_MAGIC;
}

}  // namespace

Status GrowingFile::append(ByteView bytes) {
  const uint64_t end = size_ + bytes.size();
  if (ahead_ && end > std::max(allocated_, kFirst)) allocate(end);
  HR_CHECK(write_fully(file_.get(), bytes, path_));
  size_ = end;
  return {};
}

void GrowingFile::allocate(uint64_t end) {
  const uint64_t upto = end + std::min(end / 8, most_ahead_);
  const uint64_t from = std::max(allocated_, size_);
  if (allocated_ == 0) ahead_ = is_ext4(file_);
  if (!ahead_) return;
  ahead_ = ::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                       static_cast<off_t>(upto - from)) == 0;
  allocated_ = upto;  // also after a failure, which may have come midway
}

void GrowingFile::trim() {
  // Also where the size stays, file systems free what lies behind it.
  if (allocated_ > size_ && ::ftruncate(file_.get(), static_cast<off_t>(size_)) == 0)
    allocated_ = 0;
}

}  // namespace headrace
