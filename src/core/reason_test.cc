#include "core/reason.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sharewell::core {
namespace {

using ::testing::HasSubstr;

// One of each kind, in the variant's order, with the figures that it has by default.
template <std::size_t... Kinds>
std::vector<Reason> OneOfEach(std::index_sequence<Kinds...>) {
  return {Reason(std::in_place_index<Kinds>)...};
}
std::vector<Reason> OneOfEach() {
  return OneOfEach(std::make_index_sequence<std::variant_size_v<Reason>>());
}

TEST(InWords, EveryReasonHasItsOwnWords) {
  std::set<std::string> all;
  for (const Reason& reason : OneOfEach()) {
    const std::string words = InWords(reason, "job 7");
    EXPECT_FALSE(words.empty()) << "kind " << reason.index();
    EXPECT_TRUE(all.insert(words).second) << "said twice: " << words;
  }
}

TEST(OtherJob, IsFoundWhereAKindNamesOne) {
  int named = 0;
  for (Reason reason : OneOfEach()) {
    EXPECT_FALSE(OtherJob(reason).valid()) << "kind " << reason.index();
    JobId* job = OtherJobIn(reason);
    if (job == nullptr) continue;
    ++named;
    *job = JobId(3);
    EXPECT_EQ(OtherJob(reason), JobId(3)) << "kind " << reason.index();
  }
  EXPECT_EQ(named, 14);
  EXPECT_EQ(OtherJob(reason::NoMemory{GiB(2), GiB(1), GpuId(3)}), JobId()) << "that is a GPU";
}

TEST(InWords, FiguresAndTheOtherJobAreSaid) {
  EXPECT_THAT(InWords(reason::FirstFit{{}, 0.93}, ""), HasSubstr("93 %"));
  const std::string words = InWords(reason::GoodNeighbour{JobId(3), 0.9, 0.8}, "bert");
  EXPECT_THAT(words, HasSubstr("bert"));
  EXPECT_THAT(words, HasSubstr("90 %"));
  EXPECT_THAT(words, HasSubstr("80 %"));
  EXPECT_THAT(InWords(reason::HeldBack{JobId(3)}, "gang"), HasSubstr("gang"));
  EXPECT_THAT(InWords(reason::BetterModel{1.5}, ""), HasSubstr("1.50x"));
}

TEST(InWords, N3_WhatIsShortIsSaidInFiguresAndWhoHasIt) {
  EXPECT_EQ(InWords(reason::NoCores{4, 1, {}}, "job 3 of alice has 6, job 5 of bob has 1"),
            "needs 4 CPU cores; 1 is free: job 3 of alice has 6, job 5 of bob has 1");
  EXPECT_EQ(InWords(reason::NoCores{1, 0.5, {}}, ""), "needs 1 CPU core; 0.5 are free");
  EXPECT_EQ(InWords(reason::NoHostMemory{GiB(64), GiB(12), {}}, "job 3 of ann has 40.0 GiB"),
            "no node has 64.0 GiB of host memory free; the most is 12.0 GiB: job 3 of ann has "
            "40.0 GiB");
  EXPECT_EQ(
      InWords(reason::NoMemory{GiB(40), GiB(21), {}}, "GPU 1 has job 3 of alice"),
      "may need 40.0 GiB of GPU memory; at most 21.0 GiB is free beside others: GPU 1 has job "
      "3 of alice");
  EXPECT_EQ(InWords(reason::NoIdleGpu{1, 0}, ""),
            "needs an idle GPU, and none is idle where it may run");
  EXPECT_EQ(InWords(reason::NoIdleGpu{4, 1}, ""), "needs 4 idle GPUs; 1 is idle where it may run");
  EXPECT_EQ(InWords(reason::NoIdleGpu{4, 5}, ""),
            "needs 4 idle GPUs together; 5 are idle, but not on one node");
}

TEST(InWords, AnEvictionSaysWhoseBoundWasBrokenAndHowItWasMeasured) {
  EXPECT_EQ(
      InWords(reason::Evicted{JobId(3), 1.67, 1.25, true}, "job 7 of bob"),
      "job 7 of bob beside it takes 1.67 times as long as alone (by its steps), and its bound "
      "is 1.25");
  EXPECT_EQ(InWords(reason::Evicted{JobId(3), 1.67, 1.25, false}, ""),
            "it takes 1.67 times as long as alone (by SM activity), and its bound is 1.25");
}

}  // namespace
}  // namespace sharewell::core
