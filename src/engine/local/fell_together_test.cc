#include "engine/local/fell_together.h"

#include <gmock/gmock.h>

#include <random>

namespace sharewell::engine {
namespace {

using Part = Fall::Part;
using testing::ElementsAre;

std::vector<RunId> Others(const std::optional<Fall>& fall) {
  return fall ? fall->with : std::vector<RunId>();
}

TEST(FellTogether, ThoseOfOneDaemonWithinAMoment) {
  const auto falls = FellTogether({{{1, 1}, "a", 10'000},
                                   {{2, 1}, "a", 10'400},
                                   {{3, 2}, "b", 10'100},
                                   {{4, 1}, "a", 9'000},
                                   {{5, 1}, "a", 14'001},
                                   {{6, 1}, "a", 60'000}});
  EXPECT_THAT(Others(falls[0]), ElementsAre(RunId{2, 1}, RunId{4, 1}));
  EXPECT_THAT(Others(falls[1]), ElementsAre(RunId{1, 1}, RunId{4, 1}));
  EXPECT_FALSE(falls[2]) << "another daemon's";
  EXPECT_THAT(Others(falls[3]), ElementsAre(RunId{1, 1}, RunId{2, 1}));
  EXPECT_FALSE(falls[4]) << "5.001 s after the first";
  EXPECT_FALSE(falls[5]);
  EXPECT_EQ(falls[0]->part, Part::kUnknown);
  EXPECT_TRUE(FellTogether({}).empty());
}

TEST(FellTogether, WhomTheDriverNamesIsTheCulprit) {
  const auto falls = FellTogether({{{1, 1}, "a", 0},
                                   {{2, 1}, "a", 10, true},
                                   {{3, 1}, "a", 20},
                                   {{4, 1}, "b", 0},
                                   {{5, 1}, "b", 0}});
  EXPECT_EQ(falls[0]->part, Part::kInnocent);
  EXPECT_EQ(falls[1]->part, Part::kCulprit);
  EXPECT_EQ(falls[2]->culprit, (RunId{2, 1}));
  EXPECT_EQ(falls[2]->part, Part::kInnocent);
  EXPECT_EQ(falls[3]->part, Part::kUnknown) << "of another fault nothing is known";
  EXPECT_FALSE(FellTogether({{{1, 1}, "a", 0, true}})[0]) << "alone it is its own failure";
}

TEST(FellTogether, TheOnlyStrangerIsTheCulprit) {
  const auto falls = FellTogether({{{1, 1}, "a", 0},
                                   {{2, 1}, "a", 10, false, true},
                                   {{3, 1}, "b", 0, true},
                                   {{4, 1}, "b", 10, false, true},
                                   {{5, 1}, "c", 0, false, true},
                                   {{6, 1}, "c", 10, false, true},
                                   {{7, 1}, "c", 10}});
  EXPECT_EQ(falls[0]->part, Part::kInnocent);
  EXPECT_EQ(falls[0]->culprit, (RunId{2, 1}));
  EXPECT_EQ(falls[1]->part, Part::kCulprit);
  EXPECT_EQ(falls[2]->part, Part::kInnocent) << "the driver names the oldest client";
  EXPECT_EQ(falls[3]->part, Part::kCulprit);
  for (std::size_t i : {4, 5, 6}) EXPECT_EQ(falls[i]->part, Part::kUnknown) << "there are two";
  EXPECT_FALSE(FellTogether({{{1, 1}, "a", 0, false, true}})[0]);
}

// Whatever order they are heard in, each names all the others and itself never.
TEST(FellTogether, TheOrderDoesNotMatter) {
  std::mt19937 chance(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<MpsEnd> ends;
    for (int i = 0; i < 12; ++i) {
      ends.push_back({{i, 1}, chance() % 2 == 0 ? "a" : "b", static_cast<int>(chance() % 30'000)});
    }
    const auto falls = FellTogether(ends);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      for (const RunId& other : Others(falls[i])) {
        EXPECT_NE(other, ends[i].id);
        const auto back = Others(falls[static_cast<std::size_t>(other.job)]);
        EXPECT_NE(std::find(back.begin(), back.end(), ends[i].id), back.end());
      }
    }
    auto other_way = ends;
    std::reverse(other_way.begin(), other_way.end());
    auto again = FellTogether(other_way);
    std::reverse(again.begin(), again.end());
    EXPECT_EQ(again, falls);
  }
}

TEST(FellTogether, WhatHasAReasonOfItsOwnIsNoFall) {
  RunEnd failed;
  failed.exit_code = 1;
  EXPECT_TRUE(MayBeAFall(failed));
  RunEnd aborted = failed;
  aborted.exit_code = 134;
  aborted.signal = 6;
  EXPECT_TRUE(MayBeAFall(aborted));
  EXPECT_FALSE(MayBeAFall({}));
  for (const auto field : {&RunEnd::stopped, &RunEnd::timed_out, &RunEnd::lost, &RunEnd::refused,
                           &RunEnd::out_of_memory}) {
    RunEnd end = failed;
    end.*field = true;
    EXPECT_FALSE(MayBeAFall(end));
  }
  RunEnd killed = failed;
  killed.signal = 9;
  EXPECT_FALSE(MayBeAFall(killed));
  for (const int code : {126, 127}) {
    RunEnd never = failed;
    never.exit_code = code;
    EXPECT_FALSE(MayBeAFall(never));
  }
}

}  // namespace
}  // namespace sharewell::engine
