#include "collect/host/traffic/traffic.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "collect/host/test_host.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"
#include "collect/metrics/job_metrics.h"

namespace sharewell::collect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

class GivenJobs final : public JobSource {
 public:
  const std::vector<RunningJob>& Running() override { return jobs; }
  std::vector<RunningJob> jobs;
};

// Counts what it is told, for each (code, CPU) that is opened.
class FakeControllers final : public PerfCounters {
 public:
  PerfOpened Open(std::span<const PerfCode> codes, const PerfTarget& target) override {
    opened.emplace_back(codes[0].config, target.cpu);
    return {static_cast<int>(opened.size()) - 1, {true}, false, 0};
  }
  bool Read(int, std::span<PerfCount> counts) override {
    counts[0] = {1000, 10, 5};  // the kernel took turns: half of the time
    return true;
  }
  void Close(int) override {}
  std::vector<std::pair<std::uint64_t, int>> opened;
};

void PutTotal(MadeHost& host, const std::string& group, int domain, const std::string& bytes) {
  host.Write("/sys/fs/resctrl" + group + "/mon_data/mon_L3_0" + std::to_string(domain) +
                 "/mbm_total_bytes",
             bytes + "\n");
}

TEST(Traffic, OfTheMachineAndOfJobsByResctrl) {
  MadeHost host;
  PutTotal(host, "", 0, "1000");
  PutTotal(host, "", 1, "500");
  host.Write("/sys/fs/resctrl/mon_groups/info", "");
  // The kernel fills a group as soon as it is made: here it is there before.
  PutTotal(host, "/mon_groups/sharewell.job-7", 0, "300");
  PutTotal(host, "/mon_groups/sharewell.job-7", 1, "100");
  host.Write("/sys/fs/resctrl/mon_groups/sharewell.job-7/tasks", "");
  host.Write("/proc/41/task/41/comm", "");
  host.Write("/proc/41/task/43/comm", "");
  GivenJobs jobs;
  jobs.jobs = {{"job 7", {41}, ""}};
  const auto collector = NewTrafficCollector(host.root(), &jobs);
  EXPECT_EQ(collector->Probe().state, Health::State::kWorks);
  const auto readings = OneRound(*collector);
  EXPECT_THAT(ValueOf(readings, kMemoryTrafficBytes, "resctrl"), Optional(1500.0));
  EXPECT_THAT(ValueOf(readings, kJobMemoryTrafficBytes, "", "job 7"), Optional(400.0));
  EXPECT_EQ(
      platform::TestFolder::Read(host.root() + "/sys/fs/resctrl/mon_groups/sharewell.job-7/tasks"),
      "4143")
      << "both of its threads, in two writes";

  PutTotal(host, "/mon_groups/sharewell.job-7", 1, "Unavailable");
  EXPECT_FALSE(ValueOf(OneRound(*collector), kJobMemoryTrafficBytes, "", "job 7"))
      << "a part is no sum";
}

TEST(Traffic, AGroupIsMadeForEachJobAndGoesWithIt) {
  MadeHost host;
  PutTotal(host, "", 0, "1000");
  host.Write("/sys/fs/resctrl/mon_groups/info", "");
  GivenJobs jobs;
  jobs.jobs = {{"job 8", {1}, ""}, {"../../evil name", {2}, ""}};
  const std::string groups = host.root() + "/sys/fs/resctrl/mon_groups/";
  {
    const auto collector = NewTrafficCollector(host.root(), &jobs);
    OneRound(*collector);
    EXPECT_TRUE(std::filesystem::is_directory(groups + "sharewell.job-8"));
    EXPECT_TRUE(std::filesystem::is_directory(groups + "sharewell.------evil-name"));
    jobs.jobs.pop_back();
    OneRound(*collector);
    EXPECT_FALSE(std::filesystem::exists(groups + "sharewell.------evil-name"));
    EXPECT_TRUE(std::filesystem::exists(groups + "sharewell.job-8"));
  }
  EXPECT_FALSE(std::filesystem::exists(groups + "sharewell.job-8")) << "nothing is left behind";
}

