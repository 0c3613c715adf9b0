// A tar archive that can only be read from front to back: a pipe.
#pragma once

#include <functional>
#include <string>

#include "format/key_rule.h"
#include "format/shard_index.h"
#include "format/tar_parser.h"
#include "headrace/result.h"

namespace headrace::cli {

/// Calls `on_member` for every member as its header comes; false from it ends the reading. A stream
/// that ends inside a member is Code::kCorrupt; one that ends between members cannot be told from
/// a whole one. Payloads are read and dropped.
Status stream_tar(int descriptor, const std::function<Result<bool>(const TarMember&)>& on_member);

/// Groups the members of a stream to samples, holding one sample at a time.
class TarSamples {
 public:
  /// Gets an index of exactly one sample.
  using Show = std::function<void(const ShardIndex&)>;

  TarSamples(KeyRule rule, Show show) : rule_(std::move(rule)), show_(std::move(show)) {}

  Status add(const TarMember& member);
  /// Shows the last sample.
  void finish();

 private:
  const KeyRule rule_;
  const Show show_;
  KeyField name_;
  std::string key_;
  ShardIndexBuilder sample_;
};

}  // namespace headrace::cli
