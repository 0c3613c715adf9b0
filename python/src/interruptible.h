// Calls that may wait for a network, so that Ctrl-C is heard meanwhile.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <future>
#include <stop_token>

#include "base/stop_scope.h"
#include "headrace/dataset.h"

namespace headrace::python {

/// What `call()` gives, run in a thread of its own with the GIL released. A signal handler that
/// raises stops it, and its exception goes on once the call has ended.
template <typename Call>
auto interruptible(const Call& call) {
  constexpr auto kHeartbeat = std::chrono::milliseconds(50);
  auto result = [&] {
    const nanobind::gil_scoped_release unlocked;
    std::stop_source stop;
    auto done = std::async(std::launch::async, [&] {
      const StopScope scope(stop.get_token());
      return call();
    });
    while (done.wait_for(kHeartbeat) == std::future_status::timeout) {
      const nanobind::gil_scoped_acquire locked;
      if (!stop.stop_requested() && PyErr_CheckSignals() != 0) stop.request_stop();
    }
    return done.get();
  }();
  if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
  return result;
}

/// The same for what reads a data set. Local reads are too short to be worth a thread.
template <typename Call>
auto interruptible(const Dataset& set, const Call& call) {
  if (set.is_remote()) return interruptible(call);
  const nanobind::gil_scoped_release unlocked;
  return call();
}

}  // namespace headrace::python
