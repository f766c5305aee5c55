// Jobs: which processes they have, and their figures, which never fall.
#include <gtest/gtest.h>

#include "collect/host/cgroup.h"
#include "collect/host/jobs_collector.h"
#include "collect/host/ledger.h"
#include "collect/host/process.h"
#include "collect/host/test_host.h"
#include "collect/host_collectors.h"
#include "collect/job_sources.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

struct MadeProcess {
  int pid = 0, parent = 1, session = 0;
  int user = 0, children = 0;  // ticks
  int start = 0;               // 0: pid
  char state = 'S';
  int read_bytes = 0;
};

// A machine with processes, at a time that the test sets.
class MadeJobs : public testing::Test {
 protected:
  void Set(const MadeProcess& p) {
    const std::string folder = fmt::format("/proc/{}", p.pid);
    const int session = p.session == 0 ? p.pid : p.session;
    host_.Write(folder + "/stat",
                fmt::format("{} (a) b) {} {} {} {} 0 -1 0 0 0 1 0 {} 0 {} 0 20 0 2 0 {} 4096 100\n",
                            p.pid, p.state, p.parent, session, session, p.user, p.children,
                            p.start == 0 ? p.pid : p.start));
    host_.Write(folder + "/io", fmt::format("read_bytes: {}\nwrite_bytes: 0\n", p.read_bytes));
  }
  void End(int pid) { host_.Remove(fmt::format("/proc/{}", pid)); }
  JobSourceOptions Options() {
    return {.root = host_.root(), .every = core::Seconds(1), .now = [this] { return now_; }};
  }
  std::vector<int> PidsOf(JobSource& jobs, const std::string& name) {
    now_ += 1;
    for (const RunningJob& job : jobs.Running()) {
      if (job.name == name) return job.pids;
    }
    return {-1};
  }

  MadeHost host_;
  double now_ = 100;
};

TEST_F(MadeJobs, ATreeIsAllDescendantsAndThoseThatForkedAway) {
  Set({.pid = 1, .parent = 0});
  Set({.pid = 10, .user = 5});
  Set({.pid = 20, .parent = 10, .session = 10});
  Set({.pid = 5, .parent = 20, .session = 10});  // a lower number than its parent's
  Set({.pid = 30});
  TreeJobs jobs(Options());
  jobs.Add("train", 10);
  EXPECT_EQ(PidsOf(jobs, "train"), (std::vector{5, 10, 20}));
  // Its parent has ended; the session was made in the tree.
  End(20);
  Set({.pid = 5, .parent = 1, .session = 10});
  Set({.pid = 40, .parent = 1, .session = 10});
  EXPECT_EQ(PidsOf(jobs, "train"), (std::vector{5, 10, 40}));
  // A daemon with a session of its own, once seen, stays; a zombie is no process any more.
  Set({.pid = 50, .parent = 40, .session = 50});
  EXPECT_EQ(PidsOf(jobs, "train"), (std::vector{5, 10, 40, 50}));
  Set({.pid = 50, .parent = 1, .session = 50});
  Set({.pid = 40, .parent = 1, .session = 10, .state = 'Z'});
  EXPECT_EQ(PidsOf(jobs, "train"), (std::vector{5, 10, 50}));
}

TEST_F(MadeJobs, ANumberUsedAgainIsAStranger) {
  Set({.pid = 10});
  TreeJobs jobs(Options());
  jobs.Add("train", 10);
  EXPECT_EQ(PidsOf(jobs, "train"), std::vector{10});
  End(10);
  EXPECT_EQ(PidsOf(jobs, "train"), std::vector<int>{});
  Set({.pid = 10, .start = 999});
  EXPECT_EQ(PidsOf(jobs, "train"), std::vector<int>{});
}

