// The versions of a data set: every root that it had, by number.
//
//   headrace.json                       what readers open: a copy of the newest
//   _headrace/versions/000001.json      roots, each put if absent under the next number
//   _headrace/versions/000002.json
//
// A data set gets its first numbers when its root is replaced for the first time. The number is
// what two writers compete for: one of them gets it, the other sees that the root is not the one
// that it began with. No clock has a part in it. A writer that was killed between number and root
// leaves the old root; whoever commits next puts the newest one first. Restoring an old version
// makes a new one of the same content, so numbers only rise. Thread-safety: functions of the store
// alone; any number of processes may call them at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/store.h"
#include "plan/manifest.h"

namespace headrace {

inline constexpr const char* kVersionFolder = "_headrace/versions/";

struct Version {
  uint64_t number = 0;
  std::string path;  ///< of the object that keeps it; not there while nobody replaced it
  std::string text;  ///< of the root
  Manifest manifest;
  bool is_current = false;  ///< readers open this one
};

/// Every version, oldest first. One that nobody replaced yet is number 1 without an object of its
/// own. Code::kNotFound where there is no data set. A root that cannot be read is an error, an old
/// version that cannot is left out.
Result<std::vector<Version>> read_versions(const Store& store);

/// Makes `text` the root. `built_on`: the root that it goes on from; if that is not the newest any
/// more, somebody else was faster (Code::kChanged). Nothing: it takes the place of whatever is
/// there. A first root gets no number. Durable when it returns.
Status commit_root(Store& store, const std::string& text,
                   const std::optional<std::string>& built_on);

/// Makes version `number` the newest again. Code::kNotFound if there is none or one of its objects
/// is gone. Returns the new version's number, or `number` itself if it is the current one.
Result<uint64_t> restore_version(Store& store, uint64_t number);

/// Removes the number of an old version; its objects stay. Precondition: not the newest.
Status forget_version(Store& store, uint64_t number);

/// The objects that a version names, relative to the data set: tables, and shards that lie with it.
Result<std::vector<StoreEntry>> version_objects(const Store& store, const Version& version);

}  // namespace headrace
