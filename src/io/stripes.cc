#include "io/stripes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <cerrno>
#include <charconv>
#include <limits>
#include <system_error>

#include "base/little_endian.h"
#include "base/try.h"
#include "base/units.h"
#include "headrace/notes.h"
#include "io/environment.h"

namespace headrace {
namespace {

constexpr uint32_t kMagic = 0x0BD10BD0;     // LOV_USER_MAGIC_V1
constexpr uint32_t kRaid0 = 1;              // LOV_PATTERN_RAID0
constexpr uint16_t kAnyServer = 0xFFFF;     // the first one is for Lustre to choose
constexpr int32_t kMostServers = 2000;      // LOV_MAX_STRIPE_COUNT
constexpr uint64_t kStripeUnit = 64 << 10;  // LOV_MIN_STRIPE_SIZE
constexpr mode_t kMode = 0666;

Error no_value(const std::string& name, const std::string& text, const std::string& wanted) {
  return {.code = Code::kUsage, .message = name + " is '" + text + "', and should be " + wanted};
}

}  // namespace

Result<StripeLayout> stripe_layout() {
  StripeLayout layout;
  if (const std::string text = environment("HEADRACE_STRIPE_COUNT"); !text.empty()) {
    int32_t count = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool whole = problem == std::errc() && end == text.data() + text.size();
    if (!whole || count < -1 || count == 0 || count > kMostServers)
      return no_value("HEADRACE_STRIPE_COUNT", text, "a number from 1 to 2000, or -1 for all");
    layout.count = count;
  }
  if (const std::string text = environment("HEADRACE_STRIPE_SIZE"); !text.empty()) {
    const auto bytes = parse_bytes(text);
    if (!bytes.ok() || *bytes == 0 || *bytes % kStripeUnit != 0 ||
        *bytes > std::numeric_limits<uint32_t>::max())
      return no_value("HEADRACE_STRIPE_SIZE", text, "a multiple of 64KiB below 4GiB");
    layout.bytes = static_cast<uint32_t>(*bytes);
  }
  return layout;
}

std::string encode_layout(const StripeLayout& layout) {
  std::string bytes;
  append_le(bytes, kMagic);
  append_le(bytes, kRaid0);
  append_le(bytes, uint64_t{0});  // object and sequence, which Lustre fills in
  append_le(bytes, uint64_t{0});
  append_le(bytes, layout.bytes.value_or(0));
  append_le(bytes, static_cast<uint16_t>(layout.count.value_or(0)));
  append_le(bytes, kAnyServer);
  return bytes;
}

int64_t file_system_type(const std::string& folder) {
  struct statfs info {};
  return ::statfs(folder.c_str(), &info) == 0 ? static_cast<int64_t>(info.f_type) : 0;
}

File create_file(const std::string& path, const StripeLayout& layout, int64_t file_system) {
  if (layout.is_default() || file_system != kLustre)
    return open_file(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_EXCL, kMode);
  if (::mknod(path.c_str(), S_IFREG | kMode, 0) != 0) return {};
  const std::string bytes = encode_layout(layout);
  if (::setxattr(path.c_str(), "lustre.lov", bytes.data(), bytes.size(), 0) != 0)
    note_once("files do not get the stripes of HEADRACE_STRIPE_COUNT and HEADRACE_STRIPE_SIZE: " +
              std::generic_category().message(errno));
  return open_file(AT_FDCWD, path.c_str(), O_WRONLY);
}

}  // namespace headrace
