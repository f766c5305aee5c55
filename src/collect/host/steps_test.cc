#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/host/test_host.h"
#include "collect/host_collectors.h"
#include "collect/metrics/job_metrics.h"

namespace sharewell::collect {
namespace {

const StepsFolders kFolders = {"/steps", "/kubelet"};
constexpr const char* kUid = "0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6";

std::vector<core::Reading> ReadingsOf(Collector& collector) {
  std::vector<core::Reading> readings;
  EXPECT_TRUE(collector.Collect(readings));
  return readings;
}

TEST(Steps, AreCountedByJobAndBeginAgainWithANewFile) {
  MadeHost host;
  const auto steps = NewStepsCollector(host.root(), kFolders, nullptr);
  EXPECT_EQ(steps->Probe().state, Health::State::kAbsent);
  EXPECT_TRUE(ReadingsOf(*steps).empty());

  host.Write("/steps/17", "step\nstep\n100\nst");
  host.Write("/steps/18", "");
  EXPECT_EQ(steps->Probe().state, Health::State::kWorks);
  auto readings = ReadingsOf(*steps);
  EXPECT_EQ(readings.size(), 1U) << "18 has told of none";
  EXPECT_EQ(ValueOf(readings, kJobSteps, {}, "slurm/17"), 100);
  host.Write("/steps/17.new", "7\n");
  std::filesystem::rename(host.root() + "/steps/17.new", host.root() + "/steps/17");
  EXPECT_EQ(ValueOf(ReadingsOf(*steps), kJobSteps, {}, "slurm/17"), 7);
  host.Remove("/steps/17");
  EXPECT_TRUE(ReadingsOf(*steps).empty());
}

TEST(Steps, AreOfPlainFilesNamedAfterJobsAlone) {
  MadeHost host;
  host.Write("/steps/notes", "1\n");
  host.Write("/steps/007", "1\n");
  host.Write("/steps/1234567890123456789", "1\n");
  host.Write("/secret", "55\n");
  std::filesystem::create_symlink("../secret", host.root() + "/steps/9");
  std::filesystem::create_directory(host.root() + "/steps/8");
  const auto steps = NewStepsCollector(host.root(), kFolders, nullptr);
  EXPECT_TRUE(ReadingsOf(*steps).empty());
}

class MadeJobs final : public JobSource {
 public:
  explicit MadeJobs(std::vector<RunningJob> jobs) : jobs_(std::move(jobs)) {}
  const std::vector<RunningJob>& Running() override { return jobs_; }

 private:
  std::vector<RunningJob> jobs_;
};

TEST(Steps, B4AFolderThatOthersMayWriteIsNotBelieved) {
  MadeHost host;
  host.Write("/steps/17", "5\n");
  const auto steps = NewStepsCollector(host.root(), kFolders, nullptr);
  EXPECT_EQ(ReadingsOf(*steps).size(), 1U);
  const std::string folder = host.root() + "/steps";
  ASSERT_EQ(::chmod(folder.c_str(), 01777), 0);
  std::vector<core::Reading> readings;
  auto read = steps->Collect(readings);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("others than its owner may write " + folder),
            std::string::npos)
      << read.error().message;
  EXPECT_TRUE(readings.empty());
  EXPECT_EQ(steps->Probe().state, Health::State::kPartly);
  EXPECT_NE(steps->Probe().mend.find("install -d -m 755 " + folder), std::string::npos);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(ReadingsOf(*steps).size(), 1U);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(folder.c_str(), 1, 1), 0);
  read = steps->Collect(readings);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("belongs to user 1, not to root"), std::string::npos);
  EXPECT_TRUE(readings.empty());
}

TEST(Steps, B4AFileOfAnotherUserIsNotTheJobs) {
  MadeHost host;
  for (const char* job : {"17", "18", "19"}) host.Write(std::string("/steps/") + job, "5\n");
  const auto status = [](unsigned uid) {
    return "Name:\ttrain\nUid:\t" + std::to_string(uid) + "\t0\t0\t0\n";
  };
  host.Write("/proc/170/status", status(0));  // a slurmstepd, or a program with the bit setuid
  host.Write("/proc/171/status", status(::geteuid()));
  host.Write("/proc/180/status", status(::geteuid() + 5));
  MadeJobs jobs({{"slurm/17", {170, 171}, ""}, {"slurm/18", {180}, ""}});
  const auto steps = NewStepsCollector(host.root(), kFolders, &jobs);
  const auto readings = ReadingsOf(*steps);
  EXPECT_EQ(readings.size(), 2U);
  EXPECT_EQ(ValueOf(readings, kJobSteps, {}, "slurm/17"), 5);
  EXPECT_EQ(ValueOf(readings, kJobSteps, {}, "slurm/18"), std::nullopt);
  EXPECT_EQ(ValueOf(readings, kJobSteps, {}, "slurm/19"), 5) << "its processes are not seen";
}

// What the collector hands on, beside its readings.
struct Watched {
  explicit Watched(const MadeHost& host, JobSource* jobs = nullptr)
      : steps(NewStepsCollector(host.root(), kFolders, jobs,
                                [this](core::JobTold news) { told.push_back(std::move(news)); })) {}
  std::optional<double> StepsOf(const std::string& job) {
    return ValueOf(ReadingsOf(*steps), kJobSteps, {}, job);
  }
  std::vector<core::JobTold> told;
  std::unique_ptr<Collector> steps;
};