TEST_F(MadeJobs, TreesAreLookedAtOnceASecondAndCanGo) {
  Set({.pid = 10});
  TreeJobs jobs(Options());
  jobs.Add("a", 10);
  EXPECT_EQ(jobs.Running().at(0).pids, std::vector{10});
  Set({.pid = 11, .parent = 10});
  EXPECT_EQ(jobs.Running().at(0).pids, std::vector{10}) << "not yet a second later";
  EXPECT_EQ(PidsOf(jobs, "a"), (std::vector{10, 11}));
  jobs.Add("b", 11);  // a tree inside a tree is its own
  EXPECT_EQ(PidsOf(jobs, "b"), std::vector{11});
  jobs.Remove("a");
  EXPECT_EQ(PidsOf(jobs, "a"), std::vector{-1});
}

TEST_F(MadeJobs, TheTreesControlGroupAddsWhoLeftBoth) {
  Set({.pid = 10});
  Set({.pid = 77});
  host_.Write("/sys/fs/cgroup/mine/cgroup.procs", "10\n77\nrubbish\n");
  TreeJobs jobs(Options());
  jobs.Add("train", 10, "/sys/fs/cgroup/mine");
  EXPECT_EQ(PidsOf(jobs, "train"), (std::vector{10, 77}));
}

TEST_F(MadeJobs, CountersOfAJobOnlyRise) {
  Set({.pid = 10, .user = 100, .read_bytes = 1000});
  Set({.pid = 11, .parent = 10, .session = 10, .user = 50, .read_bytes = 500});
  TreeJobs jobs(Options());
  jobs.Add("j", 10);
  const auto collector = NewJobsCollector(host_.root(), &jobs, [this] { return now_; });
  auto readings = OneRound(*collector);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kJobCpuSeconds, {}, "j").value(), 1.5);
  EXPECT_EQ(ValueOf(readings, kJobReadBytes, {}, "j"), 1500);
  EXPECT_EQ(ValueOf(readings, kJobProcesses, {}, "j"), 2);
  EXPECT_EQ(ValueOf(readings, kJobThreads, {}, "j"), 4);
  EXPECT_EQ(ValueOf(readings, kJobMajorPageFaults, {}, "j"), 2);
  EXPECT_FALSE(ValueOf(readings, kJobCores, {}, "j"));
  EXPECT_FALSE(ValueOf(readings, kJobMemoryBytes, {}, "j")) << "no control group of its own";
  // Waited for: the parent has it now. 0.2 s more of the parent, 0.1 s more of the child.
  End(11);
  Set({.pid = 10, .user = 120, .children = 60, .read_bytes = 1600});
  now_ += 2;
  readings = OneRound(*collector);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kJobCpuSeconds, {}, "j").value(), 1.8);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kJobCores, {}, "j").value(), 0.15);
  EXPECT_EQ(ValueOf(readings, kJobReadBytes, {}, "j"), 1600);
  // The whole job ends: what it used is not forgotten.
  End(10);
  now_ += 2;
  readings = OneRound(*collector);
  EXPECT_DOUBLE_EQ(ValueOf(readings, kJobCpuSeconds, {}, "j").value(), 1.8);
  EXPECT_EQ(ValueOf(readings, kJobProcesses, {}, "j"), 0);
  EXPECT_FALSE(ValueOf(readings, kJobResidentBytes, {}, "j"));
}

TEST_F(MadeJobs, DiskBytesThatCannotBeReadAreLeftOut) {
  Set({.pid = 10, .user = 1});
  host_.Write("/proc/10/io", "rubbish\n");
  TreeJobs jobs(Options());
  jobs.Add("j", 10);
  const auto collector = NewJobsCollector(host_.root(), &jobs, [this] { return now_; });
  const auto readings = OneRound(*collector);
  EXPECT_FALSE(ValueOf(readings, kJobReadBytes, {}, "j"));
  EXPECT_TRUE(ValueOf(readings, kJobCpuSeconds, {}, "j"));
}

