// What the server believes, and what its policy makes of it.
#include "server/live/advisor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "catalogue/builtin_measurements.h"
#include "core/snapshot.h"
#include "server/learn/run_memory.h"
#include "server/live/this_machine.h"
#include "server/test_stores.h"

namespace sharewell::server {
namespace {

using core::GiB;
using core::JobRecord;
using core::Needs;
using core::Seconds;
using core::Source;
using core::Submission;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ServerAdvisorTest : public ::testing::Test {
 protected:
  void Machine(const std::string& gpus, double cores = 16) {
    machine = *MachineOf({"box", cores, GiB(128)}, gpus, {}, catalogue);
    Restart();
  }
  void Restart(const AdvisorOptions& options = {}) {
    auto made = ServerAdvisor::New(machine.cluster, catalogue, profiles, jobs, options);
    ASSERT_TRUE(made) << made.error().message;
    advisor = *std::move(made);
  }
  static Submission Command(std::vector<std::string> words, int gpus = 1) {
    Submission job;
    job.command = std::move(words);
    job.folder = "/home/ann";
    job.gpus = gpus;
    return job;
  }
  static Needs Known(double busy, double gib, double cores, Source source = Source::kPredicted) {
    Needs needs;
    needs.sources = core::Sources::All(source);
    needs.profile.gpu = "H200";
    needs.profile.busy = needs.profile.sm = busy;
    needs.profile.gpu_memory = GiB(gib);
    needs.profile.cpu_cores = cores;
    return needs;
  }
  JobRecord Ran(const Submission& asked, double seconds) { return Ran(ann, asked, seconds); }
  JobRecord Ran(const core::Account& user, const Submission& asked, double seconds) {
    JobRecord record;
    record.number = ++last_number;
    record.user = user;
    record.asked = asked;
    record.believed = advisor->NeedsOf(user, asked);
    record.phase = core::Phase::kFinished;
    record.gpus = {{0, "GPU-a", "H200"}};
    record.cores = 8;
    record.alone_time = record.run_time = Seconds(seconds);
    record.exit_code = 0;
    jobs.finished.push_back(record);
    return record;
  }
  // Submits them all and asks the policy once.
  core::Plan Decide(const std::vector<Submission>& asked) {
    core::Snapshot snapshot(machine.cluster);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      JobRecord record;
      record.asked = asked[i];
      record.believed = advisor->NeedsOf(ann, asked[i]);
      core::Job job;
      job.id = core::JobId(i);
      job.user = core::UserId(0);
      job.gpus = asked[i].gpus;
      job.cores = asked[i].cores;
      job.workload = advisor->WorkloadOf(ann, asked[i]);
      snapshot.Submit(job, advisor->EstimateOf(record));
    }
    const policy::Policy& policy = advisor->Policy();
    const auto memo = policy.NewMemo();
    return policy.Decide(snapshot, {}, *memo);
  }

