#include "io/hf/hf_sink.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/digest.h"
#include "base/try.h"
#include "io/environment.h"
#include "io/file.h"
#include "io/system_error.h"

namespace headrace {

/// A nameless file, written once and then mapped.
class HfSink::Spool {
 public:
  static Result<std::shared_ptr<Spool>> make() {
    std::string folder = environment("TMPDIR");
    if (folder.empty()) folder = "/tmp";
    std::string name = folder + "/headrace-XXXXXX";
    File file(::mkostemp(name.data(), O_CLOEXEC));
    if (!file.is_open()) return system_error("create a temporary file", name, errno);
    ::unlink(name.c_str());
    return std::make_shared<Spool>(std::move(file), std::move(folder));
  }

  Spool(File file, std::string folder) : file_(std::move(file)), folder_(std::move(folder)) {}
  ~Spool() {
    if (mapped_ != nullptr) ::munmap(mapped_, bytes_);
  }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  Status append(ByteView bytes) {
    digest_.update(bytes);
    bytes_ += bytes.size();
    return write_fully(file_.get(), bytes, folder_);
  }

  Result<ByteView> map() {
    void* mapped = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file_.get(), 0);
    if (mapped == MAP_FAILED) return system_error("map a temporary file", folder_, errno);
    mapped_ = mapped;
    return ByteView(static_cast<const std::byte*>(mapped_), bytes_);
  }

  std::string sha256() { return digest_.hex(); }

 private:
  const File file_;
  const std::string folder_;
  Sha256Stream digest_;
  size_t bytes_ = 0;
  void* mapped_ = nullptr;
};

HfSink::HfSink(std::shared_ptr<HfChanges> changes, std::string path)
    : changes_(std::move(changes)), path_(std::move(path)) {}

Status HfSink::append(ByteView bytes) {
  if (!spool_ && small_.size() + bytes.size() < HfChanges::kSmall) {
    small_ += as_text(bytes);
    return {};
  }
  if (!spool_) {
    HR_TRY(spool_, Spool::make());
    HR_CHECK(spool_->append(as_bytes(small_)));
    small_.clear();
  }
  return spool_->append(bytes);
}

Status HfSink::commit() {
  if (spool_) {
    HR_TRY(const ByteView bytes, spool_->map());
    return changes_->add(path_, {spool_->sha256(), bytes, spool_});
  }
  const auto bytes = std::make_shared<const std::string>(std::move(small_));
  return changes_->add(path_, {sha256_hex(as_bytes(*bytes)), as_bytes(*bytes), bytes});
}

Result<bool> HfSink::commit_if_absent() {
  if (changes_->tree().contains(path_)) return false;
  HR_CHECK(commit());
  return true;
}

}  // namespace headrace
