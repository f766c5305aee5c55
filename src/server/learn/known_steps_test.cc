#include "server/learn/known_steps.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::server {
namespace {

using core::GiB;
using core::Seconds;
using core::Source;
using testing::HasSubstr;

core::Told Step(const std::string& workload, const std::string& model = "m") {
  core::Told told;
  told.fingerprint = workload;
  told.model_fingerprint = model;
  return told;
}
core::Profile Seen(double busy, double gib) {
  core::Profile seen;
  seen.gpu = "H200";
  seen.busy = busy;
  seen.gpu_memory = GiB(gib);
  seen.steps_per_second = 12;
  return seen;
}
core::Submission Train(const std::string& lr, const std::string& script = "s") {
  core::Submission asked;
  asked.command = {"python3", "train.py", "--lr", lr};
  asked.folder = "/home/ann";
  asked.script = script;
  return asked;
}

class KnownStepsTest : public testing::Test {
 protected:
  void Ran(const std::string& user, const core::Submission& asked, const core::Told& told,
           const core::Profile& seen) {
    known.Meet(user, LabelsOf(asked), told);
    known.Learn(user, told, ++jobs, seen, {Seconds(100), Seconds(60)});
  }
  std::optional<core::Needs> OfScript(const core::Submission& asked) const {
    return known.NeedsOfScript("ann", *LabelsOf(asked).script);
  }
  KnownSteps known{20};
  std::int64_t jobs = 0;
};

TEST_F(KnownStepsTest, RunsOfTheSameStepAreOneWorkloadWhateverTheirCommands) {
  Ran("ann", Train("0.1"), Step("w"), Seen(0.4, 10));
  Ran("ann", Train("0.2"), Step("w"), Seen(0.6, 12));
  const auto needs = known.NeedsOf("ann", Step("w"));
  ASSERT_TRUE(needs);
  EXPECT_EQ(needs->sources.busy, Source::kObserved);
  EXPECT_DOUBLE_EQ(*needs->profile.busy, 0.5);
  EXPECT_GT(needs->gpu_memory_upper->value, GiB(12).value);
  EXPECT_THAT(needs->from, HasSubstr("2 runs of the same"));
  EXPECT_THAT(needs->from, HasSubstr("operators"));
  EXPECT_FALSE(known.NeedsOf("ann", Step("other")));
  EXPECT_FALSE(known.NeedsOf("bob", Step("w")));
  EXPECT_FALSE(known.NeedsOf("ann", core::Told()));
}

TEST_F(KnownStepsTest, TheSameScriptIsAGuessWithWiderBounds) {
  EXPECT_FALSE(OfScript(Train("0.1")));
  Ran("ann", Train("0.1"), Step("w"), Seen(0.4, 10));
  const auto needs = OfScript(Train("0.7"));
  ASSERT_TRUE(needs);
  EXPECT_EQ(needs->sources.busy, Source::kPredicted);
  EXPECT_EQ(needs->sources.pace, Source::kAssumed);
  EXPECT_FALSE(needs->profile.steps_per_second);
  EXPECT_DOUBLE_EQ(*needs->profile.busy, 0.4);
  EXPECT_NEAR(needs->gpu_memory_upper->value, GiB(10).value * 1.13 * 1.5, 1e6);
  EXPECT_THAT(needs->from, HasSubstr("the same script"));
  // Another folder, text or user: not the same.
  core::Submission elsewhere = Train("0.7");
  elsewhere.folder = "/home/ann/other";
  EXPECT_FALSE(OfScript(elsewhere));
  EXPECT_FALSE(OfScript(Train("0.7", "edited")));
  EXPECT_FALSE(known.NeedsOfScript("bob", *LabelsOf(Train("0.7")).script));
  EXPECT_FALSE(LabelsOf(Train("0.7", "")).script);
}

TEST_F(KnownStepsTest, OfSeveralStepsOfAScriptTheLastCountsAndTheirMostBounds) {
  Ran("ann", Train("0.1"), Step("large"), Seen(0.9, 40));
  Ran("ann", Train("0.1"), Step("small"), Seen(0.2, 4));
  const auto needs = OfScript(Train("0.2"));
  ASSERT_TRUE(needs);
  EXPECT_DOUBLE_EQ(*needs->profile.busy, 0.2);
  EXPECT_NEAR(needs->gpu_memory_upper->value, GiB(40).value * 1.13 * 1.5, 1e6);
}

TEST_F(KnownStepsTest, WhatWasOnlyPredictedOfAScriptsStepIsKnownToo) {
  core::Told told = Step("w");
  told.predicted.emplace().profile.busy = 0.3;
  told.predicted->sources = core::Sources::All(Source::kPredicted);
  known.Meet("ann", LabelsOf(Train("0.1")), told);
  const auto needs = OfScript(Train("0.2"));
  ASSERT_TRUE(needs);
  EXPECT_EQ(needs->profile.busy, 0.3);
}

TEST_F(KnownStepsTest, ACommandWhoseScriptWasEditedRunsAnotherStep) {
  const auto command = LabelsOf(Train("0.1")).command;
  EXPECT_FALSE(known.IsAnother("ann", command, Step("w")));
  known.Meet("ann", LabelsOf(Train("0.1")), Step("w"));
  EXPECT_FALSE(known.IsAnother("ann", command, Step("w")));
  EXPECT_TRUE(known.IsAnother("ann", command, Step("v")));
}

TEST_F(KnownStepsTest, AnotherBatchOfTheModelErrsAsTheFirstDid) {
  core::Told told = Step("w", "resnet");
  told.predicted.emplace().profile.busy = 0.2;
  told.predicted->profile.gpu_memory = GiB(5);
  Ran("ann", Train("0.1"), told, Seen(0.4, 10));
  core::Needs other;
  other.profile.busy = 0.3;
  other.profile.gpu_memory = GiB(8);
  EXPECT_FALSE(known.CorrectByModel("ann", Step("v", "vit"), other));
  EXPECT_FALSE(known.CorrectByModel("bob", Step("v", "resnet"), other));
  ASSERT_TRUE(known.CorrectByModel("ann", Step("v", "resnet"), other));
  EXPECT_NEAR(*other.profile.busy, 0.6, 1e-9);
  EXPECT_NEAR(other.profile.gpu_memory->value, GiB(16).value, 1);
  EXPECT_THAT(other.from, HasSubstr("the same model"));
}

TEST_F(KnownStepsTest, OthersRunsCountWhereTwoAgree) {
  Ran("bob", Train("0.1"), Step("w"), Seen(0.4, 10));
  EXPECT_FALSE(known.OthersNeeds("ann", Step("w")));
  Ran("cal", Train("0.1"), Step("w"), Seen(0.6, 20));
  const auto needs = known.OthersNeeds("ann", Step("w"));
  ASSERT_TRUE(needs);
  EXPECT_DOUBLE_EQ(*needs->profile.busy, 0.5);
  EXPECT_DOUBLE_EQ(needs->profile.gpu_memory->value, GiB(20).value);
  known.Forget("cal");
  EXPECT_FALSE(known.OthersNeeds("ann", Step("w")));
}

TEST_F(KnownStepsTest, AFloodOfOneUserMakesNobodyElseForgotten) {
  Ran("ann", Train("0.1"), Step("w"), Seen(0.4, 10));
  for (int i = 0; i < 500; ++i) {
    Ran("eve", Train(std::to_string(i), fmt::format("s{}", i)), Step(fmt::format("e{}", i)),
        Seen(0.9, 1));
  }
  EXPECT_TRUE(known.NeedsOf("ann", Step("w")));
  EXPECT_TRUE(OfScript(Train("0.2")));
  EXPECT_TRUE(known.NeedsOf("eve", Step("e499")));
}

}  // namespace
}  // namespace sharewell::server
