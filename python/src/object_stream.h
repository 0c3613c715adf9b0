// An object of a store as a stream of bytes: what Python's file objects stand on.
// Needs the GIL, which is released while the network is waited for.
#pragma once

#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>

#include "bindings.h"
#include "io/source_stream.h"

namespace headrace::python {

class ObjectReader {
 public:
  explicit ObjectReader(const std::string& location);

  /// What has arrived; 0 at the end. Raises OSError; also what a signal's handler raises.
  size_t read(MutableBytes into);
  void seek(uint64_t position);
  uint64_t tell() const { return stream_.position(); }
  uint64_t size() const { return stream_.source().size(); }

 private:
  const pid_t opened_in_ = ::getpid();
  std::mutex turn_;
  SourceStream stream_;
};

}  // namespace headrace::python