TEST_F(MadeJobs, ProportionalMemoryIsGivenOnceAllProcessesWereRead) {
  Set({.pid = 10});
  Set({.pid = 11, .parent = 10});
  for (const int pid : {10, 11}) {
    host_.Write(fmt::format("/proc/{}/smaps_rollup", pid),
                "00400000-7fff0000 ---p 00000000 00:00 0 [rollup]\nRss: 900 kB\nPss: 500 kB\n");
  }
  TreeJobs jobs(Options());
  jobs.Add("j", 10);
  const auto collector = NewJobsCollector(host_.root(), &jobs, [this] { return now_; });
  EXPECT_FALSE(ValueOf(OneRound(*collector), kJobProportionalBytes, {}, "j"));
  EXPECT_EQ(ValueOf(OneRound(*collector), kJobProportionalBytes, {}, "j"), 1000 * 1024);
}

TEST(ProcessLedger, WhatNobodyWaitedForIsKept) {
  ProcessLedger ledger;
  const auto round = [&](std::initializer_list<std::array<double, 4>> processes) {
    ledger.Begin();
    for (const auto& [pid, parent, total, absorbing] : processes) {
      ledger.Add(static_cast<int>(pid), 1, static_cast<int>(parent), total, absorbing);
    }
    return ledger.End();
  };
  EXPECT_EQ(round({{1, 0, 10, 0}, {2, 1, 7, 0}, {3, 2, 5, 0}}), 22);
  // 3 and its parent 2 end; 1 waited for both, and got 1 more than was seen.
  EXPECT_EQ(round({{1, 0, 23, 13}}), 23);
  // 4 and 5 come, and end with nobody waiting, while 1 works on.
  EXPECT_EQ(round({{1, 0, 23, 13}, {4, 1, 8, 0}, {5, 99, 2, 0}}), 33);
  EXPECT_EQ(round({{1, 0, 30, 13}}), 40);
  EXPECT_EQ(round({}), 40);
  EXPECT_EQ(round({{6, 0, 1, 0}}), 41);
}

TEST(ProcessLedger, ARingOfParentsEnds) {
  ProcessLedger ledger;
  ledger.Begin();
  ledger.Add(1, 1, 2, 5, 0);
  ledger.Add(2, 1, 1, 5, 0);
  EXPECT_EQ(ledger.End(), 10);
  ledger.Begin();
  EXPECT_EQ(ledger.End(), 10);
}

TEST(DiscoveredJobs, FindsSlurmDockerAndProcessesOnGpus) {
  double now = 0;
  DiscoveredJobs jobs({.root = "tests/fixtures/host/two_socket", .now = [&] { return now; }});
  jobs.SetGpuPids({901, 501, 901, 12345});
  const auto& running = jobs.Running();
  ASSERT_EQ(running.size(), 3U);
  EXPECT_EQ(running[0].name, "docker/0123456789ab");
  EXPECT_EQ(running[1].name, "pid 901 jupyter");
  EXPECT_EQ(running[1].pids, std::vector{901});
  EXPECT_EQ(running[2].name, "slurm/4242");
  EXPECT_EQ(running[2].pids, (std::vector{500, 501, 502}));
  EXPECT_EQ(running[2].cgroup, "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_4242");
  // The same again after a look and after all were judged anew.
  for (; now < 70; now += 1) EXPECT_EQ(jobs.Running().size(), 3U);
}

TEST(DiscoveredJobs, FindsSlurmJobsWithoutControlGroupsByTheStepDaemonAboveThem) {
  MadeHost host;
  const auto process = [&](int pid, int parent, const std::string& name, int uid,
                           const std::string& command) {
    const std::string folder = fmt::format("/proc/{}", pid);
    host.Write(folder + "/stat",
               fmt::format("{0} ({1}) S {2} {0} {0} 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 100 0 10\n",
                           pid, name, parent));
    host.Write(folder + "/status",
               fmt::format("Name:\t{0}\nUid:\t{1}\t{1}\t{1}\t{1}\n", name, uid));
    host.Write(folder + "/cmdline", command + std::string(1, '\0'));
    host.Write(folder + "/cgroup", "0::/user.slice\n");
  };
  process(10, 1, "slurmstepd", 0, "slurmstepd: [17.batch]");
  process(11, 10, "bash", 1000, "bash");
  process(12, 11, "python3", 1000, "python3");
  process(20, 1, "slurmstepd", 1000, "slurmstepd: [18.0]");  // a user's: made up
  process(21, 20, "python3", 1000, "python3");
  process(30, 1, "slurmstepd", 0, "slurmstepd: [x.0]");
  DiscoveredJobs jobs({.root = host.root()});
  const auto& running = jobs.Running();
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running[0].name, "slurm/17");
  EXPECT_EQ(running[0].pids, (std::vector{10, 11, 12}));
  EXPECT_EQ(running[0].cgroup, "");
}

