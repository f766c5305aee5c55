// A CUDA driver library for tests: two GPUs, listed against their bus order, whose copies take
// their time at 4 GB/s and leave the bytes where they belong. `fake_cuda_held` counts what was not
// given back.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

constexpr double kBytesPerSecond = 4e9;
constexpr int kGpus = 2;

std::atomic<long> held = 0;

struct FakeStream {
  double seconds = 0;  // of copies that are under way
};

int Copy(void* to, const void* from, std::size_t bytes, void* stream) {
  std::memcpy(to, from, bytes);
  static_cast<FakeStream*>(stream)->seconds += static_cast<double>(bytes) / kBytesPerSecond;
  return 0;
}

}  // namespace

extern "C" {

long fake_cuda_held() { return held; }

int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* count) {
  *count = kGpus;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return index < kGpus ? 0 : 101;
}
int cuDeviceGetName(char* name, int size, int device) {
  std::strncpy(name, device == 0 ? "Fake far" : "Fake near", static_cast<std::size_t>(size));
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int size, int device) {
  std::strncpy(id, device == 0 ? "0000:9A:00.0" : "0000:1B:00.0", static_cast<std::size_t>(size));
  return 0;
}
int cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return 708; }  // as when it is in use
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &held;
  ++held;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  --held;
  return 0;
}
int cuCtxSetCurrent(void* context) { return context == &held ? 0 : 201; }
int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
  *memory = reinterpret_cast<unsigned long long>(std::malloc(bytes));
  ++held;
  return 0;
}
int cuMemFree_v2(unsigned long long memory) {
  std::free(reinterpret_cast<void*>(memory));
  --held;
  return 0;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  ++held;
  return 0;
}
int cuMemFreeHost(void* memory) {
  std::free(memory);
  --held;
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream) {
  return Copy(reinterpret_cast<void*>(to), from, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void* stream) {
  return Copy(to, reinterpret_cast<const void*>(from), bytes, stream);
}
int cuStreamCreate(void** stream, unsigned) {
  *stream = new FakeStream;
  ++held;
  return 0;
}
int cuStreamSynchronize(void* stream) {
  auto* fake = static_cast<FakeStream*>(stream);
  std::this_thread::sleep_for(std::chrono::duration<double>(fake->seconds));
  fake->seconds = 0;
  return 0;
}
int cuStreamDestroy_v2(void* stream) {
  delete static_cast<FakeStream*>(stream);
  --held;
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "fake error";
  return 0;
}

}  // extern "C"
