// Curl's easy handles, used again and again: a fresh one costs an allocation of its receive buffer,
// whose pages have to be got from the system each time.
//
// Ownership: outlives the handles that were taken. Belongs to one thread.
#pragma once

#include <memory>
#include <vector>

#include "io/http/curl.h"

namespace headrace {

class CurlHandles {
 public:
  struct GiveBack {
    CurlHandles* handles;
    void operator()(CURL* easy) const { handles->give_back(CurlEasy(easy)); }
  };
  /// With options as they are at first, and not part of a transfer when it is given back.
  using Handle = std::unique_ptr<CURL, GiveBack>;

  Handle take() {
    if (free_.empty()) return {curl().easy_init(), {this}};
    CURL* easy = free_.back().release();
    free_.pop_back();
    return {easy, {this}};
  }

 private:
  static constexpr size_t kKept = 64;  // each has a buffer of some hundred KiB

  void give_back(CurlEasy easy) {
    if (free_.size() == kKept) return;
    curl().easy_reset(easy.get());
    free_.push_back(std::move(easy));
  }

  std::vector<CurlEasy> free_;
};

}  // namespace headrace
