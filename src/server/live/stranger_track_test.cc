#include "server/live/stranger_track.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "collect/metrics/gpu_metrics.h"

namespace sharewell::server {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// One look a second, at GPU 0 and 1.
class StrangerTrackTest : public ::testing::Test {
 protected:
  core::Batch& Look() {
    batch_.time += 1000;
    batch_.readings.clear();
    return batch_;
  }
  void Holds(int pid, double bytes, const std::string& gpu = "0") {
    batch_.readings.push_back({&collect::kJobGpuMemory, gpu, fmt::format("pid {}", pid), bytes});
  }
  void Works(int pid, double share, const std::string& gpu = "0") {
    batch_.readings.push_back({&collect::kJobGpuSm, gpu, fmt::format("pid {}", pid), share});
  }
  void GpuBusy(double share) { batch_.readings.push_back({&collect::kGpuBusy, "0", {}, share}); }
  bool Take(const std::set<std::string>& with_jobs = {}) {
    return track_.Handle(batch_, with_jobs);
  }
  // So long that it is believed.
  void Stays(int pid, double bytes) {
    for (int look = 0; look < 5; ++look) {
      Look();
      Holds(pid, bytes);
      Take();
    }
  }

  core::Batch batch_;
  StrangerTrack track_{[](int pid) { return pid == 4242 ? "ann" : "1007"; }};
};

TEST_F(StrangerTrackTest, TheyComeAndGo) {
  EXPECT_TRUE(track_.empty());
  Look();
  Holds(4242, 1.23e10);
  EXPECT_FALSE(Take()) << "it may be a job that was not told yet";
  EXPECT_THAT(track_.On("0"), IsEmpty());
  EXPECT_FALSE(track_.empty()) << "so that the next look comes soon";
  bool told = false;
  for (int look = 0; look < 4; ++look) {
    Look();
    Holds(4242, 1.23e10);
    told = Take() || told;
  }
  EXPECT_TRUE(told);
  ASSERT_THAT(track_.On("0"), SizeIs(1));
  EXPECT_EQ(track_.On("0")[0], (control::Stranger{4242, "ann", core::Bytes(1.23e10), false}));
  EXPECT_THAT(track_.On("1"), IsEmpty());
  EXPECT_EQ(control::InWords(track_.On("0")), "other processes: 11.5 GiB, pid 4242 of ann");
  Look();
  Holds(4242, 1.23e10 + 1000);
  EXPECT_FALSE(Take()) << "a little more is no news";
  Look();
  Holds(4242, 2e10);
  EXPECT_TRUE(Take());
  EXPECT_EQ(track_.On("0")[0].memory, core::Bytes(2e10));
  Look();
  EXPECT_TRUE(Take()) << "it is gone";
  EXPECT_THAT(track_.On("0"), IsEmpty());
}

TEST_F(StrangerTrackTest, AJobsOwnProcessesAreNone) {
  for (int look = 0; look < 9; ++look) {
    Look();
    batch_.readings.push_back({&collect::kJobGpuMemory, "0", "job 7", 1e10});
    EXPECT_FALSE(Take());
  }
  EXPECT_TRUE(track_.empty());
}

TEST_F(StrangerTrackTest, IsBusyFromSomeWorkOnUntilItHasStopped) {
  Stays(4242, 1e9);
  EXPECT_FALSE(track_.On("0")[0].busy);
  const auto works = [&](double share) {
    Look();
    Holds(4242, 1e9);
    Works(4242, share);
    Take();
    return track_.On("0")[0].busy;
  };
  EXPECT_FALSE(works(0.01));
  EXPECT_TRUE(works(0.5));
  EXPECT_TRUE(works(0)) << "a pause";
  bool busy = true;
  for (int look = 0; look < 20; ++look) busy = works(0);
  EXPECT_FALSE(busy);
}

TEST_F(StrangerTrackTest, WithoutSamplesTheGpuTellsWhereNoJobIsOnIt) {
  Stays(4242, 1e9);
  const auto gpu_busy = [&](double share, const std::set<std::string>& with_jobs) {
    Look();
    Holds(4242, 1e9);
    GpuBusy(share);
    Take(with_jobs);
    return track_.On("0")[0].busy;
  };
  EXPECT_FALSE(gpu_busy(0.9, {"0"})) << "it may be the job's work";
  EXPECT_TRUE(gpu_busy(0.9, {}));
  EXPECT_FALSE(gpu_busy(0.0, {}));
}

TEST(UserOfProcessTest, IsItsName) {
  EXPECT_FALSE(UserOfProcess(::getpid()).empty());
  EXPECT_EQ(UserOfProcess(0x7ffffff0), "");
}

}  // namespace
}  // namespace sharewell::server
