// The processor's counters: fed by the test, and once for real with an event that all kernels have.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "collect/host/perf/perf_collector.h"
#include "collect/host/perf/perf_events.h"
#include "collect/host/perf/perf_set.h"
#include "collect/host/test_host.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

// What a processor would have counted. The test sets the counts of each target by its CPU (or
// thread) and event.
class FakePerf final : public PerfCounters {
 public:
  struct Machine {
    std::map<std::pair<int, PerfEvent>, PerfCount> counts;  // by CPU or thread
    PerfTable table;
    int refuse = 0;             // errno of every Open
    int refuse_cpus = 0;        // errno of those of CPUs
    bool gone = false;          // nothing can be read any more
    std::set<PerfEvent> lacks;  // ENOENT
    int open = 0;
    std::vector<std::string> cgroups;
  };

  explicit FakePerf(Machine& machine) : machine_(machine) {}

  PerfOpened Open(std::span<const PerfCode> codes, const PerfTarget& target) override {
    PerfOpened opened;
    opened.events.assign(codes.size(), false);
    opened.error = target.cpu >= 0 && machine_.refuse == 0 ? machine_.refuse_cpus : machine_.refuse;
    if (opened.error != 0) return opened;
    std::vector<PerfEvent> events;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      // Where two events have one code (ARM), the group tells which is meant.
      PerfEvent event = kPerfEvents;
      for (std::size_t e = 0; e < kPerfEvents; ++e) {
        const bool first_group = e <= kEventDramRemote;
        const bool in_first = codes[0] == machine_.table.codes[kEventInstructions];
        if (machine_.table.codes[e] == codes[i] && first_group == in_first) {
          event = static_cast<PerfEvent>(e);
        }
      }
      events.push_back(event);
      opened.events[i] = !machine_.lacks.contains(event);
      if (!opened.events[i]) opened.error = ENOENT;
    }
    if (!target.cgroup.empty()) machine_.cgroups.push_back(target.cgroup);
    opened.id = next_++;
    open_[opened.id] = {target.cpu >= 0 ? target.cpu : target.thread, events, opened.events};
    ++machine_.open;
    return opened;
  }
  bool Read(int id, std::span<PerfCount> counts) override {
    if (machine_.gone) return false;
    const auto& [where, events, opened] = open_.at(id);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (opened[i]) counts[i] = machine_.counts[{where, events[i]}];
    }
    return true;
  }
  void Close(int id) override {
    open_.erase(id);
    --machine_.open;
  }

 private:
  Machine& machine_;
  std::map<int, std::tuple<int, std::vector<PerfEvent>, std::vector<bool>>> open_;
  int next_ = 0;
};

class FixedJobs final : public JobSource {
 public:
  std::vector<RunningJob> jobs;
  const std::vector<RunningJob>& Running() override { return jobs; }
};

class PerfCollectorTest : public testing::Test {
 protected:
  void SetUp() override {
    host_.Write("/proc/stat", "cpu  1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\ncpu1 1 1 1 1 1 1 1 1\n");
    Cpuinfo("GenuineIntel", 6, 143);
  }
  void Cpuinfo(std::string_view vendor, int family, int model) {
    const std::string text =
        fmt::format("processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\n\n", vendor,
                    family, model);
    host_.Write("/proc/cpuinfo", text);
    machine_.table = PerfTableFor(ParseProcessor(text));
  }
  void Count(int where, PerfEvent event, std::uint64_t value, std::uint64_t enabled,
             std::uint64_t running) {
    machine_.counts[{where, event}] = {value, enabled, running};
  }
  void CountAll(int where, std::uint64_t instructions, std::uint64_t time) {
    Count(where, kEventInstructions, instructions, time, time);
    Count(where, kEventCycles, instructions * 2, time, time);
    Count(where, kEventDramLocal, instructions / 100, time, time);
    Count(where, kEventDramRemote, instructions / 200, time, time);
    Count(where, kEventLlcReferences, instructions / 10, time, time);
    Count(where, kEventLlcMisses, instructions / 50, time, time);
  }
  std::unique_ptr<Collector> New() {
    return NewPerfCollector(host_.root(), &jobs_, std::make_unique<FakePerf>(machine_));
  }

  MadeHost host_;
  FakePerf::Machine machine_;
  FixedJobs jobs_;
};