  const core::Account root{"root", 0, 0, true};
  const core::Account ann{"ann", 1000, 1000, false};
  const core::Account bob{"bob", 1001, 1001, false};
  const core::Account cal{"cal", 1002, 1002, false};
  const core::Account eve{"eve", 1003, 1003, false};
  catalogue::GpuCatalogue catalogue = catalogue::GpuCatalogue::Builtin();
  MemoryProfiles profiles;
  MemoryKnowledge jobs;
  MachineHere machine;
  std::unique_ptr<ServerAdvisor> advisor;
  std::int64_t last_number = 0;
};

TEST_F(ServerAdvisorTest, WhatIsUnknownFillsItsGpuAndIsNotShared) {
  Machine("1xH200");
  const Submission job = Command({"python", "train.py"});
  const Needs needs = advisor->NeedsOf(ann, job);
  EXPECT_EQ(needs.sources.busy, Source::kAssumed);
  EXPECT_THAT(needs.from, HasSubstr("nothing is known"));
  const core::Plan plan = Decide({job, Command({"python", "other.py"})});
  ASSERT_THAT(plan.starts, SizeIs(1));
  EXPECT_EQ(plan.starts[0].to.cores, 16) << "its GPU's part of the host, not one core";
}

TEST_F(ServerAdvisorTest, AClientsNeedsAreBelievedAsPredictionsAndOnlyWhereSane) {
  Machine("1xH200");
  Submission job = Command({"python", "train.py"});
  job.needs = Known(0.3, 10, 2, Source::kObserved);
  job.needs->profile.dram = -5;
  job.needs->duration = Seconds(1e300);
  const Needs needs = advisor->NeedsOf(ann, job);
  EXPECT_EQ(needs.sources.busy, Source::kTold);
  EXPECT_FALSE(needs.profile.dram);
  EXPECT_FALSE(needs.duration);
  Submission second = job;
  second.command.push_back("--seed=2");
  const core::Plan plan = Decide({job, second});
  ASSERT_THAT(plan.starts, SizeIs(2)) << "two small jobs share";
  EXPECT_EQ(plan.starts[0].to.cores, 3) << "its bound of 2.5 cores, and no more";
  job.cores = 8;
  EXPECT_EQ(Decide({job}).starts.at(0).to.cores, 3) << "whatever was asked for above that";
  job.needs->profile.cpu_cores.reset();
  EXPECT_EQ(Decide({job}).starts.at(0).to.cores, 8) << "nobody knows better";
  job.cores.reset();
  job.needs = Known(0.3, 10, 9);
  job.needs->cores_upper = 9;
  job.needs->profile.cpu_curve = {{1, 0.5}, {2, 0.99}, {8, 1}};
  EXPECT_EQ(Decide({job}).starts.at(0).to.cores, 2) << "at the knee";
}

TEST_F(ServerAdvisorTest, ARunIsRememberedKeptAndBelievedAfterARestart) {
  Machine("1xH200");
  Submission job = Command({"python", "train.py"});
  job.needs = Known(0.9, 40, 2);
  core::Profile seen = Known(0.3, 10, 2).profile;
  seen.steps_per_second = 12;
  advisor->LearnRun(Ran(job, 100), seen);
  ASSERT_THAT(profiles.all, SizeIs(1));
  EXPECT_EQ(profiles.all[0].source, "job");
  EXPECT_EQ(profiles.all[0].name, "python train.py");
  Needs needs = advisor->NeedsOf(ann, job);
  EXPECT_EQ(needs.sources.busy, Source::kObserved) << "measured beats predicted";
  EXPECT_EQ(needs.from, "job 1");
  EXPECT_EQ(needs.profile.busy, 0.3);
  EXPECT_EQ(needs.profile.steps_per_second, 12);
  EXPECT_EQ(needs.duration, Seconds(100));
  EXPECT_NEAR(*needs.gpu_memory_upper / GiB(10), 1.13, 1e-9);

  seen.gpu_memory = GiB(14);
  advisor->LearnRun(Ran(job, 120), seen);
  EXPECT_THAT(profiles.all, SizeIs(1)) << "one a workload";
  needs = advisor->NeedsOf(ann, job);
  EXPECT_EQ(needs.profile.gpu_memory, GiB(12));
  EXPECT_NEAR(*needs.gpu_memory_upper / GiB(14), 1.05, 1e-9) << "by what runs spread";

  Restart();
  needs = advisor->NeedsOf(ann, job);
  EXPECT_EQ(needs.sources.busy, Source::kObserved);
  EXPECT_EQ(needs.profile.busy, 0.3);
  EXPECT_EQ(needs.duration, Seconds(110));
  EXPECT_GE(*needs.gpu_memory_upper, GiB(14));
  EXPECT_EQ(advisor->NeedsOf(ann, Command({"python", "eval.py"})).sources.busy, Source::kAssumed);

  const int saves = profiles.saves;
  for (int i = 0; i < 5; ++i) advisor->LearnRun(Ran(job, 110), seen);
  EXPECT_LE(profiles.saves - saves, 3) << "what does not move is not stored again";
  advisor->LearnRun(Ran(Command({"true"}), 0.01), {});
  EXPECT_THAT(profiles.all, SizeIs(1)) << "nothing was seen of it";
}

TEST_F(ServerAdvisorTest, F13_OfTheProfilesThatJobsLeftTheNewestStay) {
  Machine("1xH200");
  const core::Profile seen = Known(0.3, 10, 2).profile;
  const auto run = [&](const std::string& word, core::UnixMillis ended) {
    JobRecord record = Ran(Command({word}), 100);
    record.ended = ended;
    advisor->LearnRun(record, seen);
  };
  run("first", 1);
  run("second", 2);
  run("third", 3);
  run("first", 4);
  core::ProfileRecord measured;
  measured.name = "by hand";
  measured.source = "profile";
  ASSERT_TRUE(profiles.Save(measured));
  Restart({.most_profiles_kept = 2});
  std::vector<std::string> names;
  for (const auto& record : profiles.all) names.push_back(record.name);
  EXPECT_THAT(names, ::testing::ElementsAre("first", "third", "by hand"));
  EXPECT_EQ(advisor->NeedsOf(ann, Command({"first"})).sources.busy, Source::kObserved);
}

TEST_F(ServerAdvisorTest, B5_OfTheProfilesThatJobsLeftTheUserWithMostLosesTheOldest) {
  Machine("1xH200");
  Restart({.most_profiles_kept = 10});
  const core::Profile seen = Known(0.3, 10, 2).profile;
  const auto run = [&](const core::Account& user, const std::string& word) {
    JobRecord record = Ran(user, Command({word}), 100);
    record.ended = last_number;
    advisor->LearnRun(record, seen);
  };
  for (int i = 0; i < 4; ++i) run(bob, fmt::format("his {}", i));
  for (int i = 0; i < 300; ++i) run(eve, fmt::format("hers {}", i));
  const auto of = [&](const std::string& user) {
    return std::count_if(profiles.all.begin(), profiles.all.end(),
                         [&](const auto& record) { return record.user == user; });
  };
  EXPECT_EQ(of("bob"), 4);
  EXPECT_LE(of("eve"), 106);
  Restart({.most_profiles_kept = 10});
  EXPECT_EQ(of("bob"), 4);
  EXPECT_EQ(of("eve"), 6);
  EXPECT_EQ(advisor->NeedsOf(bob, Command({"his 0"})).sources.busy, Source::kObserved);
}

TEST_F(ServerAdvisorTest, B5_AFloodOfOnesJobsDoesNotHideHowLongAnothersTook) {
  Machine("1xH200");
  const core::Profile seen = Known(0.3, 10, 2).profile;
  std::vector<Submission> his;
  for (int i = 0; i < 3; ++i) {
    his.push_back(Command({"his", std::to_string(i)}));
    his.back().needs = Known(0.6, 5, 2);
    advisor->LearnRun(Ran(bob, his.back(), 100), seen);
  }
  for (int i = 0; i < 60; ++i) advisor->LearnRun(Ran(eve, Command({"true"}), 0.01), seen);
  Restart({.most_runs_read = 20});
  for (const Submission& job : his) {
    EXPECT_EQ(advisor->NeedsOf(bob, job).duration, Seconds(100));
  }
  Submission other = Command({"another"});
  other.needs = Known(0.6, 5, 2);
  EXPECT_NEAR(*advisor->NeedsOf(bob, other).profile.gpu_memory / GiB(10), 1, 1e-9)
      << "his correction is known too";
}

TEST_F(ServerAdvisorTest, TheProfilesThatJobsLeaveAreBoundedWhileTheServerRuns) {
  Machine("1xH200");
  Restart({.most_profiles_kept = 10});
  const core::Profile seen = Known(0.3, 10, 2).profile;
  core::ProfileRecord measured;
  measured.name = "by hand";
  measured.source = "profile";
  ASSERT_TRUE(profiles.Save(measured));
  std::size_t most = 0;
  for (int i = 0; i < 500; ++i) {
    JobRecord record = Ran(Command({i % 2 == 0 ? "often" : fmt::format("once {}", i)}), 100 + i);
    record.ended = i + 1;
    core::Profile differs = seen;
    differs.busy = 0.2 + 0.001 * i;  // so that it is stored again
    advisor->LearnRun(record, differs);
    most = std::max(most, profiles.all.size());
  }
  EXPECT_LE(most, 10U + 100U + 1U);
  const auto named = [&](const std::string& name) {
    return std::any_of(profiles.all.begin(), profiles.all.end(),
                       [&](const auto& record) { return record.name == name; });
  };
  EXPECT_TRUE(named("by hand")) << "those alone that jobs left are removed";
  EXPECT_TRUE(named("often")) << "it was written again all the while";
}

TEST_F(ServerAdvisorTest, AStarvedJobIsGivenMoreTheNextTime) {
  Machine("1xH200");
  const Submission job = Command({"python", "train.py"});
  advisor->LearnRun(Ran(job, 100), Known(0.4, 10, 7.8).profile);  // of 8 cores
  EXPECT_EQ(advisor->NeedsOf(ann, job).profile.cpu_cores, 12);
}

TEST_F(ServerAdvisorTest, NamedProfilesAreReadFromTheStore) {
  Machine("1xH200");
  Submission job = Command({"python", "train.py"});
  job.profile = "resnet";
  core::ProfileRecord record;
  record.name = "resnet";
  record.profile = Known(0.5, 20, 3).profile;
  record.profile.gpu = "A100";
  profiles.all = {record};
  profiles.all[0].id = 1;
  record.profile.gpu = "NVIDIA H200";
  record.profile.busy = 0.25;
  record.id = 2;
  profiles.all.push_back(record);
  EXPECT_TRUE(advisor->Check(ann, job));
  EXPECT_EQ(advisor->NeedsOf(ann, job).profile.busy, 0.25) << "that of a GPU that is here";
  EXPECT_EQ(advisor->NeedsOf(ann, job).from, "profile resnet");
  job.profile = "resnt";
  const auto refused = advisor->Check(ann, job);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("did you mean 'resnet'"));
}

