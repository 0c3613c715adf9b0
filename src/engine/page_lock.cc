#include "engine/page_lock.h"

#include <dlfcn.h>
#include <unistd.h>

#include <string>
#include <type_traits>
#include <utility>

#include "base/try.h"

namespace headrace {
namespace {

constexpr unsigned kForAllContexts = 1;  // CU_MEMHOSTREGISTER_PORTABLE

Error refused(const char* call, int result) {
  return {
      .code = Code::kFailure,
      .message = std::string("the CUDA driver's ") + call + " fails with " + std::to_string(result),
      .origin = {},
      .hint = "Without page-locked memory batches are copied once more."};
}

}  // namespace

/// The driver's functions, under the names that its current header gives them; each returns 0 when
/// it succeeds.
struct PageLock::Driver {
  int (*init)(unsigned flags) = nullptr;
  int (*device_get)(int* device, int ordinal) = nullptr;
  int (*retain)(void** context, int device) = nullptr;
  int (*release)(int device) = nullptr;
  int (*push)(void* context) = nullptr;
  int (*pop)(void** context) = nullptr;
  int (*host_register)(void* memory, size_t bytes, unsigned flags) = nullptr;
  int (*host_unregister)(void* memory) = nullptr;

  Status load(const char* name) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      return Error{.code = Code::kNotFound, .message = dlerror(), .origin = {}, .hint = ""};
    const auto find = [library](const char* function, auto& into) {
      into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(dlsym(library, function));
      return into != nullptr;
    };
    const bool found =
        find("cuInit", init) && find("cuDeviceGet", device_get) &&
        find("cuDevicePrimaryCtxRetain", retain) && find("cuDevicePrimaryCtxRelease_v2", release) &&
        find("cuCtxPushCurrent_v2", push) && find("cuCtxPopCurrent_v2", pop) &&
        find("cuMemHostRegister_v2", host_register) && find("cuMemHostUnregister", host_unregister);
    if (found) return {};
    return Error{.code = Code::kNotFound, .message = dlerror(), .origin = {}, .hint = ""};
  }
};

Result<std::shared_ptr<PageLock>> PageLock::open(int device, const char* driver) {
  auto functions = std::make_unique<Driver>();
  HR_CHECK(functions->load(driver));
  if (const int result = functions->init(0)) return refused("cuInit", result);
  int handle = 0;
  if (const int result = functions->device_get(&handle, device))
    return refused("cuDeviceGet", result);
  void* context = nullptr;
  if (const int result = functions->retain(&context, handle))
    return refused("cuDevicePrimaryCtxRetain", result);
  return std::shared_ptr<PageLock>(new PageLock(std::move(functions), handle, context));
}

PageLock::PageLock(std::unique_ptr<Driver> driver, int device, void* context)
    : driver_(std::move(driver)), device_(device), context_(context), pid_(getpid()) {}

// At the end of a program the driver may be gone before us. It says so, and nothing is left to do.
PageLock::~PageLock() {
  if (getpid() == pid_) driver_->release(device_);
}

bool PageLock::lock(MutableBytes memory) {
  if (driver_->push(context_) != 0) return false;
  const int result = driver_->host_register(memory.data(), memory.size(), kForAllContexts);
  void* popped = nullptr;
  driver_->pop(&popped);
  return result == 0;
}

void PageLock::unlock(MutableBytes memory) {
  if (getpid() != pid_ || driver_->push(context_) != 0) return;
  driver_->host_unregister(memory.data());
  void* popped = nullptr;
  driver_->pop(&popped);
}

}  // namespace headrace
