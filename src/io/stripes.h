// How files are spread over the servers of a Lustre file system, and files that are made so.
//
// HEADRACE_STRIPE_COUNT (servers, -1: all of them) and HEADRACE_STRIPE_SIZE (bytes that lie on one
// server before the next one's turn, a multiple of 64 KiB). What is not set is what the folder has.
// A layout has to be there before the file gets its first object, and Lustre gives it objects when
// it is opened for writing: so the file is made without being opened (mknod), gets its layout as
// the attribute "lustre.lov", and is opened then. Nothing of this is done on other file systems.
//
// Thread-safety: plain values; functions may be called from any thread.
// Source of the format: struct lov_user_md_v1 of Lustre's lustre_user.h, 32 bytes, little-endian.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/result.h"
#include "io/file.h"

namespace headrace {

struct StripeLayout {
  std::optional<int32_t> count;   ///< servers; -1: all
  std::optional<uint32_t> bytes;  ///< a multiple of 64 KiB

  bool is_default() const { return !count && !bytes; }
  bool operator==(const StripeLayout&) const = default;
};

/// Of the environment. Code::kUsage names a value that is none.
Result<StripeLayout> stripe_layout();

/// The value of "lustre.lov": a struct lov_user_md_v1.
std::string encode_layout(const StripeLayout& layout);

/// The type of the file system of a folder, as statfs has it; 0: unknown.
int64_t file_system_type(const std::string& folder);
inline constexpr int64_t kLustre = 0x0BD00BD0;

/// A new file, open for writing, which must not be there; with this layout if its file system, by
/// the type of it, is Lustre. Not open on failure: errno says why. A layout that is refused is
/// noted, and the file has that of its folder.
File create_file(const std::string& path, const StripeLayout& layout, int64_t file_system);

}  // namespace headrace
