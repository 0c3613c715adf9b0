#include "io/spool.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/try.h"
#include "io/environment.h"
#include "io/system_error.h"

namespace headrace {

Spool::~Spool() {
  if (mapped_ != nullptr) ::munmap(mapped_, bytes_);
}

Status Spool::append(ByteView bytes) {
  const size_t size = bytes_ + bytes.size();
  if (size < kInMemory) {
    small_ += as_text(bytes);
  } else {
    if (!file_) HR_CHECK(begin_file());
    HR_CHECK(file_->append(bytes));
  }
  bytes_ = size;
  return {};
}

Status Spool::begin_file() {
  if (folder_.empty()) folder_ = environment("TMPDIR");
  if (folder_.empty()) folder_ = "/tmp";
  HR_TRY(File nameless, open_nameless(folder_));
  GrowingFile file(std::move(nameless), folder_);
  HR_CHECK(file.append(as_bytes(small_)));
  file_.emplace(std::move(file));
  small_ = {};
  return {};
}

Status Spool::read_at(uint64_t offset, MutableBytes into) const {
  const Error ended{.code = Code::kCorrupt,
                    .message = "it ends before the bytes asked for",
                    .origin = {.shard = "", .offset = offset}};
  if (file_) {
    const ssize_t got = read_fully(file_->file().get(), into, offset);
    if (got < 0) return system_error("read a temporary file in", folder_, errno);
    return static_cast<size_t>(got) == into.size() ? Status() : Status(ended);
  }
  if (offset > small_.size() || into.size() > small_.size() - offset) return ended;
  if (!into.empty()) std::memcpy(into.data(), small_.data() + offset, into.size());
  return {};
}

void Spool::finish() {
  if (file_) file_->trim();
}

Result<ByteView> Spool::view() {
  if (!file_) return as_bytes(small_);
  if (mapped_ == nullptr) {
    finish();
    void* mapped = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file_->file().get(), 0);
    if (mapped == MAP_FAILED) return system_error("map a temporary file", folder_, errno);
    mapped_ = mapped;
  }
  return ByteView(static_cast<const std::byte*>(mapped_), bytes_);
}

}  // namespace headrace
