#include "io/cache/cache_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/little_endian.h"
#include "base/try.h"
#include "io/system_error.h"

namespace headrace {
namespace {

// A lock on [offset, offset + 1). False: another has it. Where a file system has no such locks,
// everybody gets them: granules may be fetched twice then, which is waste and no harm.
bool set_lock(int descriptor, short type, uint64_t offset, bool wait) {
  const int how = wait ? F_OFD_SETLKW : F_OFD_SETLK;
  return !is_lock_taken(lock_bytes(descriptor, how, type, offset));
}

bool write_at(int descriptor, ByteView bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t put =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return true;
}

Result<EntryHeader> read_header(const File& file, const std::string& path) {
  std::string bytes(EntryHeader::kMostBytes, '\0');
  const ssize_t got = read_fully(file.get(), as_writable_bytes(bytes), 0);
  if (got < 0) return system_error("read", path, errno);
  bytes.resize(static_cast<size_t>(got));
  return decode_entry_header(as_bytes(bytes), path);
}

// Writes the header into a file that has just been made, if nobody else has meanwhile. Before that
// the file has its full size, all holes: whoever sees a header keeps granules here, and nothing may
// go wrong any more.
Status begin_file(const File& file, const EntryHeader& header, const std::string& path) {
  set_lock(file.get(), F_WRLCK, 0, true);
  struct stat info;
  Status begun;
  if (::fstat(file.get(), &info) != 0) {
    begun = system_error("look at", path, errno);
  } else if (info.st_size == 0) {
    const std::string bytes = encode_entry_header(header);
    if (::ftruncate(file.get(), static_cast<off_t>(header.file_bytes())) != 0 ||
        !write_at(file.get(), as_bytes(bytes), 0)) {
      begun = system_error("write", path, errno);
      [[maybe_unused]] const int emptied = ::ftruncate(file.get(), 0);
    }
  }
  set_lock(file.get(), F_UNLCK, 0, false);
  return begun;
}

// A file that may be read but not written is another user's.
File open_writable(const std::string& path, int flags, bool& writable) {
  File file = open_file(AT_FDCWD, path.c_str(), O_RDWR | O_NOFOLLOW | flags, 0666);
  writable = file.is_open();
  if (writable || (errno != EACCES && errno != EROFS)) return file;
  return open_file(AT_FDCWD, path.c_str(), O_RDONLY | O_NOFOLLOW);
}

}  // namespace

Result<std::unique_ptr<CacheFile>> CacheFile::open(const std::string& path,
                                                   const EntryHeader& header) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    bool writable = false;
    File file = open_writable(path, O_CREAT, writable);
    if (!file.is_open()) return system_error("open", path, errno);
    auto found = read_header(file, path);
    if (!found.ok() && writable) {
      HR_CHECK(begin_file(file, header, path));
      found = read_header(file, path);
    }
    if (found.ok() && *found == header) {
      ::futimens(file.get(), nullptr);  // the time of last use, which eviction goes by
      return std::unique_ptr<CacheFile>(new CacheFile(path, std::move(file), header, writable));
    }
    // Never mended in place: a process that has it open has checked its granules.
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("remove", path, errno);
  }
  return Error{.message = "the cache file cannot be made", .origin = {.shard = path}};
}

Result<std::unique_ptr<CacheFile>> CacheFile::open_existing(const std::string& path) {
  bool writable = false;
  File file = open_writable(path, 0, writable);
  if (!file.is_open()) return system_error("open", path, errno);
  HR_TRY(EntryHeader header, read_header(file, path));
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return system_error("look at", path, errno);
  if (static_cast<uint64_t>(info.st_size) < header.data_offset())
    return Error{
        .code = Code::kCorrupt, .message = "the cache file is cut", .origin = {.shard = path}};
  return std::unique_ptr<CacheFile>(
      new CacheFile(path, std::move(file), std::move(header), writable));
}

CacheFile::CacheFile(std::string path, File file, EntryHeader header, bool writable)
    : path_(std::move(path)),
      file_(std::move(file)),
      header_(std::move(header)),
      writable_(writable),
      states_(std::make_unique<std::atomic<uint8_t>[]>(header_.granules())) {
  count_granules();
}

void CacheFile::count_granules() {
  std::vector<GranuleRecord> records(header_.granules());
  const ssize_t got =
      read_fully(file_.get(), std::as_writable_bytes(std::span(records)), header_.records_offset());
  records.resize(got < 0 ? 0 : static_cast<size_t>(got) / sizeof(GranuleRecord));
  for (size_t granule = 0; granule < records.size(); ++granule)
    if (records[granule] != 0) set_state(granule, kThere);
}

