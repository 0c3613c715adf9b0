// Names of the shards of a job, numbered from 0. Three ways to write them:
//
//   train-%06d.tar               printf: one %d, zero padding as asked; no end
//   train-{000..127}.tar         a brace range (several multiply, the last varies fastest): 128
//   names train-@0099.tar              AIStore's: 0000 up to 0099, as wide as written; 100 names
//
// Pure. Thread-safety: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/result.h"
#include "plan/manifest.h"

namespace headrace {

class NameTemplate {
 public:
  /// Refuses (Code::kUsage) names that do not end as those of `container` do (nothing: no shards),
  /// leave the destination, lie in the tables' folder or hold no number.
  static Result<NameTemplate> parse(std::string_view text,
                                    std::optional<Container> container = Container::kTar);

  /// How many names there are; ~0 when there is no end.
  uint64_t limit() const { return limit_; }
  /// Precondition: number < limit().
  std::string name(uint64_t number) const;

 private:
  struct Range {
    uint64_t first = 0;
    uint64_t count = 0;
    uint64_t step = 1;
    size_t width = 0;
  };

  std::vector<std::string> text_;  // before, between and after the ranges
  std::vector<Range> ranges_;
  uint64_t limit_ = 1;
};

}  // namespace headrace
