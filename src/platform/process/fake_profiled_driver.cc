// For tests: what profiler_start.cc asks of the CUDA driver's library, under that library's name. A
// context is in use once fake_use_gpu() was called; fake_starts() says how often profiling began.
#include <atomic>

namespace {
std::atomic<int> active{0}, starts{0}, current{0};
int context = 0;
}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void fake_use_gpu() { active = 1; }
EXPORTED int fake_starts() { return starts; }

EXPORTED int cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}
EXPORTED int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = device == 1 ? active.load() : 0;
  return 0;
}
EXPORTED int cuDevicePrimaryCtxRetain(void** out, int device) {
  *out = device == 1 ? &context : nullptr;
  return 0;
}
EXPORTED int cuCtxSetCurrent(void* of) {
  current = of == &context ? 1 : 0;
  return 0;
}
EXPORTED int cuProfilerStart() {
  starts += current;
  return 0;
}
