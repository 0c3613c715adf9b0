// The functions of the CUDA driver that page-locking asks for, as strict as the driver: locking
// needs a context on the thread, memory is locked once, and is unlocked while it is mapped.
#include <sys/mman.h>

#include <atomic>
#include <map>
#include <mutex>

namespace {

constexpr int kInvalidValue = 1;
constexpr int kNotInitialised = 3;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidContext = 201;
constexpr int kAlreadyLocked = 712;
constexpr int kNotLocked = 713;

std::atomic<bool> initialised{false};
std::atomic<int> retained{0};
std::atomic<int> faults{0};
std::atomic<bool> refuses{false};
thread_local int contexts = 0;
int the_context = 0;

std::mutex mutex;
std::map<void*, size_t> locked;

int fault(int code) {
  ++faults;
  return code;
}

bool is_mapped(void* memory, size_t bytes) { return msync(memory, bytes, MS_ASYNC) == 0; }

}  // namespace

extern "C" {
#define EXPORTED __attribute__((visibility("default")))

EXPORTED int cuInit(unsigned flags) {
  if (flags != 0) return fault(kInvalidValue);
  initialised = true;
  return 0;
}

EXPORTED int cuDeviceGet(int* device, int ordinal) {
  if (!initialised) return fault(kNotInitialised);
  if (ordinal > 1) return kInvalidDevice;
  *device = ordinal;
  return 0;
}

EXPORTED int cuDevicePrimaryCtxRetain(void** context, int) {
  ++retained;
  *context = &the_context;
  return 0;
}

EXPORTED int cuDevicePrimaryCtxRelease_v2(int) {
  --retained;
  return 0;
}

EXPORTED int cuCtxPushCurrent_v2(void* context) {
  if (context != &the_context) return fault(kInvalidContext);
  ++contexts;
  return 0;
}

EXPORTED int cuCtxPopCurrent_v2(void** context) {
  if (contexts == 0) return fault(kInvalidContext);
  --contexts;
  *context = &the_context;
  return 0;
}

EXPORTED int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  if (contexts == 0) return fault(kInvalidContext);
  if (flags != 1 || !is_mapped(memory, bytes)) return fault(kInvalidValue);
  if (refuses) return 2;
  const std::lock_guard lock(mutex);
  return locked.emplace(memory, bytes).second ? 0 : fault(kAlreadyLocked);
}

EXPORTED int cuMemHostUnregister(void* memory) {
  if (contexts == 0) return fault(kInvalidContext);
  const std::lock_guard lock(mutex);
  const auto found = locked.find(memory);
  if (found == locked.end()) return fault(kNotLocked);
  if (!is_mapped(memory, found->second)) return fault(kInvalidValue);
  locked.erase(found);
  return 0;
}

EXPORTED size_t fake_locked() {
  const std::lock_guard lock(mutex);
  return locked.size();
}
EXPORTED int fake_retained() { return retained; }
EXPORTED int fake_faults() { return faults; }
EXPORTED void fake_refuse(bool yes) { refuses = yes; }
}
