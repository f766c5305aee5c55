#include "control/service/jobs/waiting_room.h"

#include <gmock/gmock.h>

#include "control/service/test_parts.h"

namespace sharewell::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WaitingRoomTest : public ::testing::Test {
 protected:
  LiveJob& Enter(std::int64_t number) {
    core::JobRecord record;
    record.number = number;
    record.user = kAnn;
    room_.Enter(number);
    return live_.Add(std::move(record));
  }

  core::Limits limits_ = {.running_jobs = 1};
  LiveJobs live_;
  WaitingRoom room_{[this](const core::Account&) { return limits_; }, live_};
};

TEST_F(WaitingRoomTest, WhoWaitedForTheirTurnGoesBeforeWhoComesNow) {
  LiveJob& first = Enter(1);
  const LiveJob& second = Enter(2);
  EXPECT_THAT(room_.TakeNext(), ElementsAre(1, 2));
  EXPECT_THAT(room_.Ask(first.record), IsEmpty());
  live_.GiveId(first);
  EXPECT_NE(room_.Ask(second.record), "") << "one runs already";
  EXPECT_THAT(room_.TakeNext(), IsEmpty());
  live_.TakeId(first);
  Enter(3);
  EXPECT_THAT(room_.TakeNext(), ElementsAre(2, 3));
  EXPECT_THAT(room_.TakeNext(), IsEmpty()) << "they are not here any more";
}

TEST_F(WaitingRoomTest, WhoLeavesIsNotLetInWhereverItWaited) {
  LiveJob& first = Enter(1);
  const LiveJob& second = Enter(2);
  Enter(3);
  room_.Leave(3);
  room_.Leave(4);  // it was never here
  EXPECT_THAT(room_.TakeNext(), ElementsAre(1, 2));
  live_.GiveId(first);
  EXPECT_NE(room_.Ask(second.record), "");
  room_.Leave(2);
  live_.TakeId(first);
  EXPECT_THAT(room_.TakeNext(), IsEmpty());
}

}  // namespace
}  // namespace sharewell::control
