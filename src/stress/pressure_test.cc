// Real threads on a machine that may be busy: what is asserted is that work is done, that it is not
// too much, and that everything ends. How well levels are held is tests/acceptance/stress.py's to
// say.
#include "stress/pressure.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "platform/files/test_folder.h"
#include "stress/paced_threads.h"

namespace sharewell::stress {
namespace {

using testing::HasSubstr;

void Wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// Without measuring, so that tests are quick and a busy machine refuses nothing.
PressureSpec Spec(PressureKind kind, double level, double capacity) {
  PressureSpec spec;
  spec.kind = kind;
  spec.level = Level::Absolute(level);
  spec.capacity = Capacity{.value = capacity};
  return spec;
}

// Runs it for a while; what it did is something, and not beyond its schedule: the target, and what
// it may catch up with.
void ExpectWorks(const PressureSpec& spec) {
  auto pressure = Pressure::Start(spec);
  ASSERT_TRUE(pressure) << pressure.error().message;
  EXPECT_EQ((*pressure)->kind(), spec.kind);
  Wait(1.2);
  const PressureReading reading = (*pressure)->Read();
  EXPECT_EQ(reading.trouble, "");
  EXPECT_NEAR(reading.target, spec.level.value, spec.level.value * 1e-9);
  ASSERT_TRUE(reading.achieved);
  EXPECT_GT(*reading.achieved, 0);
  EXPECT_LT(*reading.achieved, spec.level.value * 1.35);
  EXPECT_GE(reading.seconds, 1.2);
  ASSERT_FALSE(reading.per_second.empty());
  EXPECT_GT(reading.per_second[0], 0);
  EXPECT_TRUE(reading.cpu_share);
  EXPECT_THAT((*pressure)->Describe(), HasSubstr("thread"));
}

TEST(Pressure, Cpu) { ExpectWorks(Spec(PressureKind::kCpu, 0.2, 1)); }
TEST(Pressure, MemoryBandwidth) { ExpectWorks(Spec(PressureKind::kMemoryBandwidth, 3e8, 1e9)); }
TEST(Pressure, LastLevelCache) {
  ExpectWorks(Spec(PressureKind::kLastLevelCache, 1 << 20, 4 << 20));
}

TEST(Pressure, Disk) {
  const platform::TestFolder folder;
  PressureSpec spec = Spec(PressureKind::kDisk, 2e6, 1e9);
  spec.disk_path = folder.path();
  for (const DiskAccess access : {DiskAccess::kRead, DiskAccess::kWrite}) {
    spec.disk_access = access;
    auto pressure = Pressure::Start(spec);
    if (!pressure) {
      // The folder for temporary files may lie in memory, or be nearly full: then it says so.
      EXPECT_THAT(pressure.error().message,
                  testing::AnyOf(HasSubstr("lies in memory"), HasSubstr("are needed")));
      continue;
    }
    Wait(0.5);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "its file has a name";
    const PressureReading reading = (*pressure)->Read();
    EXPECT_GT(reading.achieved.value_or(0), 0) << reading.trouble;
  }
}

TEST(Pressure, ADiskInMemoryIsNone) {
  struct statfs there {};
  if (::statfs("/dev/shm", &there) != 0 || there.f_type != TMPFS_MAGIC) {
    GTEST_SKIP() << "/dev/shm is no tmpfs here";
  }
  PressureSpec spec = Spec(PressureKind::kDisk, 2e6, 1e9);
  spec.disk_path = "/dev/shm";
  const auto pressure = Pressure::Start(spec);
  ASSERT_FALSE(pressure);
  EXPECT_EQ(pressure.error().kind, core::ErrorKind::kUsage);
  EXPECT_THAT(pressure.error().message, HasSubstr("lies in memory"));
}

TEST(Pressure, NoSuchFolder) {
  PressureSpec spec = Spec(PressureKind::kDisk, 2e6, 1e9);
  spec.disk_path = "/no/such/folder";
  const auto pressure = Pressure::Start(spec);
  ASSERT_FALSE(pressure);
  EXPECT_EQ(pressure.error().kind, core::ErrorKind::kUsage);
}

long HeldByFakeCuda() {
  void* library = ::dlopen(SHAREWELL_FAKE_CUDA, RTLD_NOW);
  return library == nullptr ? -1
                            : reinterpret_cast<long (*)()>(::dlsym(library, "fake_cuda_held"))();
}

TEST(Pressure, PcieEachWayGivesEverythingBack) {
  for (const auto direction :
       {PcieDirection::kToDevice, PcieDirection::kToHost, PcieDirection::kBoth}) {
    PressureSpec spec = Spec(PressureKind::kPcie, 5e8, 4e9);
    spec.cuda_library = SHAREWELL_FAKE_CUDA;
    spec.direction = direction;
    auto pressure = Pressure::Start(spec);
    ASSERT_TRUE(pressure) << pressure.error().message;
    EXPECT_THAT((*pressure)->Describe(), HasSubstr("GPU 0, Fake near at 0000:1B:00.0"));
    Wait(0.2);
    EXPECT_GT((*pressure)->Read().achieved.value_or(0), 0);
    EXPECT_GT(HeldByFakeCuda(), 0);
    pressure->reset();
    EXPECT_EQ(HeldByFakeCuda(), 0);
  }
}

TEST(Pressure, PcieCapacityIsMeasured) {
  PressureSpec spec;
  spec.kind = PressureKind::kPcie;
  spec.cuda_library = SHAREWELL_FAKE_CUDA;
  const auto capacity = Calibrate(spec);
  ASSERT_TRUE(capacity) << capacity.error().message;
  EXPECT_GT(capacity->value, 1e8);
  EXPECT_LT(capacity->value, 9e9);  // two threads at 4 GB/s each, as the fake has it
  EXPECT_TRUE(capacity->spread);
  EXPECT_TRUE(capacity->one_thread);
}

TEST(Pressure, PcieWithoutADriverOrGpu) {
  PressureSpec spec = Spec(PressureKind::kPcie, 5e8, 4e9);
  spec.cuda_library = "libno-such-driver.so.1";
  const auto no_driver = Pressure::Start(spec);
  ASSERT_FALSE(no_driver);
  EXPECT_EQ(no_driver.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(no_driver.error().message, HasSubstr("NVIDIA"));

  spec.cuda_library = "libc.so.6";
  const auto wrong_library = Pressure::Start(spec);
  ASSERT_FALSE(wrong_library);
  EXPECT_EQ(wrong_library.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(wrong_library.error().message, HasSubstr("has no cuInit"));

  spec.cuda_library = SHAREWELL_FAKE_CUDA;
  spec.gpu = 2;
  const auto no_gpu = Pressure::Start(spec);
  ASSERT_FALSE(no_gpu);
  EXPECT_EQ(no_gpu.error().kind, core::ErrorKind::kUsage);
  EXPECT_EQ(HeldByFakeCuda(), 0);
}

TEST(Pressure, LevelsThatMakeNoSenseAreRefused) {
  const auto refusal = [](const PressureSpec& spec) {
    const auto pressure = Pressure::Prepare(spec);
    return pressure ? std::string() : pressure.error().message;
  };
  EXPECT_THAT(refusal(Spec(PressureKind::kCpu, 100000, 1)), HasSubstr("more than there is"));
  EXPECT_THAT(refusal(Spec(PressureKind::kCpu, 1e-6, 1)), HasSubstr("too little"));
  EXPECT_THAT(refusal(Spec(PressureKind::kLastLevelCache, 8 << 20, 4 << 20)),
              HasSubstr("this machine has 4.19 MB"));
  PressureSpec share = Spec(PressureKind::kCpu, 0.2, 1);
  share.level = Level::Share(1.5);
  EXPECT_THAT(refusal(share), HasSubstr("at most 1"));
}

TEST(Pressure, LevelsChangeAndRest) {
  auto pressure = Pressure::Prepare(Spec(PressureKind::kCpu, 0.5, 1));
  ASSERT_TRUE(pressure);
  Wait(0.05);
  EXPECT_EQ((*pressure)->Read().achieved, 0);  // at rest until it runs
  (*pressure)->Run();
  Wait(0.2);
  EXPECT_GT((*pressure)->Read().achieved.value_or(0), 0);
  ASSERT_TRUE((*pressure)->SetLevel(Level::Absolute(0.1)));
  EXPECT_EQ((*pressure)->target(), 0.1);
  EXPECT_FALSE((*pressure)->SetLevel(Level::Absolute(0)));
  EXPECT_EQ((*pressure)->target(), 0.1);
  (*pressure)->Rest();
  Wait(0.1);  // the piece that was under way ends
  (*pressure)->Read();
  Wait(0.2);
  EXPECT_EQ((*pressure)->Read().achieved, 0);
}

// A worker that fails after a while.
class FailingWorker : public Worker {
 public:
  core::Result<void> Prepare() override { return {}; }
  core::Result<double> Do(double amount) override {
    if (++pieces_ > 3) return core::FailedError("it broke");
    return amount;
  }

 private:
  int pieces_ = 0;
};

TEST(PacedThreads, AWorkerThatFailsIsTold) {
  std::vector<PlacedWorker> workers;
  workers.push_back({std::make_unique<FailingWorker>(), {}});
  auto threads = PacedThreads::Start(std::move(workers));
  ASSERT_TRUE(threads);
  (*threads)->SetRate(1000, 1, 1);
  for (int i = 0; i < 100 && (*threads)->Total().trouble.empty(); ++i) Wait(0.05);
  EXPECT_EQ((*threads)->Total().trouble, "it broke");
  EXPECT_EQ((*threads)->Total().amount, 3);
}

// A worker whose pieces take longer than the schedule has time for.
class SlowWorker : public Worker {
 public:
  core::Result<void> Prepare() override { return {}; }
  core::Result<double> Do(double amount) override {
    Wait(0.01);
    return amount;
  }
};

TEST(PacedThreads, OthersJoinWhenOneCannotKeepUp) {
  std::vector<PlacedWorker> workers;
  for (int i = 0; i < 3; ++i) workers.push_back({std::make_unique<SlowWorker>(), {}});
  auto threads = PacedThreads::Start(std::move(workers));
  ASSERT_TRUE(threads);
  (*threads)->SetRate(1000, 1, 1);
  for (int i = 0; i < 200 && (*threads)->Total().active < 3; ++i) Wait(0.05);
  EXPECT_EQ((*threads)->Total().active, 3);
}

}  // namespace
}  // namespace sharewell::stress
