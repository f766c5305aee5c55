#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "platform/files/embedded.h"
#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

template <class Call>
Call Find(void* library, const char* name) {
  return reinterpret_cast<Call>(::dlsym(library, name));
}

// What the library does in a process that begins to use a GPU: 0 as it should be.
int InAProcess(const std::string& library) {
  void* const driver = ::dlopen(
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_profiled_driver.so")
          .c_str(),
      RTLD_NOW);
  if (driver == nullptr) return 1;
  const auto use_gpu = Find<void (*)()>(driver, "fake_use_gpu");
  const auto starts = Find<int (*)()>(driver, "fake_starts");
  ::setenv("SHAREWELL_PROFILE_AFTER", "0.3", 1);
  if (::dlopen(library.c_str(), RTLD_NOW) == nullptr) return 2;
  std::this_thread::sleep_for(milliseconds(500));
  if (starts() != 0) return 3;  // no GPU is used yet
  const auto began = Clock::now();
  use_gpu();
  while (starts() == 0 && Clock::now() - began < std::chrono::seconds(20)) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  if (starts() != 1) return 4;
  return Clock::now() - began < milliseconds(290) ? 5 : 0;  // before its time
}

// In a process of its own, as the stand-in has the name of the driver's library.
TEST(ProfilerStart, ProfilingBeginsSomeTimeAfterTheProcessHasBegunToUseAGpu) {
  const TestFolder folder;
  const std::string library = folder.Write("profiler.so", EmbeddedProfilerLibrary());
  EXPECT_EXIT(std::_Exit(InAProcess(library)), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sharewell::platform