TEST_F(ServerAdvisorTest, S5WhatAJobAsksForIsSpreadOverItsNodes) {
  Machine("2xH200");
  core::Node node = machine.cluster.nodes().front();
  node.cores = 16;
  node.memory = GiB(64);
  core::Node other = node;
  other.name = "other";
  machine.cluster = core::Cluster(machine.cluster.models(), {node, other});
  Restart();
  Submission gang = Command({"train"}, 4);
  gang.cores = 24;
  gang.memory = GiB(80);
  EXPECT_TRUE(advisor->Check(ann, gang)) << "12 cores and 40 GiB a node";
  gang.cores = 33;
  const auto refused = advisor->Check(ann, gang);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("33 cores, on at most 2 nodes, and the largest node has 16"));
  Submission one = Command({"train"}, 1);
  one.cores = 24;
  EXPECT_FALSE(advisor->Check(ann, one));
}

TEST_F(ServerAdvisorTest, WhatCannotRunHereIsRefusedWithWhatThereIs) {
  Machine("2xH200,1xA100");
  const auto refusal = [&](auto change) {
    Submission job = Command({"train"});
    change(job);
    const auto checked = advisor->Check(ann, job);
    EXPECT_FALSE(checked);
    if (checked) return std::string();
    EXPECT_EQ(checked.error().kind, core::ErrorKind::kUsage);
    return checked.error().message;
  };
  EXPECT_TRUE(advisor->Check(ann, Command({"train"}, 2)));
  EXPECT_TRUE(advisor->Check(ann, Command({"make"}, 0)));
  EXPECT_THAT(refusal([](Submission& job) { job.gpus = 3; }), HasSubstr("2 H200 and 1 A100"));
  EXPECT_THAT(refusal([](Submission& job) { job.gpu_models = {"H100"}; }), HasSubstr("2 H200"));
  EXPECT_THAT(refusal([](Submission& job) {
                job.gpu_models = {"A100"};
                job.gpus = 2;
              }),
              HasSubstr("2 GPUs"));
  EXPECT_THAT(refusal([](Submission& job) { job.gpu_memory = GiB(500); }), HasSubstr("500.0 GiB"));
  EXPECT_THAT(refusal([](Submission& job) { job.cores = 100; }), HasSubstr("100 cores"));
  EXPECT_THAT(refusal([](Submission& job) { job.memory = GiB(5000); }),
              HasSubstr("4.9 TiB of host memory"));
  Machine("none");
  EXPECT_THAT(refusal([](Submission&) {}), HasSubstr("no GPU"));
  EXPECT_TRUE(advisor->Check(ann, Command({"make"}, 0)));
}

