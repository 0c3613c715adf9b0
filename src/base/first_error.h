// The error that one thread alone would have met first: threads that share work in order keep the
// one of the earliest piece, so that what a job says does not depend on which thread was faster.
// Thread-safety: none; its users guard it with the mutex of the work.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "headrace/result.h"

namespace headrace {

class FirstError {
 public:
  bool is_set() const { return error_.has_value(); }

  /// Of piece `number` of a task.
  void set(uint64_t task, uint64_t number, Error error) {
    if (error_ && std::pair(task, number) >= at_) return;
    at_ = {task, number};
    error_ = std::move(error);
  }

  /// For the end: success if nothing was set.
  Status take() { return error_ ? Status(*std::exchange(error_, std::nullopt)) : Status(); }

 private:
  std::optional<Error> error_;
  std::pair<uint64_t, uint64_t> at_;
};

}  // namespace headrace
