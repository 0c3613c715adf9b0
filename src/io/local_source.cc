#include "io/local_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "io/direct_reads.h"
#include "io/file.h"
#include "io/system_error.h"

namespace headrace {
namespace {

class LocalSource : public ByteSource {
 public:
  LocalSource(std::string name, File file, uint64_t size)
      : name_(std::move(name)),
        file_(std::move(file)),
        size_(size),
        direct_(wants_direct_reads() ? DirectReads::begin(file_) : std::nullopt) {}

  const std::string& name() const override { return name_; }
  uint64_t size() const override { return size_; }

  Status read_at(uint64_t offset, MutableBytes into) const override {
    const ssize_t got =
        direct_ ? direct_->read(file_.get(), into, offset) : read_fully(file_.get(), into, offset);
    if (got < 0) return system_error("read", name_, errno).at({name_, "", offset});
    if (static_cast<size_t>(got) == into.size()) return {};
    return Error{
        .code = Code::kCorrupt,
        .message = "the file ends " + std::to_string(into.size() - static_cast<size_t>(got)) +
                   " bytes too early",
        .origin = {name_, "", offset + static_cast<uint64_t>(got)},
        .hint = "It was cut or is still being written; compare its size with the original."};
  }

  Status read_parts(uint64_t offset, std::span<const MutableBytes> parts) const override {
    if (direct_) return ByteSource::read_parts(offset, parts);
    const size_t got = read_once(file_.get(), offset, parts);
    size_t wanted = 0;
    for (const MutableBytes part : parts) wanted += part.size();
    // A signal, a short file: rare. Once more, with its own care and its errors.
    return got == wanted ? Status() : ByteSource::read_parts(offset, parts);
  }

  /// Nothing else has the next bytes ready, so they are asked for ahead, many at once.
  bool is_remote() const override { return direct_.has_value(); }

  void start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                  const Done& done) const override {
    if (!direct_) return ByteSource::start_read(offset, into, deadline, done);
    DirectReads::threads().post([this, offset, into, done] { done(read_at(offset, into)); });
  }

  void will_need(uint64_t offset, uint64_t size) const override {
    if (direct_) return;  // it would go into the page cache
    ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(size),
                    POSIX_FADV_WILLNEED);
  }

  std::string version() const override {
    struct stat info;
    if (::fstat(file_.get(), &info) != 0) return "";
    const int64_t changed = info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec;
    return std::to_string(info.st_size) + " " + std::to_string(changed);
  }

 private:
  const std::string name_;
  const File file_;
  const uint64_t size_;
  const std::optional<DirectReads> direct_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_local_file(const std::string& path) {
  File file = open_file(AT_FDCWD, path.c_str(), O_RDONLY);
  if (!file.is_open()) return system_error("open", path, errno);
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return system_error("look at", path, errno);
  if (!S_ISREG(info.st_mode))
    return Error{
        .code = Code::kUsage, .message = "'" + path + "' is not a regular file", .origin = {}};
  return std::unique_ptr<ByteSource>(
      std::make_unique<LocalSource>(path, std::move(file), static_cast<uint64_t>(info.st_size)));
}

}  // namespace headrace
