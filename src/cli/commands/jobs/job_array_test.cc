#include "cli/commands/jobs/job_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(JobArray, MakesAGridOfCommands) {
  core::Submission one;
  one.command = {"train.py", "--lr={lr}", "{keep}", "awk {print}"};
  one.environment = {{"SEED", "{seed}"}, {"HOME", "/{seed}"}};
  const auto axes = ParseAxes({"lr=0.1,1e-3", "seed=3,5-6"});
  ASSERT_TRUE(axes) << axes.error().message;
  const auto jobs = Expand(one, *axes, {"SEED"}, "a1");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 6U);
  EXPECT_THAT((*jobs)[4].command, ElementsAre("train.py", "--lr=1e-3", "{keep}", "awk {print}"));
  EXPECT_EQ((*jobs)[4].environment[0].second, "5");
  EXPECT_EQ((*jobs)[4].environment[1].second, "/{seed}");  // the caller's own, not a template
  EXPECT_EQ((*jobs)[4].environment[2],
            std::pair(std::string("SHAREWELL_ARRAY_INDEX"), std::string("4")));
  EXPECT_EQ((*jobs)[4].name, "train.py lr=1e-3 seed=5");
  EXPECT_EQ((*jobs)[4].array, "a1_4");
}

TEST(JobArray, AnIndexNeedNotBeUsed) {
  core::Submission one;
  one.command = {"train.py"};
  one.name = "run-{index}";
  const auto jobs = Expand(one, *ParseAxes({"7-9"}), {}, "a");
  ASSERT_TRUE(jobs);
  EXPECT_EQ((*jobs)[2].name, "run-9");
  EXPECT_THAT(Expand(one, *ParseAxes({"lr=1,2"}), {}, "a").error().message,
              HasSubstr("nothing uses {lr}"));
}

TEST(JobArray, N15_SoManyAtOnce) {
  core::Submission one;
  one.command = {"train.py", "{lr}"};
  const auto jobs = Expand(one, *ParseAxes({"0-99%4", "lr=1,2"}), {}, "a");
  ASSERT_TRUE(jobs);
  EXPECT_EQ(jobs->size(), 200U);
  EXPECT_EQ((*jobs)[7].array_at_once, 4);
  const auto percentages = ParseAxes({"drop=5%,10%"});
  ASSERT_TRUE(percentages);
  EXPECT_THAT((*percentages)[0].values, ElementsAre("5%", "10%"));
  EXPECT_FALSE((*percentages)[0].at_once);
  EXPECT_EQ((*ParseAxes({"drop=5,10%2"}))[0].at_once, 2);
  EXPECT_THAT(ParseAxes({"0-9%2", "a=1,2%3"}).error().message, HasSubstr("given twice"));
}

TEST(JobArray, RefusesWhatIsNoGrid) {
  for (const char* bad : {"", "a", "9-0", "lr=", "l r=1", "=1", "0-10000", "1,b", "-1", "0-9%0",
                          "0-9%", "0-9%x", "%4"}) {
    const auto axes = ParseAxes({bad});
    ASSERT_FALSE(axes) << bad;
    EXPECT_EQ(axes.error().kind, core::ErrorKind::kUsage) << bad;
  }
  EXPECT_THAT(ParseAxes({"0-99", "a=0-100"}).error().message, HasSubstr("10000 jobs"));
  EXPECT_TRUE(ParseAxes({"0-99", "a=0-99"}));
  EXPECT_THAT(ParseAxes({"a=1", "a=2"}).error().message, HasSubstr("twice"));
}

}  // namespace
}  // namespace sharewell::cli