TEST(Steps, AreCountedByTheWatcherWhereTheJobTellsNone) {
  MadeHost host;
  Watched watched(host);
  host.Write("/steps/17", "");
  host.Write("/steps/17.watch", "+1\n+1\n");
  host.Write("/steps/18", "");
  host.Write("/steps/18.watch", "garbage\n+x\n");
  host.Write("/steps/19.watch", "+1\n");  // no file of a prolog
  EXPECT_EQ(watched.StepsOf("slurm/17"), 2);
  EXPECT_EQ(watched.StepsOf("slurm/18"), std::nullopt);
  ASSERT_EQ(watched.told.size(), 1U);
  EXPECT_EQ(watched.told[0], (core::JobTold{"slurm/17", 0, true, "", ""}));
  host.Write("/steps/17.watch", "+1\n+1\ndoc 7.1 0 1 {\"a\":1}\n+3\n");
  EXPECT_EQ(watched.StepsOf("slurm/17"), 5);
  EXPECT_EQ(watched.StepsOf("slurm/17"), 5);
  ASSERT_EQ(watched.told.size(), 2U);
  EXPECT_EQ(watched.told[1].document, "{\"a\":1}");
  // From its own first word on, the job's count stands.
  host.Write("/steps/17", "40\n");
  EXPECT_EQ(watched.StepsOf("slurm/17"), 40);
  ASSERT_EQ(watched.told.size(), 3U);
  EXPECT_FALSE(watched.told[2].counts_steps);
  // The job is put back, and runs anew: other files, and all from the beginning.
  for (const auto& [file, text] :
       {std::pair("/steps/17", ""), {"/steps/17.watch", "+1\noff KeyError\n"}}) {
    host.Write("/steps/new", text);
    std::filesystem::rename(host.root() + "/steps/new", host.root() + file);
  }
  EXPECT_EQ(watched.StepsOf("slurm/17"), 1);
  ASSERT_EQ(watched.told.size(), 4U);
  EXPECT_EQ(watched.told[3], (core::JobTold{"slurm/17", 0, true, "", "KeyError"}));
}

TEST(Steps, B4WhatAnotherUserWroteForAJobIsNotHandedOn) {
  MadeHost host;
  host.Write("/steps/17", "");
  host.Write("/steps/17.watch", "+5\ndoc 7 0 1 {}\n");
  host.Write("/proc/170/status",
             "Name:\ttrain\nUid:\t" + std::to_string(::geteuid() + 5) + "\t0\t0\t0\n");
  MadeJobs jobs({{"slurm/17", {170}, ""}});
  Watched watched(host, &jobs);
  EXPECT_EQ(watched.StepsOf("slurm/17"), std::nullopt);
  EXPECT_TRUE(watched.told.empty());
}

TEST(Steps, B4AJobThatTellsTooMuchIsHeardSoFar) {
  MadeHost host;
  Watched watched(host);
  for (const char* file : {"/steps/17", "/steps/18"}) host.Write(file, "");
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += "doc 7." + std::to_string(i) + " 0 1 {\"n\":" + std::to_string(i) + "}\n";
    host.Write("/steps/17.watch", text);
    (void)watched.StepsOf("slurm/17");
  }
  EXPECT_EQ(watched.told.size(), 8U) << "documents of one run";
  // More than is read in one round is read in the next ones, up to a flood.
  host.Write("/steps/18.watch", std::string(3 << 20, 'x') + "\n+2\n");
  for (int round = 0; round < 3; ++round) EXPECT_EQ(watched.StepsOf("slurm/18"), std::nullopt);
  EXPECT_EQ(watched.StepsOf("slurm/18"), 2);
}

TEST(Steps, OfAPodAreThoseOfItsVolume) {
  MadeHost host;
  const std::string pods = "/kubelet/pods/";
  const std::string volume = std::string("/volumes/kubernetes.io~empty-dir/sharewell-steps");
  const auto steps = NewStepsCollector(host.root(), kFolders, nullptr);
  EXPECT_EQ(steps->Probe().state, Health::State::kAbsent);
  host.Write(pods + kUid + volume + "/steps", "1\n2\n3\n");
  host.Write(pods + "not-a-pod" + volume + "/steps", "9\n");
  EXPECT_EQ(steps->Probe().state, Health::State::kWorks);
  auto readings = ReadingsOf(*steps);
  EXPECT_EQ(readings.size(), 1U);
  EXPECT_EQ(ValueOf(readings, kJobSteps, {}, std::string("pod/") + kUid), 3);
  Watched watched(host);
  host.Write(pods + kUid + volume + "/watch", "+8\ndoc 7 0 1 {}\n");
  EXPECT_EQ(watched.StepsOf(std::string("pod/") + kUid), 3) << "it counts for itself";
  ASSERT_EQ(watched.told.size(), 1U);
  EXPECT_EQ(watched.told[0], (core::JobTold{std::string("pod/") + kUid, 0, false, "{}", ""}));
  host.Remove(pods + kUid + volume + "/watch");

  // What its container puts there instead is not followed, nor waited for.
  host.Write("/secret", "55\n");
  host.Remove(pods + kUid + volume + "/steps");
  const std::string file = host.root() + pods + kUid + volume + "/steps";
  std::filesystem::create_symlink(host.root() + "/secret", file);
  EXPECT_TRUE(ReadingsOf(*steps).empty());
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_TRUE(ReadingsOf(*steps).empty());
  std::filesystem::remove_all(host.root() + pods + kUid);  // its kubelet has removed it
  EXPECT_TRUE(ReadingsOf(*steps).empty());
}

}  // namespace
}  // namespace sharewell::collect
