// Bytes kept until all of them are known, for protocols that want their number or digest before the
// first of them, or while they are read from here: in memory while they are few, then in a nameless
// temporary file (in TMPDIR, or a folder that is named).
// Belongs to one thread, but for reads of what is in the file.
#pragma once

#include <optional>
#include <string>

#include "headrace/bytes.h"
#include "headrace/result.h"
#include "io/growing_file.h"

namespace headrace {

class Spool {
 public:
  explicit Spool(std::string folder = {}) : folder_(std::move(folder)) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// After an error nothing may be appended; what was there can be read.
  Status append(ByteView bytes);
  uint64_t size() const { return bytes_; }
  /// Whether they are in the file: then other threads may read what is there beside append().
  bool is_in_file() const { return file_.has_value(); }
  /// Fills `into` with what was appended; fewer bytes is Code::kCorrupt.
  Status read_at(uint64_t offset, MutableBytes into) const;
  /// Nothing will be appended: what was allocated ahead goes back.
  void finish();
  /// All of them, valid while this object lives. Nothing may be appended afterwards.
  Result<ByteView> view();

 private:
  static constexpr size_t kInMemory = size_t{1} << 20;

  Status begin_file();

  std::string folder_;
  std::string small_;
  std::optional<GrowingFile> file_;  // once they are many
  size_t bytes_ = 0;
  void* mapped_ = nullptr;
};

}  // namespace headrace
