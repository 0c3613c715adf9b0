#include "job/reshape/record_writer.h"

#include "base/try.h"

namespace headrace {
namespace {

constexpr size_t kWrite = size_t{256} << 10;
/// Samples of this size are written from where they lie, and not collected.
constexpr size_t kLarge = size_t{32} << 10;

}  // namespace

Status RecordWriter::add(const BucketFile::Entry& entry) {
  ++progress_.items;
  if (entry.members.empty()) {
    object_.skip({.key = std::string(entry.key), .file = "", .reason = "a field is missing"});
    return {};
  }
  const bool large = entry.tar.size() >= kLarge;
  if (large) HR_CHECK(flush());
  keys_.emplace_back(entry.key);
  if (!read_members(entry, keys_.back(), bytes_.size(), fields_, placed_))
    return damaged_between_passes("is damaged", {.member = std::string(entry.key)});
  if (large) return write(entry.tar);
  bytes_ += as_text(entry.tar);
  return bytes_.size() < kWrite ? Status() : flush();
}

Status RecordWriter::flush() {
  HR_CHECK(write(as_bytes(bytes_)));
  bytes_.clear();
  return {};
}

Status RecordWriter::write(ByteView bytes) {
  if (progress_.stopped()) return Progress::interrupted();
  HR_CHECK(object_.append(bytes, placed_));
  progress_.bytes += bytes.size();
  placed_.clear();
  keys_.clear();
  return {};
}

}  // namespace headrace