void CacheFile::set_state(uint64_t granule, State state) {
  const uint8_t before = states_[granule].exchange(state);
  if (before == kUnknown && state != kUnknown) known_.fetch_add(1);
  if (before != kUnknown && state == kUnknown) known_.fetch_sub(1);
}

uint64_t CacheFile::record_offset(uint64_t granule) const {
  return header_.records_offset() + sizeof(GranuleRecord) * granule;
}

GranuleRecord CacheFile::record(uint64_t granule) const {
  GranuleRecord record = 0;
  if (!read_bytes(record_offset(granule), std::as_writable_bytes(std::span(&record, 1)))) return 0;
  return record;
}

bool CacheFile::read_bytes(uint64_t offset, MutableBytes into) const {
  return read_fully(file_.get(), into, offset) == static_cast<ssize_t>(into.size());
}

CacheFile::Found CacheFile::read(uint64_t granule, uint64_t offset, MutableBytes into) {
  if (states_[granule].load(std::memory_order_relaxed) == kChecked) {
    if (read_bytes(header_.data_offset() + offset, into)) return Found::kHere;
    set_state(granule, kUnknown);
    return Found::kDamaged;
  }
  const uint64_t size = header_.granule_size(granule);
  if (into.size() == size) return read_checked(granule, into);
  if (record(granule) == 0) return Found::kMissing;
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(size);
  const Found found = read_checked(granule, {memory.get(), size});
  if (found == Found::kHere)
    std::memcpy(into.data(), memory.get() + (offset - header_.granule_begin(granule)), into.size());
  return found;
}

CacheFile::Found CacheFile::read_checked(uint64_t granule, MutableBytes whole) {
  const GranuleRecord wanted = record(granule);
  if (wanted == 0) {
    set_state(granule, kUnknown);
    return Found::kMissing;
  }
  const bool good = read_bytes(header_.data_offset() + header_.granule_begin(granule), whole) &&
                    granule_record(whole) == wanted;
  set_state(granule, good ? kChecked : kUnknown);
  return good ? Found::kHere : Found::kDamaged;
}

CacheFile::Found CacheFile::check(uint64_t granule) {
  if (record(granule) == 0) return Found::kMissing;
  const uint64_t size = header_.granule_size(granule);
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(size);
  return read_checked(granule, {memory.get(), size});
}

bool CacheFile::try_lock(uint64_t granule) {
  return set_lock(file_.get(), F_WRLCK, record_offset(granule), false);
}

void CacheFile::unlock(uint64_t granule) {
  set_lock(file_.get(), F_UNLCK, record_offset(granule), false);
}

// A sign is the byte of the file that is locked; the first one is locked to write a header.
bool CacheFile::try_lock(Sign sign) {
  return set_lock(file_.get(), F_WRLCK, static_cast<uint64_t>(sign), false);
}

void CacheFile::unlock(Sign sign) {
  set_lock(file_.get(), F_UNLCK, static_cast<uint64_t>(sign), false);
}

bool CacheFile::is_locked(Sign sign) const {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(sign);
  lock.l_len = 1;
  return ::fcntl(file_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Status CacheFile::allocate(uint64_t first, uint64_t last) {
  const uint64_t begin = header_.granule_begin(first);
  const uint64_t size = header_.granule_begin(last) + header_.granule_size(last) - begin;
  const auto offset = static_cast<off_t>(header_.data_offset() + begin);
  int result = 0;
  do result = ::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, offset, static_cast<off_t>(size));
  while (result != 0 && errno == EINTR);
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return {};
  return system_error("write", path_, errno);
}

Status CacheFile::write(uint64_t granule, ByteView bytes) {
  const uint64_t offset = header_.data_offset() + header_.granule_begin(granule);
  const GranuleRecord record = granule_record(bytes);
  if (!write_at(file_.get(), bytes, offset) ||
      !write_at(file_.get(), std::as_bytes(std::span(&record, 1)), record_offset(granule))) {
    const int problem = errno;
    // What did get in would keep the disk full.
    ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(bytes.size()));
    return system_error("write", path_, problem);
  }
  set_state(granule, kChecked);
  return {};
}

void CacheFile::forget(uint64_t granule) {
  const GranuleRecord none = 0;
  write_at(file_.get(), std::as_bytes(std::span(&none, 1)), record_offset(granule));
  set_state(granule, kUnknown);
}

void CacheFile::will_need(uint64_t offset, uint64_t size) const {
  ::posix_fadvise(file_.get(), static_cast<off_t>(header_.data_offset() + offset),
                  static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

}  // namespace headrace
