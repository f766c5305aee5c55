// What the server believes of jobs that told of their steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/live/advisor.h"
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
using testing::HasSubstr;

class AdvisorToldTest : public testing::Test {
 protected:
  AdvisorToldTest() {
    machine = *MachineOf({"box", 16, GiB(128)}, "2xH200", {}, catalogue);
    Restart();
  }
  void Restart() {
    AdvisorOptions options;
    options.learn = [this](store::KeptRun run) { taught.push_back(std::move(run)); };
    auto made = ServerAdvisor::New(machine.cluster, catalogue, profiles, jobs, options);
    ASSERT_TRUE(made) << made.error().message;
    advisor = *std::move(made);
  }
  static Submission Train(const std::string& lr, const std::string& script = "abc") {
    Submission job;
    job.command = {"python3", "train.py", "--lr", lr};
    job.folder = "/home/ann";
    job.script = script;
    return job;
  }
  static core::Told Step(const std::string& workload, double busy, double gib) {
    core::Told told;
    told.fingerprint = workload;
    told.model_fingerprint = "model";
    Needs& needs = told.predicted.emplace();
    needs.sources = core::Sources::All(Source::kPredicted);
    needs.from = "the step that it told";
    needs.graph = "g";
    needs.profile.workload = {"ResNet", 64, "bf16", 4};
    needs.profile.gpu = "H200";
    needs.profile.busy = busy;
    needs.profile.gpu_memory = GiB(gib);
    return told;
  }
  JobRecord Starts(const core::Account& user, const Submission& asked) {
    JobRecord record;
    record.number = ++last;
    record.user = user;
    record.asked = asked;
    record.believed = advisor->NeedsOf(user, asked);
    record.gpus = {{0, "GPU-a", "H200"}};
    record.cores = 8;
    return record;
  }
  Needs Tells(JobRecord& record, const core::Told& told) {
    record.told = told;
    record.believed = advisor->NeedsTold(record);
    return record.believed;
  }
  void Ends(JobRecord record, double busy, double gib) {
    record.phase = core::Phase::kFinished;
    record.alone_time = record.run_time = Seconds(100);
    record.exit_code = 0;
    core::Profile seen;
    seen.gpu = "H200";
    seen.busy = busy;
    seen.gpu_memory = GiB(gib);
    seen.cpu_cores = 1;
    advisor->LearnRun(record, seen);
    jobs.finished.push_back(record);
  }

  const core::Account ann{"ann", 1000, 1000, false};
  const core::Account bob{"bob", 1001, 1001, false};
  const core::Account cal{"cal", 1002, 1002, false};
  catalogue::GpuCatalogue catalogue = catalogue::GpuCatalogue::Builtin();
  MemoryProfiles profiles;
  MemoryKnowledge jobs;
  MachineHere machine;
  std::unique_ptr<ServerAdvisor> advisor;
  std::vector<store::KeptRun> taught;
  std::int64_t last = 0;
};

TEST_F(AdvisorToldTest, TheFirstIsKnownByItsOperatorsAndTeaches) {
  JobRecord first = Starts(ann, Train("0.1"));
  EXPECT_EQ(first.believed.sources.busy, Source::kAssumed);
  const Needs needs = Tells(first, Step("w", 0.3, 5));
  EXPECT_EQ(needs.sources.busy, Source::kPredicted);
  EXPECT_EQ(needs.profile.busy, 0.3);
  EXPECT_THAT(needs.from, HasSubstr("the step that it told"));
  EXPECT_TRUE(advisor->EstimateOf(first).on.front().demand.known);
  Ends(first, 0.4, 6);
  ASSERT_EQ(taught.size(), 1U);  // as a run with --model does
  EXPECT_EQ(taught.front().graph, "g");
  EXPECT_EQ(taught.front().record.profile.workload.batch, 64);
}