TEST_F(ServerAdvisorTest, EstimatesAreForEveryModelWithTheUsersBounds) {
  Machine("1xH200,1xA100");
  JobRecord record;
  record.asked = Command({"train"});
  record.believed = Known(1, 40, 2);
  record.believed.duration = Seconds(1000);
  core::Estimate estimate = advisor->EstimateOf(record);
  ASSERT_THAT(estimate.on, SizeIs(2));
  EXPECT_EQ(estimate.on[0].rate, 1);
  EXPECT_LT(estimate.on[1].rate, 1);
  EXPECT_EQ(estimate.duration, Seconds(1000));
  EXPECT_NEAR(estimate.gpu_memory_upper / GiB(40), 1.13, 1e-9);
  EXPECT_TRUE(estimate.on[0].demand.known);
  record.believed.profile.gpu = "A100";
  EXPECT_LT(*advisor->EstimateOf(record).duration, Seconds(1000)) << "on the first model";
  record.asked.gpu_memory = GiB(30);
  record.asked.cores = 1.5;
  estimate = advisor->EstimateOf(record);
  EXPECT_EQ(estimate.gpu_memory_upper, GiB(30));
  EXPECT_EQ(estimate.on[0].demand.cpu_cores, 1.5);
  EXPECT_EQ(estimate.cores_upper, 1);
  record.believed = {};
  record.asked = Command({"train"});
  estimate = advisor->EstimateOf(record);
  EXPECT_FALSE(estimate.on[0].demand.known);
  EXPECT_EQ(estimate.on[1].demand.gpu_memory, machine.cluster.models()[1].memory);
  EXPECT_EQ(estimate.gpu_memory_upper, machine.cluster.models()[1].memory)
      << "it may run on the smaller GPU too, and fills it";
  record.asked.gpu_models = {"H200"};
  EXPECT_EQ(advisor->EstimateOf(record).gpu_memory_upper, machine.cluster.models()[0].memory);
}

