// The members of a zip archive, by its central directory and their local headers.
//
//   |local header|data..|[descriptor]|local header|data..| … |central directory|[zip64
//   end]|end|comment|
//
// Names are bytes, as they are stored, with or without the UTF-8 flag. Something in front of the
// archive (a program that unpacks it) is allowed. Sizes come from the directory, so that data
// descriptors need not be read; zip64 where it says so.
//
// Refused: encrypted members, parts of archives on several disks, methods other than stored and
// deflate, members that overlap each other or the directory, or whose local header is not theirs,
// and sizes that deflate cannot reach. So what a member claims is bounded by the bytes it has.
// Errors are Code::kCorrupt (Code::kUsage for what is only not supported) with member and offset.
// Format: APPNOTE.TXT 6.3.10. Thread-safety: a pure function; `read` is called from its thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/frame_map.h"
#include "format/tar_walk.h"
#include "headrace/result.h"

namespace headrace {

struct ZipMember {
  std::string name;
  bool is_file = true;  ///< no folder, no symbolic link
  uint64_t header_offset = 0;
  Frame frame;  ///< where the data is; decoded_offset is not set, decoded_size may be 0
};

/// All members in the order in which they lie in the object.
Result<std::vector<ZipMember>> read_zip_directory(uint64_t object_size, const ReadAt& read);

}  // namespace headrace
