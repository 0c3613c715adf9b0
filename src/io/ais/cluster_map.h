// The map of an AIStore cluster: its targets, and which of them has an object.
//
// AIStore places objects by highest random weight: every target's digest and the object's are
// mixed, and the largest number wins (Thaler and Ravishankar, "Using name-based mappings to
// increase hit rates", 1998). A client that does the same arithmetic asks the target at once and
// saves the hop over the proxy. It is a guess all the same: targets come and go, and the proxy has
// the last word. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/result.h"
#include "io/http/url.h"

namespace headrace {

class ClusterMap {
 public:
  /// The JSON that `GET /v1/daemon?what=smap` gives. `where` is for messages.
  static Result<ClusterMap> parse(std::string_view text, const std::string& where);

  const std::string& version() const { return version_; }
  size_t targets() const { return targets_.size(); }
  /// Whether an address is a target's.
  bool has(const Url& url) const;
  /// The target that should have the object; nullptr if there is none.
  const Url* owner(std::string_view bucket, std::string_view object) const;

 private:
  struct Target {
    Url url;
    uint64_t digest = 0;
    bool takes_objects = true;  ///< not in maintenance
  };
  std::string version_;
  std::vector<Target> targets_;
};

}  // namespace headrace
