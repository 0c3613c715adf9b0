// Page-locks memory for a CUDA device, so that the device copies from it by itself: out of a slot,
// while host and device do other things.
//
//   slot, page-locked   |. . . . . . .|  ──the device's copy engine──▶  tensor on the device
//   slot, pageable      |. . . . . . .|  ──host thread──▶ pinned memory ──copy engine──▶ tensor
//
// Headrace does not link CUDA: the driver's own library is opened when it is asked for, which every
// version of torch uses too. (CUDA Driver API, "Memory Management": cuMemHostRegister.)
//
// A forked child leaves what its parent has locked alone: CUDA is not there.
// Thread-safety: any method from any thread.
#pragma once

#include <sys/types.h>

#include <memory>

#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

class PageLock {
 public:
  /// For the device of that ordinal, as torch counts them. Code::kNotFound if there is no driver,
  /// Code::kFailure with the driver's number if it refuses.
  static Result<std::shared_ptr<PageLock>> open(int device, const char* driver = "libcuda.so.1");

  ~PageLock();
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;

  /// False: the driver refuses, and the memory stays as it is.
  bool lock(MutableBytes memory);
  /// Before locked memory is unmapped.
  void unlock(MutableBytes memory);

 private:
  struct Driver;
  PageLock(std::unique_ptr<Driver> driver, int device, void* context);

  const std::unique_ptr<Driver> driver_;
  const int device_;
  void* const context_;  ///< the device's primary one, which torch uses; retained
  const pid_t pid_;
};

}  // namespace headrace
