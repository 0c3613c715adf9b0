// The members of an index in archive order, one after the other.
// Borrows the index. Thread-safety: thread-compatible.
#pragma once

#include <string>
#include <string_view>

#include "format/shard_index.h"

namespace headrace {

/// `index`: nullptr is one without members.
class IndexCursor {
 public:
  explicit IndexCursor(const ShardIndex* index) : index_(index) { skip_empty(); }

  bool at_end() const { return index_ == nullptr || sample_ == index_->size(); }
  const IndexMember& member() const { return index_->members(sample_)[position_]; }
  std::string_view key() const { return index_->key(sample_); }
  uint32_t sample() const { return sample_; }
  std::string name() const {
    const std::string& field = index_->fields()[member().field];
    return std::string(key()) + (field.empty() ? "" : "." + field);
  }
  void next() {
    ++position_;
    skip_empty();
  }

 private:
  void skip_empty() {
    while (!at_end() && position_ == index_->members(sample_).size()) {
      ++sample_;
      position_ = 0;
    }
  }

  const ShardIndex* index_;
  uint32_t sample_ = 0;
  size_t position_ = 0;
};

}  // namespace headrace
