#include "server/live/job_watch.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "collect/gpu/nvml_collector.h"
#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/job_metrics.h"
#include "collect/registry.h"
#include "control/sampling/sampler.h"
#include "server/live/job_track.h"
#include "testing/recorded_nvml.h"

namespace sharewell::server {
namespace {

using core::Metric;
using core::Seconds;

core::Reading Read(const Metric& metric, double value, const std::string& gpu = "0",
                   const std::string& job = "") {
  return {&metric, gpu, job, value};
}

TEST(JobTrack, GivesTheSteadyPart) {
  JobTrack track({"0"}, "H200", 1);
  for (int t = 0; t < 60; ++t) {
    const bool loads = t < 12;
    track.Handle(Read(collect::kGpuBusy, loads ? 0 : 0.8 + 0.02 * (t % 3)), Seconds(t));
    track.Handle(Read(collect::kGpuPower, loads ? 90 : 400), Seconds(t));
    track.Handle(Read(collect::kGpuBusy, 0.1, "1"), Seconds(t));
    track.Handle(Read(collect::kJobCores, loads ? 1 : 3, "", "job 1"), Seconds(t));
    track.Handle(Read(collect::kJobGpuMemory, loads ? 1e9 : 5e9, "0", "job 1"), Seconds(t));
    track.Handle(Read(collect::kJobResidentBytes, 2e9, "", "job 1"), Seconds(t));
  }
  const core::Profile needed = track.Needed();
  EXPECT_EQ(needed.gpu, "H200");
  EXPECT_NEAR(needed.busy.value_or(0), 0.82, 0.01);
  EXPECT_NEAR(needed.power.value_or(core::Watts(0)).value, 400, 1);
  EXPECT_NEAR(needed.cpu_cores.value_or(0), 3, 0.01);
  EXPECT_EQ(needed.gpu_memory, core::Bytes(5e9));
  EXPECT_EQ(needed.host_memory, core::Bytes(2e9));
  EXPECT_FALSE(needed.dram) << "was not read";
}

// 28 seconds of a ResNet-50 on an H200: alone while it started, beside another while it trained,
// and ten seconds that PyTorch waits for loader processes that do not end. It was believed to be 7
// % busy and to use no CPU.
TEST(JobTrack, NeitherAStartNorAnEndIsWhatTrainingNeeds) {
  JobTrack counted({"0"}, "H200", 1), shared({"0"}, "H200", 1), uncounted({"0"}, "H200", 1);
  for (int t = 0; t < 38; ++t) {
    const bool trains = t >= 10 && t < 28;
    if (t == 10) shared.Share(true);
    for (JobTrack* track : {&counted, &shared, &uncounted}) {
      track->Handle(Read(collect::kGpuBusy, trains ? 0.8 : 0.05), Seconds(t));
      track->Handle(Read(collect::kJobCores, trains ? 3 : 0.001, "", "job 1"), Seconds(t));
      if (trains && track != &uncounted) track->Step();
    }
  }
  EXPECT_NEAR(counted.Needed().busy.value_or(0), 0.8, 1e-9);
  EXPECT_NEAR(counted.Needed().cpu_cores.value_or(0), 3, 1e-9);
  EXPECT_FALSE(shared.Needed().busy) << "it trained beside another alone: nobody saw it";
  EXPECT_NEAR(shared.Needed().cpu_cores.value_or(0), 3, 1e-9);
  EXPECT_LT(uncounted.Needed().cpu_cores.value_or(0), 3) << "nobody can tell where training ends";
}

TEST(JobTrack, AnEvaluationBetweenStepsCounts) {
  JobTrack track({"0"}, "H200", 1);
  for (int t = 0; t < 4000; ++t) {
    const bool steps = t % 100 < 50;
    track.Handle(Read(collect::kGpuBusy, steps ? 0.9 : 0.3), Seconds(t));
    if (steps) track.Step();
  }
  EXPECT_NEAR(track.Needed().busy.value_or(0), 0.6, 0.02);
}

TEST(JobTrack, U1_WhatASearchForAlgorithmsTookForAMomentIsNoNeed) {
  JobTrack named({"0"}, "RTX 3090", 1), unnamed({"0"}, "RTX 3090", 1), brief({"0"}, "RTX 3090", 1);
  for (int t = 0; t < 200; ++t) {
    const double held = t < 3 ? 1e9 : t < 20 ? 20e9 : t == 150 ? 5e9 : 4e9;
    named.Handle(Read(collect::kJobGpuMemory, held, "0", "job 1"), Seconds(t));
    unnamed.Handle(Read(collect::kGpuMemoryUsed, 5e8 + held, "0"), Seconds(t));
    if (t < 50) brief.Handle(Read(collect::kJobGpuMemory, held, "0", "job 1"), Seconds(t));
  }
  EXPECT_EQ(named.Needed().gpu_memory, core::Bytes(5e9));
  EXPECT_EQ(named.gpu_memory(), 20e9) << "the most that it held so far is told as it was";
  EXPECT_EQ(unnamed.Needed().gpu_memory, core::Bytes(4e9)) << "beyond the least, 1 GB of its own";
  EXPECT_EQ(brief.Needed().gpu_memory, core::Bytes(4e9)) << "from the middle of its life on";
}

TEST(JobTrack, FiguresOfAGpuAreThoseOfTheTimeAlone) {
  JobTrack track({"0", "1"}, "H200", 2);
  for (int t = 0; t < 100; ++t) {
    const bool shares = t >= 40 && t < 80;
    track.Share(shares);
    for (const char* gpu : {"0", "1"}) {
      track.Handle(Read(collect::kGpuBusy, shares ? 1.0 : 0.5, gpu), Seconds(t));
      track.Handle(Read(collect::kGpuMemoryUsed, t < 5 ? 1e9 : 9e9, gpu), Seconds(t));
    }
    track.Handle(Read(collect::kJobCores, 6, "", "job 1"), Seconds(t));
  }
  EXPECT_NEAR(track.Needed().busy.value_or(0), 0.5, 1e-9);
  EXPECT_NEAR(track.Needed().cpu_cores.value_or(0), 3, 1e-9) << "a GPU";
  EXPECT_FALSE(track.Needed().gpu_memory) << "whose it was cannot be told";

  JobTrack never({"0"}, "H200", 1);
  never.Share(true);
  for (int t = 0; t < 100; ++t) never.Handle(Read(collect::kGpuBusy, 1), Seconds(t));
  EXPECT_FALSE(never.Needed().busy);
}

TEST(JobTrack, CountedPcieTrafficIsNotMixedWithSamplesOfIt) {
  JobTrack sampled({"0"}, "V100", 1), counted({"0"}, "V100", 1);
  for (int t = 0; t < 60; ++t) {
    for (JobTrack* track : {&sampled, &counted}) {
      track->Handle(Read(collect::kGpuPcieReceived, 7e9), Seconds(t));
      track->Handle(Read(collect::kGpuPcieSent, 7e9), Seconds(t));
    }
    counted.Handle(Read(collect::kGpuGpmPcieReceived, 2e9), Seconds(t));
    counted.Handle(Read(collect::kGpuGpmPcieSent, 1e9), Seconds(t));
  }
  ASSERT_TRUE(sampled.Needed().pcie && counted.Needed().pcie);
  EXPECT_NEAR(sampled.Needed().pcie->value, 14e9, 1);
  EXPECT_NEAR(counted.Needed().pcie->value, 3e9, 1);
}

TEST(JobTrack, MemoryTrafficIsMeasuredOrElseEstimated) {
  JobTrack track({}, "", 0);
  for (int t = 0; t < 60; ++t) {
    track.Handle(Read(collect::kJobMemoryTrafficEstimatedBytes, 3e9 * t, "", "job 1"), Seconds(t));
  }
  ASSERT_TRUE(track.Needed().host_bandwidth);
  EXPECT_NEAR(track.Needed().host_bandwidth->value, 3e9, 1e6);
  for (int t = 0; t < 60; ++t) {
    const double bytes = t < 30 ? 5e9 * t : 5e9 * (t - 30);  // it began anew
    track.Handle(Read(collect::kJobMemoryTrafficBytes, bytes, "", "job 1"), Seconds(t));
  }
  EXPECT_NEAR(track.Needed().host_bandwidth->value, 5e9, 1e6) << "what was counted goes first";
}

TEST(JobTrack, KeepsLittleOfALongJob) {
  JobTrack track({"0"}, "H200", 1);
  for (int t = 0; t < 200'000; ++t) track.Handle(Read(collect::kGpuBusy, t % 2), Seconds(t));
  EXPECT_NEAR(track.Needed().busy.value_or(0), 0.5, 0.01);
}

// Says what the jobs' processes are.
class CountsJobs : public collect::Collector {
 public:
  explicit CountsJobs(collect::JobSource& jobs) : jobs_(jobs) {}
  std::string_view Name() const override { return "counts"; }
  std::string_view Describe() const override { return ""; }
  collect::Health Probe() override { return {collect::Health::State::kWorks, "", ""}; }
  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    ++asked;
    for (const collect::RunningJob& job : jobs_.Running()) {
      out.push_back(Read(collect::kJobCores, job.pids.empty() ? 0 : 2, "", job.name));
    }
    out.push_back(Read(collect::kGpuBusy, 0.25));
    return {};
  }
  static inline std::atomic<int> asked = 0;

 private:
  collect::JobSource& jobs_;
};

template <class Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(JobWatch, SeesTheJobsItIsToldOfAndRestsWithoutAny) {
  CountsJobs::asked = 0;
  JobWatchOptions options;
  options.gpus = {{"GPU-a", "0", "H200"}, {"simulated-0", "", "H200"}};
  options.collectors = [](collect::JobSource& jobs) {
    std::vector<std::unique_ptr<collect::Collector>> all;
    all.push_back(std::make_unique<CountsJobs>(jobs));
    return all;
  };
  std::atomic<int> samples = 0;
  options.sample = [&](const std::shared_ptr<const core::Batch>&) { ++samples; };
  options.interval = Seconds(0.02);
  options.resting = Seconds(600);
  JobWatch watch(std::move(options));
  EXPECT_TRUE(Eventually([&] { return watch.Now("GPU-a").busy.has_value(); }));
  EXPECT_FALSE(watch.Now("simulated-0").busy);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(CountsJobs::asked, 1) << "nobody runs";

  watch.Add(7, ::getpid(), "", {"simulated-0"});
  EXPECT_TRUE(Eventually([&] { return watch.Seen(7).cpu_cores.has_value(); }));
  EXPECT_EQ(watch.Seen(7).cpu_cores, 2);
  EXPECT_FALSE(watch.Seen(7).busy);
  watch.Remove(7);
  EXPECT_EQ(watch.Seen(7).cpu_cores, 2) << "until others have gone";
  for (int other = 100; other < 210; ++other) {
    watch.Add(other, 0, "", {});
    watch.Remove(other);
  }
  EXPECT_FALSE(watch.Seen(7).cpu_cores);
  EXPECT_FALSE(watch.Seen(99).cpu_cores);
  EXPECT_GT(samples, 3);
}

// Two GPUs, the second of which falls off the bus.
class LosesOne : public collect::Collector {
 public:
  std::string_view Name() const override { return "nvml"; }
  std::string_view Describe() const override { return ""; }
  collect::Health Probe() override { return {collect::Health::State::kWorks, "", ""}; }
  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    out.push_back(Read(collect::kGpuMemoryUsed, 1e9, "0"));
    if (there) out.push_back(Read(collect::kGpuMemoryUsed, 1e9, "1"));
    if (!there) return core::FailedError("GPU 1 is lost");
    return {};
  }
  static inline std::atomic<bool> there = true;
};

TEST(JobWatch, AGpuThatIsNotReadAnyMoreIsLostUntilItIsBack) {
  JobWatchOptions options;
  options.gpus = {{"GPU-a", "0", "H200"}, {"GPU-b", "1", "H200"}, {"simulated-0", "", "H200"}};
  options.collectors = [](collect::JobSource&) {
    std::vector<std::unique_ptr<collect::Collector>> all;
    all.push_back(std::make_unique<LosesOne>());
    return all;
  };
  options.interval = options.resting = Seconds(0.01);
  LosesOne::there = true;
  JobWatch watch(std::move(options));
  EXPECT_TRUE(Eventually([&] { return watch.Now("GPU-b").memory_used.has_value(); }));
  EXPECT_TRUE(watch.Lost().empty());
  LosesOne::there = false;
  EXPECT_TRUE(Eventually([&] { return !watch.Lost().empty(); }));
  EXPECT_EQ(watch.Lost().begin()->first, "GPU-b");
  EXPECT_THAT(watch.Lost()["GPU-b"], testing::HasSubstr("GPU 1 is lost"));
  LosesOne::there = true;
  EXPECT_TRUE(Eventually([&] { return watch.Lost().empty(); }));
}

// A GPU on which this process holds memory, then does not.
TEST(JobWatch, SeesProcessesOnAGpuThatAreNoJobs) {
  fixtures::RecordedNvml nvml;
  const std::string holds =
      fmt::format(R"({{"processes":[{{"pid":{},"memory":2000000000}}],"process_samples":[],)"
                  R"("utilization":{{"gpu":0,"memory":0}}}})",
                  ::getpid());
  nvml.LoadText(R"({"gpus":[{"name":"NVIDIA H200","uuid":"GPU-a"}],"steps":[{"t":0,"gpus":[)" +
                holds + R"(]},{"t":1,"gpus":[{"processes":[]}]}]})");
  nvml.Step(0);
  std::atomic<int> changes = 0;
  JobWatchOptions options;
  options.gpus = {{"GPU-a", "0", "H200"}};
  options.collectors = [](collect::JobSource& jobs) {
    std::vector<std::unique_ptr<collect::Collector>> all;
    all.push_back(collect::NewNvmlCollector(fixtures::RecordedNvml::Library(), &jobs));
    return all;
  };
  options.strangers_changed = [&] { ++changes; };
  options.interval = Seconds(0.1);
  options.resting = Seconds(600);
  JobWatch watch(std::move(options));
  ASSERT_TRUE(Eventually([&] { return watch.StrangersOn("GPU-a").size() == 1; }));
  EXPECT_EQ(watch.StrangersOn("GPU-a")[0].pid, ::getpid());
  EXPECT_EQ(watch.StrangersOn("GPU-a")[0].memory, core::Bytes(2e9));
  EXPECT_FALSE(watch.StrangersOn("GPU-a")[0].user.empty());
  EXPECT_FALSE(watch.StrangersOn("GPU-a")[0].busy);
  ASSERT_TRUE(Eventually([&] { return changes >= 1; })) << "it is told after it is known";
  watch.Add(7, ::getpid(), "", {"GPU-a"});
  EXPECT_TRUE(Eventually([&] { return watch.StrangersOn("GPU-a").empty(); })) << "it is a job's";
  watch.Remove(7);
  EXPECT_TRUE(Eventually([&] { return watch.StrangersOn("GPU-a").size() == 1; }));
  nvml.Step(1);
  EXPECT_TRUE(Eventually([&] { return watch.StrangersOn("GPU-a").empty(); })) << "it is gone";
  EXPECT_TRUE(watch.StrangersOn("GPU-b").empty());
}

}  // namespace
}  // namespace sharewell::server