TEST_F(PerfCollectorTest, SumsCpusAndGivesTheMemoryIntensityIndex) {
  const auto perf = New();
  CountAll(0, 1000, 100);
  CountAll(1, 1000, 100);
  EXPECT_FALSE(ValueOf(OneRound(*perf), kPerfCyclesPerInstruction)) << "needs two readings";
  CountAll(0, 11000, 200);
  CountAll(1, 31000, 200);
  const auto readings = OneRound(*perf);
  EXPECT_EQ(ValueOf(readings, kPerfInstructions), 42000);
  EXPECT_EQ(ValueOf(readings, kPerfLlcMisses), 840);
  EXPECT_EQ(ValueOf(readings, kPerfDramRemote), 210);
  EXPECT_EQ(ValueOf(readings, kPerfCyclesPerInstruction), 2);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kMemoryIntensityIndex, "local+remote").value(), 1.5);
  EXPECT_EQ(ValueOf(readings, kPerfRunningRatio), 1);
  const Health health = perf->Probe();
  EXPECT_EQ(health.state, Health::State::kWorks);
  EXPECT_NE(health.what.find("MEM_LOAD_L3_MISS_RETIRED"), std::string::npos);
}

TEST_F(PerfCollectorTest, ScalesWhatTheKernelTookTurnsWith) {
  const auto perf = New();
  OneRound(*perf);
  Count(0, kEventInstructions, 500, 1000, 250);
  Count(1, kEventInstructions, 1000, 1000, 1000);
  const auto readings = OneRound(*perf);
  EXPECT_EQ(ValueOf(readings, kPerfInstructions), 3000);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kPerfRunningRatio).value(), 1250.0 / 2000);
  // Enabled but never run: no figure, and the total stays.
  Count(0, kEventInstructions, 500, 2000, 250);
  Count(1, kEventInstructions, 1000, 2000, 1000);
  const auto starved = OneRound(*perf);
  EXPECT_EQ(ValueOf(starved, kPerfInstructions), 3000);
  EXPECT_FALSE(ValueOf(starved, kPerfCyclesPerInstruction));
  EXPECT_EQ(ValueOf(starved, kPerfRunningRatio), 0);
}

TEST_F(PerfCollectorTest, AnEventThatNeverRanIsNotZero) {
  const auto perf = New();
  OneRound(*perf);
  CountAll(0, 1000, 100);
  Count(0, kEventDramRemote, 0, 100, 0);
  const auto readings = OneRound(*perf);
  EXPECT_EQ(ValueOf(readings, kPerfDramLocal), 10);
  EXPECT_FALSE(ValueOf(readings, kPerfDramRemote));
  EXPECT_FALSE(ValueOf(readings, kMemoryIntensityIndex, "local+remote"));
}

TEST_F(PerfCollectorTest, CountsThatGoBackOrAreGoneDoNotLowerTheTotals) {
  const auto perf = New();
  CountAll(0, 5000, 1000);
  OneRound(*perf);
  CountAll(0, 100, 10);  // started anew
  EXPECT_EQ(ValueOf(OneRound(*perf), kPerfInstructions), 5100);
  machine_.gone = true;
  OneRound(*perf);
  EXPECT_EQ(machine_.open, 0) << "given up and closed";
}

TEST_F(PerfCollectorTest, ArmSaysThatRemoteIsUnknown) {
  const std::string text = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\n";
  host_.Write("/proc/cpuinfo", text);
  machine_.table = PerfTableFor(ParseProcessor(text));
  const auto perf = New();
  OneRound(*perf);
  CountAll(0, 10000, 100);
  const auto readings = OneRound(*perf);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kMemoryIntensityIndex, "remote unknown").value(), 1);
  EXPECT_FALSE(ValueOf(readings, kPerfDramRemote));
  EXPECT_NE(perf->Probe().what.find("remote unknown"), std::string::npos);
}

TEST_F(PerfCollectorTest, AnEventThatIsMissingLeavesTheOthers) {
  machine_.lacks = {kEventDramLocal, kEventDramRemote};
  const auto perf = New();
  OneRound(*perf);
  CountAll(0, 10000, 100);
  const auto readings = OneRound(*perf);
  EXPECT_EQ(ValueOf(readings, kPerfCyclesPerInstruction), 2);
  EXPECT_FALSE(ValueOf(readings, kPerfDramLocal));
  EXPECT_EQ(perf->Probe().state, Health::State::kPartly);
}

TEST_F(PerfCollectorTest, JobsAreCountedByGroupOrByThread) {
  host_.Write("/sys/fs/cgroup/j/cgroup.controllers", "cpu\n");
  host_.Write("/proc/70/task/70/stat", "");
  host_.Write("/proc/70/task/71/stat", "");
  jobs_.jobs = {{"group", {50}, "/sys/fs/cgroup/j"}, {"threads", {70}, ""}};
  const auto perf = New();
  OneRound(*perf);
  EXPECT_EQ(machine_.cgroups.size(), 4U) << "two groups of events on two CPUs";
  EXPECT_EQ(machine_.cgroups[0], host_.root() + "/sys/fs/cgroup/j");
  CountAll(70, 1000, 100);
  CountAll(71, 3000, 100);
  const auto readings = OneRound(*perf);
  EXPECT_EQ(ValueOf(readings, kJobInstructions, {}, "threads"), 4000);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kJobMemoryIntensityIndex, "local+remote", "threads").value(),
                   1.5);
  EXPECT_EQ(ValueOf(readings, kJobInstructions, {}, "group"), 0);
  // The jobs end: their counters are closed, the machine's stay.
  jobs_.jobs.clear();
  OneRound(*perf);
  EXPECT_EQ(machine_.open, 4);
}