TEST(Traffic, SaysWhatIsMissing) {
  MadeHost host;
  host.Write("/proc/cpuinfo", "flags : fpu cqm_mbm_total cqm_mbm_local\n");
  const auto collector = NewTrafficCollector(host.root(), nullptr);
  EXPECT_EQ(collector->Probe().state, Health::State::kAbsent);
  EXPECT_THAT(collector->Probe().mend, HasSubstr("mount -t resctrl"));
  EXPECT_THAT(OneRound(*collector), IsEmpty());
  MadeHost bare;
  const auto none = NewTrafficCollector(bare.root(), nullptr);
  EXPECT_EQ(none->Probe().state, Health::State::kAbsent);
  EXPECT_EQ(none->Probe().mend, "");
}

constexpr const char* kDevice = "/sys/bus/event_source/devices/";

void PutIntel(MadeHost& host) {
  for (const std::string name : {"uncore_imc_0", "uncore_imc_1"}) {
    const std::string device = kDevice + name;
    host.Write(device + "/type", name.back() == '0' ? "14\n" : "15\n");
    host.Write(device + "/cpumask", "0,28\n");
    host.Write(device + "/format/event", "config:0-7\n");
    host.Write(device + "/format/umask", "config:8-15\n");
    host.Write(device + "/events/cas_count_read", "event=0x04,umask=0x03\n");
    host.Write(device + "/events/cas_count_read.scale", "6.103515625e-5\n");
    host.Write(device + "/events/cas_count_read.unit", "MiB\n");
    host.Write(device + "/events/cas_count_write", "event=0x04,umask=0x0c\n");
    host.Write(device + "/events/cas_count_write.scale", "6.103515625e-5\n");
    host.Write(device + "/events/cas_count_write.unit", "MiB\n");
  }
}

TEST(Traffic, OfTheMachineByIntelsMemoryControllers) {
  MadeHost host;
  PutIntel(host);
  HostFiles files(host.root());
  const auto events = FindControllerEvents(files);
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_EQ(events[0].code, (PerfCode{14, 0x0304}));
  EXPECT_EQ(events[1].code, (PerfCode{14, 0x0c04}));
  EXPECT_THAT(events[0].cpus, ElementsAre(0, 28));
  EXPECT_EQ(events[0].bytes, 64);
  auto fake = std::make_unique<FakeControllers>();
  const auto& opened = fake->opened;
  const auto collector = NewTrafficCollector(host.root(), nullptr, std::move(fake));
  const auto readings = OneRound(*collector);
  EXPECT_THAT(opened, SizeIs(8)) << "two controllers, reads and writes, two sockets";
  EXPECT_THAT(ValueOf(readings, kMemoryTrafficBytes, "controllers"), Optional(8 * 1000 * 2 * 64.0));
  EXPECT_EQ(collector->Probe().state, Health::State::kPartly) << "not of jobs";
}

TEST(Traffic, OfTheMachineByAmds) {
  MadeHost zen4;
  for (const std::string name : {"amd_umc_0", "amd_umc_1", "amd_df"}) {
    zen4.Write(kDevice + name + "/type", "20\n");
    zen4.Write(kDevice + name + "/cpumask", "0\n");
    zen4.Write(kDevice + name + "/format/event", "config:0-7\n");
  }
  HostFiles files(zen4.root());
  EXPECT_THAT(FindControllerEvents(files), SizeIs(2)) << "its UMC, not its fabric";
  EXPECT_EQ(FindControllerEvents(files)[0].code, (PerfCode{20, 0x0a}));

  MadeHost zen2;
  zen2.Write("/proc/cpuinfo",
             "vendor_id : AuthenticAMD\ncpu family : 23\nmodel : 49\nmodel name : EPYC\n\n");
  zen2.Write(std::string(kDevice) + "amd_df/type", "9\n");
  zen2.Write(std::string(kDevice) + "amd_df/cpumask", "0\n");
  zen2.Write(std::string(kDevice) + "amd_df/format/event", "config:0-7,32-35,59-60\n");
  zen2.Write(std::string(kDevice) + "amd_df/format/umask", "config:8-15\n");
  HostFiles older(zen2.root());
  const auto events = FindControllerEvents(older);
  ASSERT_THAT(events, SizeIs(8));
  EXPECT_EQ(events[1].code.config, 0x3847U);
  EXPECT_EQ(events[4].code.config, 0x100003807U) << "its upper bits lie elsewhere";
  EXPECT_FALSE(EncodeEvent(older, "amd_df", "event=0x7,filter=1")) << "not known there";
}

}  // namespace
}  // namespace sharewell::collect
