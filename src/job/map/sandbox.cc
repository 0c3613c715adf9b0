#include "job/map/sandbox.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/try.h"
#include "io/system_error.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "headrace-map-";
constexpr std::string_view kStem = "sample";

Error system_error_of(const std::string& action, const std::string& path,
                      const std::error_code& problem) {
  return system_error(action, path, problem.value());
}

/// Open and locked, and still there under its name; not open otherwise.
File lock_folder(const std::string& path) {
  File folder = open_file(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  struct stat here {};
  struct stat named {};
  if (!folder.is_open() || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::fstat(folder.get(), &here) != 0 || ::stat(path.c_str(), &named) != 0 ||
      here.st_ino != named.st_ino || here.st_uid != ::geteuid())
    return {};
  return folder;
}

Status write_file(const std::string& path, const std::string& bytes) {
  const File file =
      open_file(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
  if (!file.is_open()) return system_error("write", path, errno);
  return write_fully(file.get(), as_bytes(bytes), path);
}

// Nothing: it is no regular file.
Result<bool> read_file(const std::string& path, std::string& into) {
  const File file = open_file(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK);
  struct stat info {};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0) return system_error("read", path, errno);
  if (!S_ISREG(info.st_mode)) return false;
  into.resize(static_cast<size_t>(info.st_size));
  const ssize_t got = read_fully(file.get(), as_writable_bytes(into), 0);
  if (got < 0) return system_error("read", path, errno);
  into.resize(static_cast<size_t>(got));
  return true;
}

}  // namespace

void SandboxRoot::sweep(const std::string& scratch) {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(scratch, problem)) {
    const std::string& path = entry.path().native();
    if (!entry.path().filename().native().starts_with(kPrefix)) continue;
    if (const File lock = lock_folder(path); lock.is_open()) fs::remove_all(path, problem);
  }
}

Result<SandboxRoot> SandboxRoot::create(const std::string& scratch) {
  sweep(scratch);
  constexpr int kAttempts = 100;  // another job's sweep may take a folder that is not locked yet
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = scratch + "/" + std::string(kPrefix) + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return system_error("make a folder in", scratch, errno);
    if (File lock = lock_folder(path); lock.is_open()) return SandboxRoot(path, std::move(lock));
  }
  return Error{.message = "no folder in '" + scratch + "' can be locked",
               .hint = "Name another one with --scratch."};
}

SandboxRoot::~SandboxRoot() {
  if (!lock_.is_open()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Result<Sandbox> Sandbox::create(const SandboxRoot& root, unsigned number) {
  const std::string folder = root.path() + "/" + std::to_string(number);
  const std::string log = folder + ".log";
  File file = open_file(AT_FDCWD, log.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
  if (!file.is_open()) return system_error("write", log, errno);
  return Sandbox(folder, std::move(file));
}

Status Sandbox::unpack(const MapSample& sample) {
  std::error_code problem;
  fs::remove_all(folder_, problem);
  if (!problem) fs::create_directory(folder_, problem);
  if (problem) return system_error_of("empty", folder_, problem);
  if (::ftruncate(log_.get(), 0) != 0) return system_error("empty", folder_ + ".log", errno);
  for (const MapField& field : sample.fields)
    HR_CHECK(write_file(folder_ + "/" + std::string(kStem) + "." + field.name, field.bytes));
  return {};
}

Result<std::vector<MapSample>> Sandbox::collect(const std::string& key) const {
  std::map<std::string, std::map<std::string, std::string>> found;  // by name, by field
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem)) {
    const std::string name = entry.path().filename().native();
    const size_t dot = name.find('.');
    if (!name.starts_with(kStem) || dot == std::string::npos || dot + 1 == name.size() ||
        (dot != kStem.size() && name[kStem.size()] != '-'))
      continue;
    std::string bytes;
    HR_TRY(const bool regular, read_file(entry.path().native(), bytes));
    if (!regular) continue;
    found[name.substr(kStem.size(), dot - kStem.size())][name.substr(dot + 1)] = std::move(bytes);
  }
  if (problem) return system_error_of("list", folder_, problem);
  std::vector<MapSample> samples;
  for (auto& [name, fields] : found) {
    MapSample& sample = samples.emplace_back();
    sample.key = key + name;
    for (auto& [field, bytes] : fields)
      sample.fields.push_back({.name = field, .bytes = std::move(bytes)});
  }
  return samples;
}

std::string Sandbox::last_words() const {
  constexpr off_t kMost = 4096;
  struct stat info {};
  if (::fstat(log_.get(), &info) != 0) return "";
  const off_t begin = info.st_size > kMost ? info.st_size - kMost : 0;
  std::string text(static_cast<size_t>(info.st_size - begin), '\0');
  const ssize_t got = read_fully(log_.get(), as_writable_bytes(text), static_cast<uint64_t>(begin));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return last_lines(text);
}

std::string last_lines(std::string_view text) {
  constexpr int kLines = 5;
  std::string out;
  for (int lines = 0; lines < kLines && !text.empty();) {
    const size_t end = text.find_last_of('\n');
    const std::string_view line = end == text.npos ? text : text.substr(end + 1);
    text = end == text.npos ? std::string_view() : text.substr(0, end);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    out.insert(0, out.empty() ? "" : " | ").insert(0, line);
    ++lines;
  }
  return out;
}

}  // namespace headrace
