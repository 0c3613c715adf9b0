// A file that is written once from its beginning to its end, with its blocks allocated ahead.
//
//   written      |==================|
//   allocated    |==================:------|     an eighth ahead, 16 MiB at most
//
// ext4 takes about half the time to write into blocks that it has, and files that are written side
// by side stay in one piece each. On other file systems, and where there is no room for it, writing
// goes on without. Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "headrace/bytes.h"
#include "headrace/result.h"
#include "io/file.h"

namespace headrace {

class GrowingFile {
 public:
  /// `file`: empty, open for writing. `path`: what errors call it. `most_ahead`: bytes, for files
  /// of which there are many.
  GrowingFile(File file, std::string path, uint64_t most_ahead = uint64_t{16} << 20)
      : file_(std::move(file)), path_(std::move(path)), most_ahead_(most_ahead) {}

  Status append(ByteView bytes);
  /// Gives back what was allocated ahead; nothing is written after that.
  void trim();

  uint64_t size() const { return size_; }
  const File& file() const { return file_; }

 private:
  void allocate(uint64_t end);

  File file_;
  std::string path_;
  uint64_t most_ahead_;
  uint64_t size_ = 0;
  uint64_t allocated_ = 0;
  bool ahead_ = true;
};

}  // namespace headrace
