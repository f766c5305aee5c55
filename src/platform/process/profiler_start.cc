// Loaded into a job that Nsight Compute runs (LD_PRELOAD). With "--profile-from-start off" a job
// runs at its own speed until it calls cuProfilerStart, which few jobs do; this calls it for them,
// some seconds after they have begun to use the GPU. To have launches skipped instead
// (--launch-skip) takes Nsight Compute 14 ms and more each on an H200, and cuDNN tries out
// thousands.
//
// Nothing but libc: it is in somebody else's process. Errors are silent, as that process has its
// own; Nsight Compute then counts no kernel, and sharewell says so.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>

namespace {

// Of the CUDA driver's interface.
using GetCount = int (*)(int* count);
using GetState = int (*)(int device, unsigned* flags, int* active);
using Retain = int (*)(void** context, int device);
using SetCurrent = int (*)(void* context);
using Start = int (*)();

double after = 0;                // seconds of using the GPU
std::atomic<bool> found{false};  // the driver's library: a child may not use its contexts

void Sleep(double seconds) {
  timespec left{
      static_cast<time_t>(seconds),
      static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

template <class Call>
Call Find(void* driver, const char* name) {
  return reinterpret_cast<Call>(dlsym(driver, name));
}

// The first device whose context this process has made; -1: none yet.
int DeviceInUse(void* driver) {
  const auto count = Find<GetCount>(driver, "cuDeviceGetCount");
  const auto state = Find<GetState>(driver, "cuDevicePrimaryCtxGetState");
  int devices = 0;
  if (count == nullptr || state == nullptr || count(&devices) != 0) return -1;
  for (int device = 0; device < devices; ++device) {
    unsigned flags = 0;
    int active = 0;
    if (state(device, &flags, &active) == 0 && active != 0) return device;
  }
  return -1;
}

void* Wait(void*) {
  constexpr double kLook = 0.1;
  void* driver = nullptr;
  int device = -1;
  while (device < 0) {
    Sleep(kLook);
    // Never loaded by us: a process without it uses no GPU.
    if (driver == nullptr) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    found = driver != nullptr;
    if (found) device = DeviceInUse(driver);
  }
  Sleep(after);
  const auto retain = Find<Retain>(driver, "cuDevicePrimaryCtxRetain");
  const auto current = Find<SetCurrent>(driver, "cuCtxSetCurrent");
  const auto start = Find<Start>(driver, "cuProfilerStart");
  void* context = nullptr;
  if (retain != nullptr && current != nullptr && start != nullptr &&
      retain(&context, device) == 0 && current(context) == 0) {
    start();
  }
  return nullptr;
}

void StartThread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the job's signals are for its own threads
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Wait, nullptr) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// A launcher forks, and its child uses the GPU: threads do not go with it. Children of those who
// use it already, such as loaders, are left alone.
void InChild() {
  if (!found) StartThread();
}

__attribute__((constructor)) void Begin() {
  const char* const text = getenv("SHAREWELL_PROFILE_AFTER");
  if (text == nullptr) return;
  after = strtod(text, nullptr);
  if (!(after >= 0 && after < 86400)) return;
  StartThread();
  pthread_atfork(nullptr, nullptr, InChild);
}

}  // namespace