TEST_F(ServerAdvisorTest, PairsComeFromWhatWeCarryAndFromWhatWasMeasuredHere) {
  Machine("1xH200");
  const core::Measurements builtin = catalogue::BuiltinMeasurements();
  const auto& pair = builtin.pairs.front();
  Submission a = Command({"python", "a.py"});
  Submission b = Command({"python", "b.py"});
  a.needs = Known(0.1, 4, 1);
  b.needs = Known(0.1, 4, 1);
  EXPECT_THAT(Decide({a, b}).starts, SizeIs(2)) << "by the model they get on";
  const policy::Policy* before = &advisor->Policy();
  EXPECT_EQ(&advisor->Policy(), before) << "nothing new";
  a.needs->profile.workload = pair.a;
  b.needs->profile.workload = pair.b;
  a.command.push_back("2");
  b.command.push_back("2");
  ASSERT_EQ(pair.a.name, "tv:vgg16@224") << "two that were measured to collide";
  EXPECT_THAT(Decide({a, b}).starts, SizeIs(1));
  EXPECT_NE(&advisor->Policy(), before);
  EXPECT_EQ(before->Name(), "sharewell") << "the one before is still there";

  const core::SharedRun good{
      "H200", core::WorkloadKey(a), core::WorkloadKey(b), 0.97, 0.98, true, 1, 1, 1, "ann",
      "ann",  Seconds(12)};
  advisor->LearnShared(good);
  EXPECT_THAT(Decide({a, b}).starts, SizeIs(2)) << "what was measured here stands before it";
  core::SharedRun bad = good;
  bad.speed_a = 0.3;
  jobs.shared = {bad};
  Restart();
  EXPECT_THAT(Decide({a, b}).starts, SizeIs(1)) << "and is remembered";
}

TEST_F(ServerAdvisorTest, PredictionsAreCorrectedByWhatRunsShowed) {
  Machine("1xH200");
  for (int i = 0; i < 4; ++i) {
    Submission job = Command({"python", "train.py", std::to_string(i)});
    job.needs = Known(0.4, 10, 2);
    job.needs->from = "net.onnx at batch 8";
    if (i == 3) {
      const Needs needs = advisor->NeedsOf(ann, job);
      EXPECT_NEAR(*needs.profile.gpu_memory / GiB(20), 1, 1e-9);
      EXPECT_NEAR(*needs.profile.busy, 0.2, 1e-9);
      EXPECT_EQ(needs.from, "net.onnx at batch 8, corrected by 3 workloads measured here");
      break;
    }
    EXPECT_EQ(advisor->NeedsOf(ann, job).profile.gpu_memory, GiB(10));
    advisor->LearnRun(Ran(job, 60), Known(0.2, 20, 2).profile);
  }
}

TEST_F(ServerAdvisorTest, CpuOnlyJobsTakeWhatIsLeftWithAndWithoutAGpu) {
  Machine("1xH200");
  Submission train = Command({"train"});
  train.needs = Known(0.5, 10, 4);
  Submission make = Command({"make"}, 0);
  make.cores = 8;
  Submission large = make;
  large.cores = 12;
  const core::Plan plan = Decide({make, train, large});
  ASSERT_THAT(plan.starts, SizeIs(2)) << "5 cores for the training job, 8 of the other 11";
  EXPECT_EQ(plan.starts[0].job, core::JobId(1));
  EXPECT_EQ(plan.starts[0].to.cores, 5);
  EXPECT_EQ(plan.starts[1].job, core::JobId(0));

  Machine("none");
  const core::Plan alone = Decide({make, train, large});
  ASSERT_THAT(alone.starts, SizeIs(1));
  EXPECT_EQ(alone.infeasible, std::vector{core::JobId(1)});
}

TEST_F(ServerAdvisorTest, A3_WhatOneUserRanSaysNothingOfAnothersJob) {
  Machine("1xH200");
  const Submission train = Command({"python3", "train.py"});
  for (int i = 0; i < 9; ++i) advisor->LearnRun(Ran(eve, train, 14), Known(0.05, 0.5, 1).profile);
  EXPECT_EQ(advisor->NeedsOf(eve, train).profile.gpu_memory, GiB(0.5)) << "eve's own at once";
  Needs needs = advisor->NeedsOf(bob, train);
  EXPECT_EQ(needs.sources.busy, Source::kAssumed);
  EXPECT_FALSE(needs.profile.gpu_memory);
  Submission predicted = train;
  predicted.needs = Known(0.8, 126, 4);
  EXPECT_EQ(advisor->NeedsOf(bob, predicted).profile.gpu_memory, GiB(126));
  Restart();
  EXPECT_EQ(advisor->NeedsOf(eve, train).profile.gpu_memory, GiB(0.5));
  EXPECT_EQ(advisor->NeedsOf(bob, train).sources.busy, Source::kAssumed);
  EXPECT_EQ(advisor->NeedsOf(bob, predicted).profile.gpu_memory, GiB(126));
  // Once bob has run it, it is his that counts, whatever eve runs.
  advisor->LearnRun(Ran(bob, train, 100), Known(0.8, 126, 4).profile);
  for (int i = 0; i < 9; ++i) advisor->LearnRun(Ran(eve, train, 14), Known(0.05, 0.5, 1).profile);
  needs = advisor->NeedsOf(bob, train);
  EXPECT_EQ(needs.profile.gpu_memory, GiB(126));
  EXPECT_THAT(needs.from, HasSubstr("job"));
}

