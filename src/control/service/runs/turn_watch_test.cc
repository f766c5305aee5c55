#include "control/service/runs/turn_watch.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sharewell::control {
namespace {

class HandClock final : public Clock {
 public:
  std::chrono::nanoseconds Steady() override { return now; }
  core::UnixMillis Wall() override { return 0; }

  std::chrono::nanoseconds now{0};
};

TEST(TurnWatch, SaysForHowLongATurnIsUnderWay) {
  HandClock clock;
  TurnWatch turns(clock);
  EXPECT_FALSE(turns.BusyFor());
  clock.now = std::chrono::seconds(5);
  turns.SetBusy(true);
  clock.now = std::chrono::seconds(17);
  EXPECT_EQ(turns.BusyFor(), core::Seconds(12));
  turns.SetBusy(false);
  EXPECT_FALSE(turns.BusyFor()) << "it waits for something to happen";
}

TEST(TurnWatch, WaitingIsNotInATurnAndOldTurnsAreForgotten) {
  HandClock clock;
  TurnWatch turns(clock);
  EXPECT_EQ(turns.P99(), core::Seconds(0));
  // Decided at 100 s, half a second after it was heard of; done at 101 s.
  turns.OnDecision(core::Seconds(100), core::Seconds(0.5));
  turns.OnTurn(core::Seconds(101), core::Seconds(0.25));
  EXPECT_EQ(turns.decided(), 1);
  EXPECT_DOUBLE_EQ(turns.P99().value, 1.75);
  for (int i = 0; i < 1000; ++i) {
    turns.OnDecision(core::Seconds(200), core::Seconds(0));
    turns.OnTurn(core::Seconds(200.5), core::Seconds(0));
  }
  EXPECT_EQ(turns.decided(), 1001);
  EXPECT_DOUBLE_EQ(turns.P99().value, 0.5);
}

}  // namespace
}  // namespace sharewell::control
