#include "core/job/most_lose.h"

#include <gmock/gmock.h>

namespace sharewell::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(MostLose, B5_WhoHasMostGivesWay) {
  EXPECT_THAT(MostLose({{"ann", 3}, {"eve", 5}}, 8), IsEmpty());
  EXPECT_THAT(MostLose({{"ann", 3}, {"eve", 100}}, 10), ElementsAre(Pair("eve", 93)));
  EXPECT_THAT(MostLose({{"ann", 6}, {"bob", 1}, {"eve", 9}}, 9),
              ElementsAre(Pair("ann", 2), Pair("eve", 5)));
  EXPECT_THAT(MostLose({{"ann", 5}, {"eve", 5}}, 9), ElementsAre(Pair("eve", 1)));
  EXPECT_THAT(MostLose({{"ann", 1}, {"bob", 1}, {"cal", 1}}, 2), ElementsAre(Pair("cal", 1)));
  EXPECT_THAT(MostLose({{"ann", 2}}, 0), ElementsAre(Pair("ann", 2)));
  EXPECT_THAT(MostLose({}, 0), IsEmpty());
}

}  // namespace
}  // namespace sharewell::core
