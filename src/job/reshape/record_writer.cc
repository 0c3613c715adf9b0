#include "job/reshape/record_writer.h"

#include "base/try.h"

namespace headrace {
namespace {

constexpr size_t kWrite = size_t{256} << 10;

}  // namespace

Status RecordWriter::add(const BucketFile::Entry& entry) {
  ++progress_.items;
  if (entry.members.empty()) {
    object_.skip({.key = std::string(entry.key), .file = "", .reason = "a field is missing"});
    return {};
  }
  keys_.emplace_back(entry.key);
  if (!read_members(entry, keys_.back(), bytes_.size(), fields_, placed_))
    return damaged_between_passes("is damaged", {.member = std::string(entry.key)});
  bytes_ += as_text(entry.tar);
  return bytes_.size() < kWrite ? Status() : flush();
}

Status RecordWriter::flush() {
  if (progress_.stopped()) return Progress::interrupted();
  HR_CHECK(object_.append(as_bytes(bytes_), placed_));
  progress_.bytes += bytes_.size();
  bytes_.clear();
  placed_.clear();
  keys_.clear();
  return {};
}

}  // namespace headrace