TEST_F(PerfCollectorTest, SaysWhetherItIsPermissionOrAbsence) {
  host_.Write("/proc/sys/kernel/perf_event_paranoid", "2\n");
  machine_.refuse_cpus = EACCES;
  const auto perf = New();
  std::vector<core::Reading> readings;
  const auto result = perf->Collect(readings);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, core::ErrorKind::kFailed);
  Health health = perf->Probe();
  EXPECT_EQ(health.state, Health::State::kPartly) << "own jobs can be counted";
  EXPECT_EQ(health.mend, "sudo sysctl kernel.perf_event_paranoid=0");
  EXPECT_NE(health.what.find("perf_event_paranoid is 2"), std::string::npos);
  machine_.refuse = ENOENT;
  const auto absent = New();
  health = absent->Probe();
  EXPECT_EQ(health.state, Health::State::kAbsent);
  EXPECT_EQ(health.mend, "");
  EXPECT_NE(health.what.find("not a matter of permission"), std::string::npos);
  EXPECT_EQ(absent->Collect(readings).error().kind, core::ErrorKind::kAbsent);
  // A plain user is refused before it is known that there is nothing to count.
  host_.Write("/sys/bus/event_source/devices/software/type", "1\n");
  machine_.refuse = EACCES;
  EXPECT_NE(New()->Probe().what.find("not a matter of permission"), std::string::npos);
  host_.Write("/sys/bus/event_source/devices/cpu/type", "4\n");
  EXPECT_EQ(New()->Probe().mend, "sudo sysctl kernel.perf_event_paranoid=0");
  host_.Write("/.dockerenv", "");
  EXPECT_NE(New()->Probe().mend.find("--cap-add=PERFMON"), std::string::npos);
}

TEST(PerfTable, EachProcessorByItsOwnEvents) {
  const auto table = [](Processor::Vendor vendor, int family, int model) {
    Processor processor;
    processor.vendor = vendor;
    processor.family = family;
    processor.model = model;
    return PerfTableFor(processor);
  };
  using Vendor = Processor::Vendor;
  EXPECT_EQ(table(Vendor::kIntel, 6, 0x55).codes[kEventDramRemote]->config, 0x02d3U);
  EXPECT_EQ(table(Vendor::kIntel, 6, 0x4f).codes[kEventDramRemote]->config, 0x04d3U);
  EXPECT_EQ(table(Vendor::kAmd, 0x19, 1).codes[kEventDramLocal]->config, 0x0844U);
  EXPECT_EQ(table(Vendor::kAmd, 0x17, 0x31).codes[kEventDramRemote]->config, 0x4043U);
  EXPECT_FALSE(table(Vendor::kAmd, 0x1a, 2).codes[kEventLlcMisses]) << "it would be the L2's";
  EXPECT_FALSE(table(Vendor::kArm, 0x41, 0xd4f).remote_known);
  const auto other = table(Vendor::kOther, 0, 0).codes[kEventDramRemote];
  EXPECT_EQ(other->type, unsigned{PERF_TYPE_HW_CACHE});
  EXPECT_EQ(other->config, 0x10006U);
}

TEST(LinuxPerfCounters, CountsThisThreadForReal) {
  const auto counters = NewLinuxPerfCounters();
  const PerfCode codes[] = {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
                            {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}};
  PerfTarget target;
  target.thread = ::getpid();
  const PerfOpened opened = counters->Open(codes, target);
  if (opened.id < 0) {
    GTEST_SKIP() << "perf_event_open is not allowed here: errno " << opened.error;
  }
  std::array<PerfCount, 2> before{}, after{};
  ASSERT_TRUE(counters->Read(opened.id, before));
  volatile double sink = 0;
  for (int i = 0; i < 2'000'000; ++i) sink = sink + i;
  ASSERT_TRUE(counters->Read(opened.id, after));
  EXPECT_GT(after[0].value, before[0].value);
  EXPECT_GT(after[0].enabled, before[0].enabled);
  counters->Close(opened.id);
  EXPECT_FALSE(counters->Read(opened.id, after));
}

}  // namespace
}  // namespace sharewell::collect
