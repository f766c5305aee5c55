#include "interference/learnt_pairs.h"

#include <gmock/gmock.h>

namespace sharewell::interference {
namespace {

using core::GpuModelId;
using core::WorkloadId;
using testing::Eq;
using testing::Optional;

LearntPairs::Pair PairOf(std::uint32_t self, std::uint32_t other, std::uint32_t model = 0,
                         int own = 100, int others = 100) {
  return {GpuModelId{model}, WorkloadId{self}, WorkloadId{other}, own, others};
}

TEST(LearntPairs, AnswersForTheVeryPairAlone) {
  LearntPairs learnt;
  EXPECT_TRUE(learnt.empty());
  EXPECT_FALSE(learnt.Speed(PairOf(1, 2)));
  learnt.Learn(PairOf(1, 2), 0.5);
  EXPECT_THAT(learnt.Speed(PairOf(1, 2)), Optional(Eq(0.5)));
  for (const auto& other : {PairOf(2, 1), PairOf(1, 1), PairOf(1, 2, 1), PairOf(1, 2, 0, 50),
                            PairOf(1, 2, 0, 100, 50)}) {
    EXPECT_FALSE(learnt.Speed(other));
  }
}

TEST(LearntPairs, TheLastCounts) {
  LearntPairs learnt;
  learnt.Learn(PairOf(1, 2), 0.5);
  learnt.Learn(PairOf(1, 2), 0.7);
  EXPECT_THAT(learnt.Speed(PairOf(1, 2)), Optional(Eq(0.7)));
}

TEST(LearntPairs, ThousandsAreKept) {
  LearntPairs learnt;
  const auto speed = [](std::uint32_t i, std::uint32_t j) { return 0.1 + 0.001 * (i * 40 + j); };
  for (std::uint32_t i = 0; i < 40; ++i) {
    for (std::uint32_t j = 0; j < 40; ++j) {
      learnt.Learn(PairOf(i, j, j % 3, 10 + static_cast<int>(i)), speed(i, j));
    }
  }
  for (std::uint32_t i = 0; i < 40; ++i) {
    for (std::uint32_t j = 0; j < 40; ++j) {
      ASSERT_THAT(learnt.Speed(PairOf(i, j, j % 3, 10 + static_cast<int>(i))),
                  Optional(Eq(speed(i, j))));
      ASSERT_FALSE(learnt.Speed(PairOf(i, j, 3, 10 + static_cast<int>(i))));
    }
  }
}

}  // namespace
}  // namespace sharewell::interference
