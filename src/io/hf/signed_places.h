// Where the bytes of files are at the moment: the signed addresses that the Hub's answers redirect
// to, each until shortly before it expires. One request finds a place, and whoever else wants it
// meanwhile waits for that: the Hub counts these requests. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/http/url.h"

namespace headrace {

/// When a signed address ends, by its query (`Expires`, or `X-Amz-Date` and `X-Amz-Expires`).
/// Nothing if it does not say.
std::optional<std::chrono::system_clock::time_point> expiry_of(const Url& url);

class SignedPlaces {
 public:
  /// A place that is good for some time yet. Files go by where the Hub is asked for them.
  std::optional<Url> find(const std::string& file) const;
  void found(const std::string& file, const Url& url);
  void forget(const std::string& file);

  /// True: the caller is to find the place, and calls end_search() whatever comes of it. False:
  /// somebody is at it, and `then` is called when they are done.
  bool begin_search(const std::string& file, std::function<void()> then);
  void end_search(const std::string& file);

 private:
  struct Place {
    Url url;
    std::chrono::system_clock::time_point good_until;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Place> places_;
  std::unordered_map<std::string, std::vector<std::function<void()>>> searches_;
};

}  // namespace headrace