TEST(JobsCollector, ReadsTheControlGroupOfAJob) {
  DiscoveredJobs jobs({.root = "tests/fixtures/host/two_socket"});
  const auto collector = NewJobsCollector("tests/fixtures/host/two_socket", &jobs);
  auto readings = OneRound(*collector);
  EXPECT_EQ(ValueOf(readings, kJobCpuSeconds, {}, "slurm/4242"), 7250);
  EXPECT_EQ(ValueOf(readings, kJobMemoryBytes, {}, "slurm/4242"), 17179869184.0);
  EXPECT_EQ(ValueOf(readings, kJobMemoryPeakBytes, {}, "slurm/4242"), 21474836480.0);
  EXPECT_EQ(ValueOf(readings, kJobReadBytes, {}, "slurm/4242"), 1048576 + 4096);
  EXPECT_EQ(ValueOf(readings, kJobWrittenBytes, {}, "slurm/4242"), 2097152);
  EXPECT_EQ(ValueOf(readings, kJobThreads, {}, "slurm/4242"), 72);
  EXPECT_FALSE(ValueOf(readings, kJobReadBytes, {}, "docker/0123456789ab"))
      << "it has neither a group's figures nor /proc/900/io";
  readings = OneRound(*NewPressureCollector("tests/fixtures/host/two_socket", &jobs));
  EXPECT_DOUBLE_EQ(ValueOf(readings, kJobPressureCpuWaitingSeconds, {}, "slurm/4242").value(), 2.5);
}

TEST(JobsCollector, ReadsControlGroupsOfVersion1) {
  DiscoveredJobs jobs({.root = "tests/fixtures/host/cgroup_v1"});
  const auto collector = NewJobsCollector("tests/fixtures/host/cgroup_v1", &jobs);
  const auto readings = OneRound(*collector);
  EXPECT_EQ(ValueOf(readings, kJobCpuSeconds, {}, "slurm/77"), 4);
  EXPECT_EQ(ValueOf(readings, kJobMemoryBytes, {}, "slurm/77"), 123456);
  EXPECT_EQ(ValueOf(readings, kJobMemoryPeakBytes, {}, "slurm/77"), 654321);
  EXPECT_EQ(ValueOf(readings, kJobReadBytes, {}, "slurm/77"), 4097);
  EXPECT_NE(collector->Probe().what.find("v1"), std::string::npos);
}

std::string Found(std::string_view text) {
  const auto job = JobOfCgroup(text);
  return job ? job->name + " " + job->folder : "none";
}

