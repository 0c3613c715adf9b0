#include "io/file_list.h"

#include <algorithm>
#include <cstring>

namespace headrace {

void FileList::add(std::string_view path, uint32_t root) {
  entries_.push_back({.path_begin = paths_.size(),
                      .path_bytes = static_cast<uint32_t>(path.size()),
                      .root = root});
  paths_ += path;
  paths_ += '\0';  // so that path(i).data() is also a C string
}

void FileList::append(const FileList& other, uint32_t root) {
  const uint64_t base = paths_.size();
  paths_ += other.paths_;
  entries_.reserve(entries_.size() + other.entries_.size());
  for (Entry entry : other.entries_) {
    entry.path_begin += base;
    entry.root = root;
    entries_.push_back(entry);
  }
}

void FileList::sort() {
  const char* paths = paths_.data();
  std::sort(entries_.begin(), entries_.end(), [paths](const Entry& a, const Entry& b) {
    if (a.root != b.root) return a.root < b.root;
    const int order = std::memcmp(paths + a.path_begin, paths + b.path_begin,
                                  std::min(a.path_bytes, b.path_bytes));
    return order != 0 ? order < 0 : a.path_bytes < b.path_bytes;
  });
}

}  // namespace headrace
