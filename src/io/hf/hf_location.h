// The address of something on the Hub: `hf://[datasets/|models/]org/name[@revision][/path]`.
// Plain values.
#pragma once

#include <string>

#include "headrace/result.h"

namespace headrace {

struct HfLocation {
  std::string kind;      ///< "datasets" or "models", as routes have it
  std::string id;        ///< "org/name"
  std::string revision;  ///< branch, tag or commit; "main" if none was named
  std::string path;      ///< in the repository, without a '/' at either end; "" for all of it

  static Result<HfLocation> parse(const std::string& location);

  /// "hf://datasets/org/name", with "@revision" unless it is main.
  std::string name() const;
};

}  // namespace headrace
