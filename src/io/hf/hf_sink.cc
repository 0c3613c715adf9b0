#include "io/hf/hf_sink.h"

#include "base/try.h"

namespace headrace {

HfSink::HfSink(std::shared_ptr<HfChanges> changes, std::string path)
    : changes_(std::move(changes)), path_(std::move(path)) {}

Status HfSink::append(ByteView bytes) {
  digest_.update(bytes);
  return spool_->append(bytes);
}

Status HfSink::commit() {
  HR_TRY(const ByteView bytes, spool_->view());
  return changes_->add(path_, {digest_.hex(), bytes, spool_});
}

Result<bool> HfSink::commit_if_absent() {
  HR_TRY(const HfTree tree, changes_->tree());
  if (tree.contains(path_)) return false;
  HR_CHECK(commit());
  return true;
}

}  // namespace headrace