TEST(JobOfCgroup, KnowsEachKind) {
  const std::string id(64, 'a');
  EXPECT_EQ(Found("0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0\n"),
            "slurm/12 /sys/fs/cgroup/system.slice/slurmstepd.scope/job_12");
  EXPECT_EQ(Found("9:memory:/slurm/uid_0/job_7/step_1\n4:cpuset:/slurm/uid_0/job_7\n0::/x\n"),
            "slurm/7 /sys/fs/cgroup/memory/slurm/uid_0/job_7");
  EXPECT_EQ(Found("0::/kubepods/burstable/pod0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6/" + id + "\n"),
            "pod/0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6 "
            "/sys/fs/cgroup/kubepods/burstable/pod0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6");
  // With the kubelet's --cgroup-root, as kind has it.
  EXPECT_EQ(
      Found("0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-"
            "kubepods-burstable-pod0f2e4c1a_1b2c_4d3e_8f90_a1b2c3d4e5f6.slice/cri-containerd-" +
            id + ".scope\n"),
      "pod/0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6 "
      "/sys/fs/cgroup/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
      "kubelet-kubepods-burstable-pod0f2e4c1a_1b2c_4d3e_8f90_a1b2c3d4e5f6.slice");
  EXPECT_EQ(Found("0::/system.slice/docker-" + id + ".scope\n"),
            "docker/aaaaaaaaaaaa /sys/fs/cgroup/system.slice/docker-" + id + ".scope");
  EXPECT_EQ(Found("5:cpu,cpuacct:/docker/" + id + "\n"),
            "docker/aaaaaaaaaaaa /sys/fs/cgroup/cpu,cpuacct/docker/" + id);
  EXPECT_EQ(Found("0::/user.slice/user.slice/libpod-" + id + ".scope/container\n"),
            "podman/aaaaaaaaaaaa /sys/fs/cgroup/user.slice/user.slice/libpod-" + id + ".scope");
  EXPECT_EQ(Found("0::/sharewell/resnet-1\n"), "resnet-1 /sys/fs/cgroup/sharewell/resnet-1");
  EXPECT_EQ(Found("0::/user.slice/sharewell-bert.scope\n"),
            "bert /sys/fs/cgroup/user.slice/sharewell-bert.scope");
  EXPECT_EQ(Found("3:pids:/\n0::/docker/" + id + "\n"),
            "docker/aaaaaaaaaaaa /sys/fs/cgroup/unified/docker/" + id);
}

// A container has a name space of groups of its own: it is told of other pods from there, and
// cannot see their folders.
TEST(JobOfCgroup, KnowsOtherPodsFromWithinAContainer) {
  const std::string id(64, 'a');
  EXPECT_EQ(Found("0::/../../kubepods-burstable-pod0f2e4c1a_1b2c_4d3e_8f90_a1b2c3d4e5f6.slice/"
                  "cri-containerd-" +
                  id + ".scope\n"),
            "pod/0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6 ");
  EXPECT_EQ(Found("9:memory:/../../burstable/pod0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6/" + id + "\n"),
            "pod/0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6 ");
  EXPECT_EQ(Found("0::/../../docker/" + id + "\n"), "docker/aaaaaaaaaaaa ");
  EXPECT_EQ(Found("0::/../../../system.slice/kubelet.service\n"), "none");
}

TEST(JobOfCgroup, IsNotFooled) {
  const std::string id(64, 'a');
  EXPECT_EQ(Found(""), "none");
  EXPECT_EQ(Found("0::/\n"), "none");
  EXPECT_EQ(Found("0::/docker/" + id), "none") << "cut short";
  EXPECT_EQ(Found("0::/docker/abc\n"), "none");
  EXPECT_EQ(Found("0::/home/job_5\n"), "none") << "not Slurm's";
  EXPECT_EQ(Found("0::/libpod-conmon-" + id + ".scope\n"), "none");
  EXPECT_EQ(Found("nonsense\n::\n:::\n"), "none");
  // A container inside a Slurm job is the job's.
  EXPECT_EQ(Found("0::/slurm/job_3/docker/" + id + "\n"), "slurm/3 /sys/fs/cgroup/slurm/job_3");
  EXPECT_EQ(Found("0::/sharewell/a\"b\x01\n"), "a?b? /sys/fs/cgroup/sharewell/a\"b\x01");
}

TEST(ParseProcessStat, TakesAnyName) {
  const auto stat = ParseProcessStat(
      "7 (x) S 9 (y)) R 1 2 3 -1 -1 0 0 0 4 5 6 7 8 9 20 0 10 0 11 18446744073709551615 12 99\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->parent, 1);
  EXPECT_EQ(stat->children_system, 9U);
  EXPECT_EQ(stat->start, 11U);
  EXPECT_EQ(stat->resident_pages, 12U);
  EXPECT_EQ(ProcessName("7 (x) S 9 (y)) R"), "x) S 9 (y)");
  EXPECT_FALSE(ParseProcessStat("7 (x) R 1 2"));
  EXPECT_FALSE(ParseProcessStat("7 x R 1 2 3"));
  EXPECT_FALSE(ParseProcessStat(""));
}

}  // namespace
}  // namespace sharewell::collect