TEST_F(ServerAdvisorTest, A3_WhatSeveralUsersRanCountsForOthersButNeverBelowTheirOwnMemory) {
  Machine("1xH200");
  const Submission train = Command({"python3", "/opt/course/train.py"});
  for (int i = 0; i < 9; ++i) advisor->LearnRun(Ran(eve, train, 14), Known(0.1, 0.5, 1).profile);
  advisor->LearnRun(Ran(ann, train, 90), Known(0.3, 10, 2).profile);
  Needs needs = advisor->NeedsOf(bob, train);
  EXPECT_EQ(needs.sources.busy, Source::kObserved);
  EXPECT_EQ(needs.from, "runs of the same by 2 other users");
  EXPECT_NEAR(*needs.profile.busy, 0.2, 1e-9) << "each weighs once";
  EXPECT_EQ(needs.profile.gpu_memory, GiB(10)) << "one who says the truth is enough";
  EXPECT_GE(*needs.gpu_memory_upper, GiB(10));
  advisor->LearnRun(Ran(cal, train, 90), Known(0.3, 0.5, 2).profile);
  Submission predicted = train;
  predicted.needs = Known(0.8, 126, 4);
  predicted.needs->gpu_memory_upper = GiB(130);
  needs = advisor->NeedsOf(bob, predicted);
  EXPECT_EQ(needs.profile.gpu_memory, GiB(126)) << "never below his own graph";
  EXPECT_EQ(needs.gpu_memory_upper, GiB(130));
  EXPECT_EQ(needs.profile.busy, 0.3) << "the median over users";
  EXPECT_THAT(advisor->NeedsOf(eve, train).from, HasSubstr("9 runs")) << "their own go first";
}

TEST_F(ServerAdvisorTest, A3_WhatAnOlderVersionLearntIsOfTheOneWhoRanIt) {
  Machine("1xH200");
  const Submission own = Command({"python3", "own.py"}), both = Command({"python3", "both.py"});
  advisor->LearnRun(Ran(bob, own, 60), Known(0.3, 10, 2).profile);
  advisor->LearnRun(Ran(bob, both, 60), Known(0.3, 10, 2).profile);
  Ran(eve, both, 60);
  for (core::ProfileRecord& record : profiles.all) record.user.clear();
  jobs.shared = {{"H200", core::WorkloadKey(own), core::WorkloadKey(own), 0.2, 0.2, true, 1, 1, 1,
                  "", "", Seconds(12)}};
  Restart();
  EXPECT_EQ(advisor->NeedsOf(bob, own).sources.busy, Source::kObserved);
  EXPECT_EQ(advisor->NeedsOf(bob, both).sources.busy, Source::kAssumed) << "whose was it?";
  EXPECT_EQ(advisor->NeedsOf(eve, own).sources.busy, Source::kAssumed);
  Submission by_name = Command({"true"});
  by_name.profile = "python3 own.py";
  EXPECT_TRUE(advisor->Check(bob, by_name));
  EXPECT_FALSE(advisor->Check(eve, by_name));
}

TEST_F(ServerAdvisorTest, A3_PairsCountForTheUsersWhoseJobsTheyWere) {
  Machine("1xH200");
  Submission a = Command({"python", "a.py"}), b = Command({"python", "b.py"});
  a.needs = b.needs = Known(0.1, 4, 1);
  const std::string key_a = core::WorkloadKey(a), key_b = core::WorkloadKey(b);
  advisor->LearnShared({"H200", key_a, key_b, 0.2, 0.2, true, 1, 1, 1, "eve", "eve", Seconds(12)});
  EXPECT_THAT(Decide({a, b}).starts, SizeIs(2)) << "ann's";
  advisor->LearnShared({"H200", key_a, key_b, 0.2, 0.2, true, 1, 1, 1, "ann", "ann", Seconds(12)});
  EXPECT_THAT(Decide({a, b}).starts, SizeIs(1));
}

