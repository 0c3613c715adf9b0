#include "io/http/host_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "base/little_endian.h"
#include "io/http/retry.h"

namespace headrace {
namespace {

using std::chrono::nanoseconds;

struct Header {
  std::array<char, 8> magic = {'H', 'R', 'H', 'O', 'S', 'T', 'S', '1'};
  uint64_t machine = 0;  // and since when it runs
  int64_t not_before = 0;
  uint64_t unused = 0;
};

struct Record {
  int64_t said_at = 0;
  uint32_t held = 0;
  uint32_t wanted = 0;
};

constexpr uint64_t kMostPlaces = 1024;
constexpr uint64_t kNotBeforeOffset = offsetof(Header, not_before);
/// What was said so recently is true; later its lock is looked at.
constexpr nanoseconds kFresh = std::chrono::milliseconds(250);
/// A process that is stopped keeps what it holds for so long.
constexpr nanoseconds kAbandoned = std::chrono::seconds(30);
/// Nobody holds others back for longer: what a server may ask for, and a repeat's own delay.
constexpr nanoseconds kLongestHold = kLongestAskedDelay + std::chrono::minutes(1);

constexpr uint64_t place_offset(uint64_t place) { return sizeof(Header) + sizeof(Record) * place; }

int64_t number_of(HostFile::Clock::time_point time) {
  return nanoseconds(time.time_since_epoch()).count();
}

/// Tells a machine from others on a shared disk, and from itself before it was started anew: its
/// clock begins again then.
uint64_t this_machine() {
  static const uint64_t machine = [] {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    return xxh3(as_bytes(id));
  }();
  return machine;
}

Header read_header(ByteView bytes) {
  return bytes.size() < sizeof(Header) ? Header{.magic = {}} : load_le<Header>(bytes.data());
}

template <typename T>
ByteView bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

HostFile::HostFile(const std::string& folder, const std::string& host) {
  if (folder.empty()) return;
  std::error_code ignored;  // what matters is whether the file opens
  std::filesystem::create_directories(folder + "/hosts", ignored);
  const std::string path = folder + "/hosts/" + sha256_hex(as_bytes(host)).substr(0, 32);
  file_ = open_file(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
}

bool HostFile::exchange(Clock::time_point now, const std::function<Own(const Others&)>& decide) {
  const int problem = lock_bytes(file_.get(), F_SETLK, F_WRLCK, 0);
  if (is_lock_taken(problem)) return false;
  const bool talked = problem == 0 && talk(now, decide);
  if (talked)
    lock_bytes(file_.get(), F_SETLK, F_UNLCK, 0);
  else
    file_ = File();
  return talked;
}

bool HostFile::talk(Clock::time_point now, const std::function<Own(const Others&)>& decide) {
  std::array<std::byte, place_offset(kMostPlaces)> memory;
  ssize_t got = read_fully(file_.get(), memory, 0);
  const auto read = [&] { return ByteView(memory).first(static_cast<size_t>(got)); };
  if (got < 0) return false;
  const Header header = read_header(read());
  if (header.magic != Header().magic || header.machine != this_machine()) {
    if (!begin_file()) return false;
    got = 0;
  }
  if (!place_ && !find_place()) return false;
  const Others others = read_others(read(), now);
  const Own own = decide(others);
  const Record record{number_of(now), own.use.held, own.use.wanted};
  if (!write(*place_, bytes_of(record))) return false;
  const bool has_news = own.not_before > now && own.not_before != others.not_before;
  return !has_news || write(kNotBeforeOffset, bytes_of(number_of(own.not_before)));
}

/// Makes a new file, or one that was cut or is of another time, into one of ours. False: others
/// live in it, so it is another machine's.
bool HostFile::begin_file() {
  place_.reset();
  const uint64_t first = place_offset(0);
  if (lock_bytes(file_.get(), F_SETLK, F_WRLCK, first, 0) != 0) return false;
  lock_bytes(file_.get(), F_SETLK, F_UNLCK, first, 0);
  const Header header{.machine = this_machine()};
  return ::ftruncate(file_.get(), 0) == 0 && write(0, bytes_of(header));
}

bool HostFile::find_place() {
  for (uint64_t place = 0; place < kMostPlaces; ++place) {
    const uint64_t offset = place_offset(place);
    const int problem = lock_bytes(file_.get(), F_SETLK, F_WRLCK, offset);
    if (problem == 0) place_ = offset;
    if (!is_lock_taken(problem)) return problem == 0;
  }
  return false;
}

HostFile::Others HostFile::read_others(ByteView bytes, Clock::time_point now) const {
  Others others;
  const int64_t until = read_header(bytes).not_before;
  if (until > number_of(now) && until - number_of(now) <= kLongestHold.count())
    others.not_before = Clock::time_point(nanoseconds(until));
  for (uint64_t at = place_offset(0); at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
    const auto record = load_le<Record>(bytes.data() + at);
    if (at == *place_ || (record.held == 0 && record.wanted == 0)) continue;
    const uint64_t age =
        static_cast<uint64_t>(number_of(now)) - static_cast<uint64_t>(record.said_at);
    if (!lives(at, static_cast<int64_t>(age))) continue;
    others.uses.push_back({record.held, record.wanted});
    if (at < *place_) ++others.before;
  }
  return others;
}

/// `age`: how long ago it spoke, in nanoseconds.
bool HostFile::lives(uint64_t offset, int64_t age) const {
  if (age >= 0 && age < kFresh.count()) return true;
  if (age >= kAbandoned.count()) return false;
  if (lock_bytes(file_.get(), F_SETLK, F_WRLCK, offset) != 0) return true;
  lock_bytes(file_.get(), F_SETLK, F_UNLCK, offset);
  return false;
}

bool HostFile::write(uint64_t offset, ByteView bytes) const {
  return ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace headrace
