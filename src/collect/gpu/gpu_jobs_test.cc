#include "collect/gpu/gpu_jobs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>

#include "collect/metrics/gpu_metrics.h"
#include "testing/recorded_nvml.h"

namespace sharewell::collect {
namespace {

using core::Reading;
using ::testing::DoubleNear;
using ::testing::Optional;

constexpr int kNoSuchPid = 0x7ffffff0;  // above every pid_max

class Jobs : public JobSource {
 public:
  const std::vector<RunningJob>& Running() override { return jobs; }
  std::vector<RunningJob> jobs;
};

class GpuJobsTest : public ::testing::Test {
 protected:
  // Steps of one GPU: what stands between its braces.
  void Start(const std::vector<std::string>& steps, const std::string& names = "") {
    std::string list;
    for (const std::string& step : steps) {
      list += fmt::format(R"({}{{"t":0,"gpus":[{{{}}}]}})", list.empty() ? "" : ",", step);
    }
    nvml_.LoadText(
        fmt::format(R"({{"gpus":[{{}}],"process_names":{{{}}},"steps":[{}]}})", names, list));
    ASSERT_TRUE(session_.Begin());
  }
  void Round(int step, std::optional<double> busy = std::nullopt,
             std::optional<double> joules = std::nullopt) {
    nvml_.Step(step);
    readings_.clear();
    now_ += std::chrono::hours(1);
    gpu_jobs_.Read(session_.api(), session_.gpus()[0], {now_, 0, busy, joules}, &jobs_, readings_);
  }
  std::optional<double> ValueOf(const core::Metric& metric, const std::string& job,
                                const std::string& instance = "0") const {
    for (const Reading& reading : readings_) {
      if (reading.metric == &metric && reading.job == job && reading.instance == instance) {
        return reading.value;
      }
    }
    return std::nullopt;
  }

  fixtures::RecordedNvml nvml_;
  NvmlSession session_{fixtures::RecordedNvml::Library()};
  Jobs jobs_;
  GpuJobs gpu_jobs_;
  std::vector<Reading> readings_;
  Pace::Clock::time_point now_;
};

TEST_F(GpuJobsTest, MemoryIsSummedByJob) {
  jobs_.jobs = {{"bert", {100, 101}, ""}, {"resnet", {200}, ""}};
  Start({fmt::format(R"("processes":[{{"pid":100,"memory":10}},{{"pid":101,"memory":5}},
      {{"pid":200,"memory":7}},{{"pid":{},"memory":3}},{{"pid":{},"memory":99}}])",
                     ::getpid(), kNoSuchPid)});
  Round(0);
  EXPECT_THAT(ValueOf(kGpuProcesses, ""), Optional(5.0));
  EXPECT_THAT(ValueOf(kJobGpuMemory, "bert"), Optional(15.0));
  EXPECT_THAT(ValueOf(kJobGpuMemory, "resnet"), Optional(7.0));
  EXPECT_THAT(ValueOf(kJobGpuMemory, fmt::format("pid {}", ::getpid())), Optional(3.0));
  // Of another PID namespace: whose it is cannot be known.
  EXPECT_EQ(ValueOf(kJobGpuMemory, fmt::format("pid {}", kNoSuchPid)), std::nullopt);
}

TEST_F(GpuJobsTest, MemoryThatIsNotToldIsLeftOutAndMigIsNamed) {
  jobs_.jobs = {{"a", {1}, ""}, {"b", {2}, ""}};
  Start({R"("processes":[{"pid":1,"memory":null},{"pid":2,"memory":8,"gpu_instance":3}])"});
  Round(0);
  EXPECT_EQ(ValueOf(kJobGpuMemory, "a"), std::nullopt);
  EXPECT_THAT(ValueOf(kJobGpuMemory, "b", "0:3"), Optional(8.0));
}

TEST_F(GpuJobsTest, KernelTimeIsMeasuredByProcess) {
  jobs_.jobs = {{"a", {1, 2}, ""}, {"b", {3}, ""}, {"idle", {4}, ""}};
  const std::string processes =
      R"("processes":[{"pid":1},{"pid":2},{"pid":3},{"pid":4}],"process_samples":)";
  Start({processes + "[[1,1000,90,0,0,0]]",
         processes + "[[1,2000,40,0,0,0],[2,2000,20,0,0,0],[3,2000,30,0,0,0],[3,2100,10,0,0,0],"
                     "[4,0,50,0,0,0],[4,2100,4000,0,0,0]]",
         processes + "[]"});
  Round(0);  // what was before the watch is not counted
  EXPECT_EQ(ValueOf(kJobGpuSm, "a"), std::nullopt);
  Round(1);
  EXPECT_THAT(ValueOf(kJobGpuSm, "a"), Optional(DoubleNear(0.6, 1e-9)));
  EXPECT_THAT(ValueOf(kJobGpuSm, "b"), Optional(DoubleNear(0.2, 1e-9)));
  EXPECT_THAT(ValueOf(kJobGpuSm, "idle"), Optional(0.0));  // the others were sampled, it was not
  Round(2);                                                // no news
  EXPECT_EQ(ValueOf(kJobGpuSm, "a"), std::nullopt);
  Round(2, 0.0);  // but an idle GPU runs nobody's kernels
  EXPECT_THAT(ValueOf(kJobGpuSm, "a"), Optional(0.0));
}

