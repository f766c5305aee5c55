#include "core/job/submission.h"

#include <gtest/gtest.h>

#include "core/job/job_record.h"

namespace sharewell::core {
namespace {

Submission Of(std::vector<std::string> command) {
  Submission submission;
  submission.command = std::move(command);
  return submission;
}

TEST(Submission, IsShownByItsNameOrByItsFirstWords) {
  Submission named = Of({"python3", "train.py"});
  named.name = "resnet";
  EXPECT_EQ(DisplayName(named), "resnet");
  EXPECT_EQ(DisplayName(Of({"/usr/bin/python3", "src/train.py", "--lr", "1"})), "python3 train.py");
  EXPECT_EQ(DisplayName(Of({"sleep", "-h"})), "sleep");
  EXPECT_EQ(DisplayName(Of({"/bin/sh", "-c", "\n  python3 train.py \n --lr 1"})),
            "python3 train.py --lr 1");
  EXPECT_EQ(DisplayName(Of({"bash", "-ec", "make all"})), "make all");
  EXPECT_EQ(DisplayName(Of({"sh", "-c"})), "sh");
  EXPECT_EQ(DisplayName(Of({"sh", "--norc", "x"})), "sh");
  EXPECT_EQ(DisplayName(Of({"a\nb\xff"})), "a?b?");
  EXPECT_EQ(DisplayName(Of({std::string(1000, 'x')})).size(), 40U);
}

TEST(Submission, RunsOfTheSameThingHaveTheSameKey) {
  const Submission one = Of({"python3", "train.py", "--batch", "64"});
  Submission same = one;
  same.name = "again";
  same.priority = 3;
  EXPECT_EQ(WorkloadKey(one), WorkloadKey(same));
  Submission other = one;
  other.command.back() = "128";
  EXPECT_NE(WorkloadKey(one), WorkloadKey(other));
  EXPECT_NE(WorkloadKey(Of({"a b", "c"})), WorkloadKey(Of({"a", "b c"})));
  Submission elsewhere = one;
  elsewhere.folder = "/home/ann";
  EXPECT_NE(WorkloadKey(one), WorkloadKey(elsewhere));
  same.profile = other.profile = "resnet";
  EXPECT_EQ(WorkloadKey(same), WorkloadKey(other));
}

TEST(Submission, U3_ItsKeyHasTheModelThatItBrings) {
  Submission one = Of({"python3", "train.py"});
  one.folder = "/home/ann";
  EXPECT_EQ(WorkloadName(WorkloadKey(one)), "python3 train.py");
  Submission bert = one, batch = one, other = one;
  bert.needs.emplace().graph = "aa";
  bert.needs->profile.workload = {"bert", 32, "fp16", 4};
  batch.needs = other.needs = bert.needs;
  batch.needs->profile.workload.batch = 64;
  other.needs->graph = "bb";
  EXPECT_NE(WorkloadKey(one), WorkloadKey(bert));
  EXPECT_NE(WorkloadKey(bert), WorkloadKey(batch));
  EXPECT_NE(WorkloadKey(bert), WorkloadKey(other));
  EXPECT_EQ(WorkloadName(WorkloadKey(bert)), "python3 train.py (bert b32 fp16)");
  other = bert;
  other.needs->profile.busy = 0.7;
  other.needs->profile.workload.workers = 8;
  EXPECT_EQ(WorkloadKey(bert), WorkloadKey(other)) << "predictions change";
  other.profile = "mine";
  EXPECT_EQ(WorkloadName(WorkloadKey(other)), "mine");
}

TEST(JobRecord, U2_ARateAloneIsObservedOrUnknown) {
  JobRecord job;
  job.gpus = {{0, "GPU-a", "H200"}};
  job.believed.profile.gpu = "H200";
  job.believed.profile.steps_per_second = 25.6;
  for (const Source source : {Source::kAssumed, Source::kPredicted, Source::kTold}) {
    job.believed.sources = Sources::All(Source::kObserved);
    job.believed.sources.pace = source;
    EXPECT_FALSE(RateAlone(job)) << NameOf(source);
  }
  EXPECT_EQ(SlowerInWords(job), "") << "it has told nothing";
  job.steps_per_second = 19;
  EXPECT_EQ(SlowerInWords(job), "26 % slower than predicted");
  job.steps_per_second = 25;
  EXPECT_FALSE(SlowerThanPredicted(job)) << "within what predictions err by";
  job.steps_per_second = 19;
  job.gpus[0].model = "A100";
  EXPECT_FALSE(SlowerThanPredicted(job)) << "predicted for another GPU";
  job.gpus[0].model = "H200";
  job.believed.sources.pace = Source::kObserved;
  EXPECT_EQ(RateAlone(job), 25.6);
  EXPECT_EQ(SlowerInWords(job), "");
  job.alone = SeenRate{19.5, Seconds(20)};
  EXPECT_EQ(RateAlone(job), 19.5) << "its own before that of earlier runs";
}

TEST(Phase, HasANameAndIsFoundByIt) {
  for (int i = 0; i < 8; ++i) {
    const auto phase = static_cast<Phase>(i);
    EXPECT_EQ(PhaseNamed(NameOf(phase)), phase);
  }
  EXPECT_FALSE(PhaseNamed("asleep"));
  EXPECT_TRUE(IsOver(Phase::kCancelled));
  EXPECT_FALSE(IsOver(Phase::kStopping));
}

}  // namespace
}  // namespace sharewell::core