TEST_F(ServerAdvisorTest, A3_NamesAreByUserAndDoNotShadowWhatAnAdminMeasured) {
  Machine("1xH200");
  core::ProfileRecord measured;
  measured.name = "bert";
  measured.source = "profile";
  measured.profile = Known(0.7, 60, 4).profile;
  ASSERT_TRUE(profiles.Save(measured));
  Submission tiny = Command({"sleep", "1"});
  tiny.name = "bert";
  JobRecord ran = Ran(eve, tiny, 1);
  ran.ended = 2'000'000'000'000;
  advisor->LearnRun(ran, Known(0.01, 0.1, 1).profile);
  tiny.name = "gpt";
  advisor->LearnRun(Ran(eve, Command({"sleep", "2"}), 1), Known(0.01, 0.1, 1).profile);
  ran = Ran(eve, tiny, 1);
  ran.asked.command.push_back("3");
  advisor->LearnRun(ran, Known(0.01, 0.1, 1).profile);
  Submission job = Command({"python", "train.py"});
  job.profile = "bert";
  for (const core::Account& user : {bob, eve, root}) {
    EXPECT_EQ(advisor->NeedsOf(user, job).profile.gpu_memory, GiB(60)) << user.name;
  }
  job.profile = "gpt";
  EXPECT_EQ(advisor->NeedsOf(eve, job).profile.gpu_memory, GiB(0.1)) << "her own name";
  const auto refused = advisor->Check(bob, job);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("was left by jobs of other users"));
  // An admin's job of that name goes before her own, and counts for all.
  tiny.command = {"python", "gpt.py"};
  advisor->LearnRun(Ran(root, tiny, 60), Known(0.5, 30, 1).profile);
  for (const core::Account& user : {bob, eve}) {
    EXPECT_EQ(advisor->NeedsOf(user, job).profile.gpu_memory, GiB(30)) << user.name;
  }
}

TEST_F(ServerAdvisorTest, A3_OnesFalseNeedsCorrectNobodyElsesPredictions) {
  Machine("1xH200");
  const auto lie = [&](const core::Account& user, double predicted, double was) {
    for (int i = 0; i < 6; ++i) {
      Submission job = Command({"./tiny", user.name, std::to_string(i)});
      job.needs = Known(0.9, predicted, 8);
      advisor->LearnRun(Ran(user, job, 2), Known(0.05, was, 0.5).profile);
    }
  };
  Submission honest = Command({"python", "train.py"});
  honest.needs = Known(0.4, 40, 4);
  honest.needs->from = "net.onnx at batch 8";
  lie(eve, 100, 1);
  EXPECT_EQ(advisor->NeedsOf(bob, honest).profile, Known(0.4, 40, 4).profile);
  EXPECT_LT(*advisor->NeedsOf(eve, honest).profile.gpu_memory, GiB(10)) << "her own words";
  Restart();
  EXPECT_EQ(advisor->NeedsOf(bob, honest).profile, Known(0.4, 40, 4).profile);
  lie(ann, 10, 10);
  Needs needs = advisor->NeedsOf(bob, honest);
  EXPECT_EQ(needs.profile.gpu_memory, GiB(40)) << "of two the milder";
  lie(cal, 100, 1);
  needs = advisor->NeedsOf(bob, honest);
  EXPECT_EQ(needs.profile.gpu_memory, GiB(40)) << "others never lower memory";
  EXPECT_LT(*needs.profile.busy, 0.2) << "the median over three users";
  EXPECT_THAT(needs.from, HasSubstr("3 other users"));
}

TEST_F(ServerAdvisorTest, ADurationThatIsToldTooShortIsBelievedOnce) {
  Machine("1xH200");
  const auto job = [](const std::string& name, double told) {
    Submission asked = Command({"python3", name});
    asked.needs = Known(0.5, 4, 2);
    asked.needs->duration = Seconds(told);
    return asked;
  };
  const auto believed = [&](const core::Account& user, const std::string& name, double told) {
    return advisor->NeedsOf(user, job(name, told)).duration.value().value;
  };
  EXPECT_DOUBLE_EQ(believed(ann, "first.py", 0.001), 0.001);
  advisor->LearnRun(Ran(job("first.py", 0.001), 500), {});
  EXPECT_DOUBLE_EQ(believed(ann, "second.py", 0.001), 500) << "as long as the one before took";
  EXPECT_THAT(advisor->NeedsOf(ann, job("second.py", 0.001)).from, HasSubstr("longer than told"));
  EXPECT_DOUBLE_EQ(believed(bob, "second.py", 60), 60) << "nobody else's are touched";
  Restart();
  EXPECT_DOUBLE_EQ(believed(ann, "second.py", 0.001), 500);
  // One that took longer than its user thought does not outweigh those that did not.
  for (const char* name : {"a", "b", "c"}) advisor->LearnRun(Ran(bob, job(name, 60), 50), {});
  advisor->LearnRun(Ran(bob, job("d", 60), 6000), {});
  EXPECT_DOUBLE_EQ(believed(bob, "e", 60), 60) << "and is never believed to take less than told";
}

TEST(RunMemory, B5_TheUserWithMostLosesTheirOldest) {
  RunMemory memory(100);
  core::Profile seen;
  seen.busy = 0.5;
  for (int i = 0; i < 20; ++i)
    memory.Add("bob", DigestOf(std::to_string(i)), i, seen, {Seconds(1), {}});
  for (int i = 0; i < 1000; ++i)
    memory.Add("eve", DigestOf(std::to_string(i)), i, seen, {Seconds(1), {}});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(memory.NeedsOf("bob", DigestOf(std::to_string(i)))) << i;
  }
  EXPECT_FALSE(memory.NeedsOf("eve", DigestOf("100")));
  EXPECT_TRUE(memory.NeedsOf("eve", DigestOf("999")));
}

