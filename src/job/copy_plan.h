// What a copy consists of: the objects, and how each is known. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/store.h"

namespace headrace {

struct CopyObject {
  std::string path;  ///< in the source's store
  uint64_t bytes = 0;
  uint64_t xxh3 = 0;        ///< 0: not known
  std::string sha256 = {};  ///< empty: not known
  bool is_shard = true;     ///< from CopyPlan::data; else from CopyPlan::tables
  std::string name = {};    ///< in the destination; empty: the same
  /// Where the object is, if not in a store of the plan.
  std::string address = {};
  /// The bytes themselves, of a table that is made anew.
  std::shared_ptr<const std::string> made = {};

  const std::string& to() const { return name.empty() ? path : name; }

  bool has_checksum() const { return xxh3 != 0 || !sha256.empty(); }
};

struct CopyPlan {
  std::shared_ptr<Store> tables;
  std::shared_ptr<Store> data;
  std::vector<CopyObject> objects;
  std::string root;  ///< the manifest that the destination gets; empty: there is none

  uint64_t bytes() const;
  /// What the marker at the destination says.
  std::string digest() const;
};

/// `transform`: a NameRule for the objects' names, or of a data set for those of its shards; or "".
Result<CopyPlan> plan_copy(const std::string& source, const std::string& transform);

}  // namespace headrace
