// A file being written to the Hub: in memory while it is small, then in a nameless temporary file
// (in TMPDIR), for the protocol wants its SHA-256 before its bytes. Belongs to one thread.
#pragma once

#include <memory>
#include <string>

#include "io/hf/hf_changes.h"

namespace headrace {

class HfSink : public ByteSink {
 public:
  HfSink(std::shared_ptr<HfChanges> changes, std::string path);

  Status append(ByteView bytes) override;
  Status commit() override;
  Result<bool> commit_if_absent() override;

 private:
  class Spool;

  const std::shared_ptr<HfChanges> changes_;
  const std::string path_;
  std::string small_;
  std::shared_ptr<Spool> spool_;  // once it is large
};

}  // namespace headrace