TEST_F(GpuJobsTest, UnderMpsTheServersTimeIsSplitAmongItsClients) {
  jobs_.jobs = {{"a", {1}, ""}, {"b", {2, 3}, ""}, {"own", {5}, ""}};
  const std::string step = fmt::format(
      R"("mps_processes":[{{"pid":1,"memory":10}},{{"pid":2,"memory":20}},{{"pid":3,"memory":1}}],
      "processes":[{{"pid":{0},"memory":4}},{{"pid":5,"memory":6}}],"process_samples":)",
      ::getpid());
  Start({step + fmt::format("[[{},1000,10,0,0,0]]", ::getpid()),
         step + fmt::format("[[{},2000,60,0,0,0],[5,2000,20,0,0,0]]", ::getpid())},
        fmt::format(R"("{}":"nvidia-cuda-mps-server")", ::getpid()));
  Round(0, 0.5, 100.0);
  Round(1, 0.5, 180.0);
  EXPECT_THAT(ValueOf(kJobGpuMemory, "b"), Optional(21.0));
  EXPECT_THAT(ValueOf(kJobGpuSmApportioned, "a"), Optional(DoubleNear(0.3, 1e-9)));
  EXPECT_THAT(ValueOf(kJobGpuSmApportioned, "b"), Optional(DoubleNear(0.3, 1e-9)));
  EXPECT_EQ(ValueOf(kJobGpuSm, "a"), std::nullopt);
  EXPECT_THAT(ValueOf(kJobGpuSm, "own"), Optional(DoubleNear(0.2, 1e-9)));
  const std::string server = fmt::format("pid {}", ::getpid());
  EXPECT_EQ(ValueOf(kJobGpuMemory, server), std::nullopt);  // it is nobody's job
  EXPECT_EQ(ValueOf(kJobGpuSm, server), std::nullopt);
  // 80 J by 30 : 30 : 20.
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "a"), Optional(DoubleNear(30, 1e-9)));
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "own"), Optional(DoubleNear(20, 1e-9)));
  EXPECT_EQ(ValueOf(kJobGpuEnergyApportioned, server), std::nullopt);
}

TEST_F(GpuJobsTest, EnergyGoesByKernelTimeAndWaitsForIt) {
  jobs_.jobs = {{"a", {1}, ""}, {"b", {2}, ""}};
  const std::string both = R"("processes":[{"pid":1},{"pid":2}],"process_samples":)";
  Start({both + "[[1,1000,1,0,0,0]]", both + "[]", both + "[[1,2000,75,0,0,0],[2,2000,25,0,0,0]]",
         both + "[]"});
  Round(0, 0.5, 1000.0);
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "a"), Optional(0.0));
  Round(1, 0.5, 1040.0);  // nobody knows yet whose
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "a"), Optional(0.0));
  Round(2, 0.5, 1100.0);
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "a"), Optional(DoubleNear(75, 1e-9)));
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "b"), Optional(DoubleNear(25, 1e-9)));
  Round(3, 0.0, 1110.0);  // idle: both hold the GPU
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "a"), Optional(DoubleNear(80, 1e-9)));
  Round(3, 0.0, 5.0);  // the counter started again: nothing is taken away
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "a"), Optional(DoubleNear(80, 1e-9)));
  Round(3, 0.0, 7.0);
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "b"), Optional(DoubleNear(31, 1e-9)));
}

TEST_F(GpuJobsTest, AJobThatLeavesTheGpuForAWhileKeepsItsEnergy) {
  jobs_.jobs = {{"a", {1}, ""}};
  const std::string there = R"("processes":[{"pid":1}],"process_samples":[])";
  Start({there, R"("processes":[],"process_samples":[])", there});
  Round(0, 0.0, 0.0);
  Round(0, 0.0, 10.0);
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "a"), Optional(10.0));
  Round(1, 0.0, 20.0);
  EXPECT_EQ(ValueOf(kJobGpuEnergyApportioned, "a"), std::nullopt);
  Round(2, 0.0, 21.0);
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "a"), Optional(11.0));
  jobs_.jobs.clear();
  Round(1, 0.0, 22.0);
  jobs_.jobs = {{"a", {1}, ""}};
  Round(2, 0.0, 22.0);
  EXPECT_THAT(ValueOf(kJobGpuEnergyApportioned, "a"), Optional(0.0));
}

TEST_F(GpuJobsTest, MoreProcessesThanThereIsRoomFor) {
  std::string list, samples, later;
  for (int i = 0; i < 300; ++i) {
    list += fmt::format(R"({}{{"pid":{},"memory":1}})", i > 0 ? "," : "", i + 10);
    samples += fmt::format(R"({}[{},1000,1,0,0,0])", i > 0 ? "," : "", i + 10);
    later += fmt::format(R"({}[{},2000,1,0,0,0])", i > 0 ? "," : "", i + 10);
  }
  RunningJob job{"many", {}, ""};
  for (int i = 0; i < 300; ++i) job.pids.push_back(i + 10);
  jobs_.jobs = {job};
  Start({fmt::format(R"("processes":[{}],"process_samples":[{}])", list, samples),
         fmt::format(R"("processes":[{}],"process_samples":[{}])", list, later)});
  Round(0);
  EXPECT_THAT(ValueOf(kJobGpuMemory, "many"), Optional(300.0));
  Round(1);
  EXPECT_THAT(ValueOf(kJobGpuSm, "many"), Optional(DoubleNear(3.0, 1e-9)));
}

TEST_F(GpuJobsTest, AGpuThatListsNoProcessesSaysNothing) {
  Start({R"("processes":{"error":4})"});
  Round(0, 0.0, 1.0);
  EXPECT_TRUE(readings_.empty());
}

}  // namespace
}  // namespace sharewell::collect
