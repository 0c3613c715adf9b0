// What `map` does to each sample, as a plan names it.
// Thread-safety: a plain value.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headrace {

struct MapStep {
  enum class Kind {
    kCommand,  ///< of sh, in a folder of its own that holds the sample's files
    kPython,   ///< module:function, of a dictionary
  };
  Kind kind = Kind::kCommand;
  std::string what;
  bool skip = false;  ///< a sample at which it fails is left out; otherwise the job stops
};

/// A sample in memory: what goes in, and what comes out.
struct MapSample {
  std::string key;
  std::vector<std::pair<std::string, std::string>> fields;  ///< name and bytes
};

}  // namespace headrace
