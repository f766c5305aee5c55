#include "core/submission.h"

#include <gtest/gtest.h>

#include "core/job_record.h"

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
