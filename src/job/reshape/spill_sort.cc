#include "job/reshape/spill_sort.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <queue>

#include "base/little_endian.h"
#include "base/try.h"
#include "base/units.h"
#include "io/urls.h"

namespace headrace {
namespace {

constexpr uint64_t kLeast = uint64_t{1} << 20;
constexpr size_t kWrite = size_t{1} << 20;
constexpr size_t kSize = 4;  // in front of each in a run

uint64_t prefix_of(std::string_view bytes) {
  uint64_t prefix = 0;
  std::memcpy(&prefix, bytes.data(), std::min(bytes.size(), sizeof prefix));
  return __builtin_bswap64(prefix);
}

// A run that is being merged: at one of its strings, or at its end.
struct Run {
  const std::byte* at;
  const std::byte* end;

  std::string_view text() const { return as_text({at + kSize, load_le<uint32_t>(at)}); }
  void move_on() { at += kSize + load_le<uint32_t>(at); }
};

}  // namespace

std::string scratch_beside(const std::string& out) {
  if (!url_scheme(out).empty()) return "";
  std::error_code problem;
  std::filesystem::path folder = std::filesystem::absolute(out, problem).lexically_normal();
  while (!std::filesystem::is_directory(folder, problem) && folder.has_relative_path())
    folder = folder.parent_path();
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? folder.native() : "";
}

SpillSort::SpillSort(const std::string& scratch, uint64_t memory_bytes)
    : capacity_(std::max(kLeast, memory_bytes / 2)),
      most_items_(capacity_ / sizeof(Item)),
      spool_(scratch) {}

Status SpillSort::add(std::string_view bytes) {
  if (bytes.size() > capacity_)
    return Error{.code = Code::kUsage,
                 .message = "what a sample is sorted by has " + format_bytes(bytes.size()) +
                            ", more than half of the memory",
                 .hint = "Give more --memory, or sort by another field."};
  const std::lock_guard lock(mutex_);
  if (!bytes_) {
    bytes_ = std::make_unique_for_overwrite<char[]>(capacity_);
    items_.reserve(most_items_);
  }
  if (used_ + bytes.size() > capacity_ || items_.size() == most_items_) HR_CHECK(spill());
  std::memcpy(bytes_.get() + used_, bytes.data(), bytes.size());
  items_.push_back({prefix_of(bytes), used_, bytes.size()});
  used_ += bytes.size();
  return {};
}

void SpillSort::sort() {
  std::ranges::sort(items_, [this](const Item& a, const Item& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : text(a) < text(b);
  });
}

Status SpillSort::spill() {
  sort();
  std::string buffer;
  for (const Item& item : items_) {
    append_le(buffer, static_cast<uint32_t>(item.size));
    buffer += text(item);
    if (buffer.size() < kWrite) continue;
    HR_CHECK(spool_.append(as_bytes(buffer)));
    buffer.clear();
  }
  HR_CHECK(spool_.append(as_bytes(buffer)));
  run_ends_.push_back(spool_.size());
  items_.clear();
  used_ = 0;
  return {};
}

Status SpillSort::each(const std::function<Status(std::string_view)>& take) {
  if (run_ends_.empty()) {
    sort();
    for (const Item& item : items_) HR_CHECK(take(text(item)));
    return {};
  }
  HR_CHECK(spill());
  bytes_.reset();
  items_ = {};
  return merge(take);
}

Status SpillSort::merge(const std::function<Status(std::string_view)>& take) {
  HR_TRY(const ByteView all, spool_.view());
  const auto later = [](const Run& a, const Run& b) { return a.text() > b.text(); };
  std::priority_queue<Run, std::vector<Run>, decltype(later)> runs(later);
  uint64_t begin = 0;
  for (const uint64_t end : run_ends_) {
    if (end > begin) runs.push({all.data() + begin, all.data() + end});
    begin = end;
  }
  while (!runs.empty()) {
    Run run = runs.top();
    runs.pop();
    HR_CHECK(take(run.text()));
    run.move_on();
    if (run.at < run.end) runs.push(run);
  }
  return {};
}

}  // namespace headrace