TEST(RunMemory, IsBoundedAndForgetsWhatWasNotMetForLongest) {
  RunMemory memory(100);
  core::Profile seen;
  seen.busy = 0.5;
  for (int i = 0; i < 1000; ++i)
    memory.Add("ann", DigestOf(std::to_string(i)), i, seen, {Seconds(1), {}});
  EXPECT_FALSE(memory.NeedsOf("ann", DigestOf("5")));
  EXPECT_TRUE(memory.NeedsOf("ann", DigestOf("999")));
  EXPECT_EQ(DigestFrom(TextOf(DigestOf("x"))), DigestOf("x"));
  EXPECT_FALSE(DigestFrom("x"));
  EXPECT_FALSE(DigestFrom(std::string(32, '-')));
}

TEST_F(ServerAdvisorTest, U3_AFigureThatNobodySawIsNotStored) {
  Machine("1xH200");
  Submission job = Command({"sleep", "60"});
  job.needs = Known(0.3, 10, 2);
  job.needs->profile.steps_per_second = 20.4;
  core::Profile seen;
  seen.cpu_cores = 0.1;
  for (int i = 0; i < 2; ++i) advisor->LearnRun(Ran(job, 60), seen);
  ASSERT_THAT(profiles.all, SizeIs(1));
  EXPECT_FALSE(profiles.all[0].profile.steps_per_second);
  EXPECT_EQ(profiles.all[0].throughput_source, "none");
  EXPECT_EQ(profiles.all[0].window, Seconds(120)) << "of two runs";
  EXPECT_EQ(profiles.all[0].repeats, 2);
  const Needs needs = advisor->NeedsOf(ann, job);
  EXPECT_EQ(needs.profile.steps_per_second, 20.4) << "still the prediction";
  EXPECT_EQ(needs.sources.pace, Source::kPredicted);
}

TEST_F(ServerAdvisorTest, U3_ARateThatRunsWereSeenToHaveStandsBeforeAPrediction) {
  Machine("1xH200");
  Submission job = Command({"python", "train.py"});
  job.needs = Known(0.3, 10, 2);
  job.needs->profile.steps_per_second = 25.6;
  core::Profile seen;  // of a GPU that tells no busy share
  seen.steps_per_second = 19;
  JobRecord ran = Ran(job, 80);
  ran.alone = core::SeenRate{19, Seconds(40)};
  advisor->LearnRun(ran, seen);
  ASSERT_THAT(profiles.all, SizeIs(1));
  EXPECT_EQ(profiles.all[0].window, Seconds(40)) << "for so long its rate was seen";
  for (int i = 0; i < 2; ++i, Restart()) {
    const Needs needs = advisor->NeedsOf(ann, job);
    EXPECT_EQ(needs.profile.steps_per_second, 19);
    EXPECT_EQ(needs.sources.pace, Source::kObserved);
    EXPECT_EQ(needs.sources.busy, Source::kPredicted);
  }
  // An older version kept predictions as if they had been seen, and did not say for how long.
  profiles.all[0].window = {};
  Restart();
  EXPECT_EQ(advisor->NeedsOf(ann, job).profile.steps_per_second, 25.6);
  EXPECT_EQ(advisor->NeedsOf(ann, job).sources.pace, Source::kPredicted);
  Submission named = Command({"true"});
  named.profile = "python train.py";
  EXPECT_FALSE(advisor->NeedsOf(ann, named).profile.steps_per_second);
}

TEST_F(ServerAdvisorTest, U3_TwoModelsBehindOneCommandAreTwoWorkloads) {
  Machine("1xH200");
  Submission small = Command({"python", "train.py"}), large = small;
  small.needs = large.needs = Known(0.3, 10, 2);
  small.needs->graph = "aa";
  large.needs->graph = "bb";
  advisor->LearnRun(Ran(small, 100), Known(0.1, 2, 1).profile);
  EXPECT_EQ(advisor->NeedsOf(ann, small).sources.busy, Source::kObserved);
  EXPECT_EQ(advisor->NeedsOf(ann, large).sources.busy, Source::kPredicted);
  advisor->LearnRun(Ran(large, 100), Known(0.9, 50, 4).profile);
  EXPECT_THAT(profiles.all, SizeIs(2));
  Restart();
  EXPECT_EQ(advisor->NeedsOf(ann, small).profile.gpu_memory, GiB(2));
  EXPECT_EQ(advisor->NeedsOf(ann, large).profile.gpu_memory, GiB(50));
}

}  // namespace
}  // namespace sharewell::server
