#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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

struct FakeDriver {
  void (*use_gpu)();
  int (*starts)();
};

FakeDriver Load() {
  void* const driver = ::dlopen(
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_profiled_driver.so")
          .c_str(),
      RTLD_NOW);
  if (driver == nullptr) std::_Exit(1);
  return {Find<void (*)()>(driver, "fake_use_gpu"), Find<int (*)()>(driver, "fake_starts")};
}

void LoadProfiler(const std::string& library) {
  ::setenv("SHAREWELL_PROFILE_AFTER", "0.3", 1);
  if (::dlopen(library.c_str(), RTLD_NOW) == nullptr) std::_Exit(2);
}

// 0: profiling began once, in its time.
int Watched(const FakeDriver& driver) {
  const auto began = Clock::now();
  driver.use_gpu();
  while (driver.starts() == 0 && Clock::now() - began < std::chrono::seconds(20)) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  if (driver.starts() != 1) return 4;
  return Clock::now() - began < milliseconds(290) ? 5 : 0;
}

int InAProcess(const std::string& library) {
  const FakeDriver driver = Load();
  LoadProfiler(library);
  std::this_thread::sleep_for(milliseconds(500));
  return driver.starts() == 0 ? Watched(driver) : 3;  // no GPU is used yet
}

int InAChildOfALauncher(const std::string& library) {
  LoadProfiler(library);
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(Watched(Load()));
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 6;
}

// In processes of their own, as the stand-in has the name of the driver's library.
TEST(ProfilerStart, ProfilingBeginsSomeTimeAfterTheProcessHasBegunToUseAGpu) {
  const TestFolder folder;
  const std::string library = folder.Write("profiler.so", EmbeddedProfilerLibrary());
  EXPECT_EXIT(std::_Exit(InAProcess(library)), ::testing::ExitedWithCode(0), "");
}

TEST(ProfilerStart, AChildThatALauncherForkedIsWatchedToo) {
  const TestFolder folder;
  const std::string library = folder.Write("profiler.so", EmbeddedProfilerLibrary());
  EXPECT_EXIT(std::_Exit(InAChildOfALauncher(library)), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sharewell::platform
