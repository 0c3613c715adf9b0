// A file being written to the Hub, kept aside until it is whole: the protocol wants its SHA-256
// before its bytes. Belongs to one thread.
#pragma once

#include <memory>
#include <string>

#include "base/digest.h"
#include "io/hf/hf_changes.h"
#include "io/spool.h"

namespace headrace {

class HfSink : public ByteSink {
 public:
  HfSink(std::shared_ptr<HfChanges> changes, std::string path);

  Status append(ByteView bytes) override;
  Status commit() override;
  Result<bool> commit_if_absent() override;

 private:
  const std::shared_ptr<HfChanges> changes_;
  const std::string path_;
  const std::shared_ptr<Spool> spool_ = std::make_shared<Spool>();
  Sha256Stream digest_;
};

}  // namespace headrace