TEST_F(AdvisorToldTest, TheNextElementOfASweepIsAGuessThatItsStepConfirms) {
  JobRecord first = Starts(ann, Train("0.1"));
  Tells(first, Step("w", 0.3, 5));
  Ends(first, 0.4, 6);
  JobRecord second = Starts(ann, Train("0.2"));
  EXPECT_EQ(second.believed.sources.busy, Source::kPredicted);
  EXPECT_EQ(second.believed.profile.busy, 0.4);
  EXPECT_THAT(second.believed.from, HasSubstr("the same script"));
  const core::Bytes wide = *second.believed.gpu_memory_upper;
  const Needs needs = Tells(second, Step("w", 0.3, 5));
  EXPECT_EQ(needs.sources.busy, Source::kObserved);
  EXPECT_EQ(needs.profile.busy, 0.4);
  EXPECT_LT(needs.gpu_memory_upper->value, wide.value);
  EXPECT_THAT(needs.from, HasSubstr("job 1"));
  EXPECT_THAT(needs.from, HasSubstr("operators"));
}

TEST_F(AdvisorToldTest, AnotherStepCorrectsTheGuess) {
  JobRecord first = Starts(ann, Train("0.1"));
  Tells(first, Step("w", 0.3, 5));
  Ends(first, 0.6, 10);
  JobRecord second = Starts(ann, Train("0.2"));
  EXPECT_EQ(second.believed.profile.busy, 0.6);
  // Another batch of the same model: predicted, with what the first was off by (twice as much).
  const Needs needs = Tells(second, Step("v", 0.4, 7));
  EXPECT_EQ(needs.sources.busy, Source::kPredicted);
  EXPECT_NEAR(*needs.profile.busy, 0.8, 1e-6);
  EXPECT_NEAR(needs.profile.gpu_memory->value, GiB(14).value, 10);
  EXPECT_THAT(needs.from, HasSubstr("the same model"));
}

TEST_F(AdvisorToldTest, AnEditedScriptIsNotWhatItsCommandWas) {
  JobRecord first = Starts(ann, Train("0.1"));
  Tells(first, Step("w", 0.3, 5));
  Ends(first, 0.4, 6);
  JobRecord again = Starts(ann, Train("0.1", "edited"));
  EXPECT_EQ(again.believed.sources.busy, Source::kObserved);  // the same command
  core::Told other = Step("v", 0.9, 50);
  other.model_fingerprint = "another";
  const Needs needs = Tells(again, other);
  EXPECT_EQ(needs.sources.busy, Source::kPredicted);
  EXPECT_EQ(needs.profile.busy, 0.9);
}

TEST_F(AdvisorToldTest, ItIsKnownOverARestart) {
  JobRecord first = Starts(ann, Train("0.1"));
  Tells(first, Step("w", 0.3, 5));
  Ends(first, 0.4, 6);
  Restart();
  JobRecord second = Starts(ann, Train("0.2"));
  EXPECT_EQ(second.believed.profile.busy, 0.4);
  EXPECT_EQ(Tells(second, Step("w", 0.3, 5)).sources.busy, Source::kObserved);
  advisor->Forget("ann");
  JobRecord third = Starts(ann, Train("0.3"));
  EXPECT_EQ(third.believed.sources.busy, Source::kAssumed);
}

TEST_F(AdvisorToldTest, OneOtherUserMayLieAndNeverLowersMemory) {
  JobRecord theirs = Starts(bob, Train("0.1"));
  Tells(theirs, Step("w", 0.3, 5));
  Ends(theirs, 0.01, 0.5);
  JobRecord mine = Starts(ann, Train("0.1"));
  EXPECT_EQ(Tells(mine, Step("w", 0.3, 5)).profile.busy, 0.3);
  theirs = Starts(cal, Train("0.1"));
  Tells(theirs, Step("w", 0.3, 5));
  Ends(theirs, 0.02, 0.5);
  mine = Starts(ann, Train("0.9"));
  const Needs needs = Tells(mine, Step("w", 0.3, 5));
  EXPECT_THAT(needs.from, HasSubstr("2 other users"));
  EXPECT_GE(needs.profile.gpu_memory->value, GiB(5).value);
}

}  // namespace
}  // namespace sharewell::server
