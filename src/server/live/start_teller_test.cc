#include "server/live/start_teller.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace sharewell::server {
namespace {

struct StartsQueue : engine::ForeignQueue {
  void Expect(std::int64_t) override {}
  void CancelWaiting(std::int64_t) override {}
  std::string Problem() override { return {}; }
  void ShowStarts(const std::map<std::int64_t, core::UnixMillis>& starts) override {
    shown = starts.at(7);
  }
  std::atomic<core::UnixMillis> shown = 0;
};

TEST(StartTeller, TellsAgainAndAgainAndNothingOfAFailure) {
  StartsQueue queue;
  std::atomic<int> asked = 0;
  {
    const StartTeller teller(
        queue,
        [&]() -> core::Result<api::Starts> {
          if (++asked > 2) return core::FailedError("the store is gone");
          return api::Starts{{7, 1000 + asked}};
        },
        core::Seconds(0.001));
    while (asked < 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(queue.shown, 1002);
}

}  // namespace
}  // namespace sharewell::server
