// What tests of vector loops share: every instruction set in turn, and bytes to run them on.
#pragma once

#include <hwy/targets.h>

#include <vector>

#include "base/counter_rng.h"
#include "codec/support.h"

namespace headrace {

/// Runs `check` once with each instruction set that this machine has.
template <typename Check>
void on_every_target(const Check& check) {
  const auto all = hwy::SupportedTargets();
  for (auto targets = all; targets != 0; targets &= targets - 1) {
    const auto target = targets & -targets;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

inline std::vector<uint8_t> noise(size_t bytes, uint64_t seed) {
  CounterRng random(seed, 0, 0, 0);
  std::vector<uint8_t> out(bytes);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(random.bits());
  return out;
}

}  // namespace headrace
