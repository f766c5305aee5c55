#include "api/expected_starts.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

namespace sharewell::api {
namespace {

using ::testing::Optional;

class ExpectedStartsTest : public ::testing::Test {
 protected:
  // Every forecast says that job 1 starts at its own count.
  ExpectedStarts::Find Counting() {
    return [this]() -> core::Result<Starts> {
      const int count = ++found_;
      std::this_thread::sleep_for(takes_);
      return Starts{{1, count}};
    };
  }
  void Happens() { events_.Publish({++last_, 0, "job.submitted", 1, ""}); }
  // What is known of job 1 once it says so.
  static std::optional<core::UnixMillis> Ask(ExpectedStarts& starts) {
    std::promise<void> known;
    starts.WhenKnown([&] { known.set_value(); });
    known.get_future().wait();
    return starts.Of(1);
  }

  control::EventHub events_;
  std::int64_t last_ = 0;
  std::atomic<int> found_ = 0;
  std::chrono::milliseconds takes_{0};
};

TEST_F(ExpectedStartsTest, IsFoundWhenAskedForAndTheQueueChanged) {
  ExpectedStarts starts(events_, Counting());
  EXPECT_EQ(starts.Of(1), std::nullopt);
  EXPECT_EQ(found_, 0);  // nobody asked
  EXPECT_THAT(Ask(starts), Optional(1));
  EXPECT_THAT(Ask(starts), Optional(1));
  EXPECT_EQ(starts.Of(2), std::nullopt);
  Happens();
  EXPECT_THAT(starts.Of(1), Optional(1));
  EXPECT_THAT(Ask(starts), Optional(2));
}

TEST_F(ExpectedStartsTest, AQueueThatStandsStillIsPlayedAgainAfterAWhile) {
  ExpectedStarts starts(events_, Counting(), {.fresh = core::Seconds(0)});
  EXPECT_THAT(Ask(starts), Optional(1));
  EXPECT_THAT(Ask(starts), Optional(2));
}

TEST_F(ExpectedStartsTest, WhatIsOldIsNotTold) {
  ExpectedStarts starts(events_, Counting(), {.oldest = core::Seconds(0)});
  EXPECT_EQ(Ask(starts), std::nullopt);
}

TEST_F(ExpectedStartsTest, ASlowOneRestsAndKeepsNobody) {
  takes_ = std::chrono::milliseconds(20);
  ExpectedStarts starts(events_, Counting(), {.rest = 1e6, .patience = core::Seconds(0.001)});
  EXPECT_THAT(Ask(starts), Optional(1));  // how long it takes is not known yet
  for (int i = 0; i < 100; ++i) {
    Happens();
    EXPECT_THAT(Ask(starts), Optional(1));
  }
  EXPECT_EQ(found_, 1);
}

TEST_F(ExpectedStartsTest, ManyWhoAskTogetherShareOne) {
  takes_ = std::chrono::milliseconds(50);
  ExpectedStarts starts(events_, Counting());
  std::atomic<int> told = 0;
  for (int i = 0; i < 50; ++i) starts.WhenKnown([&] { ++told; });
  EXPECT_THAT(Ask(starts), Optional(1));
  EXPECT_EQ(told, 50);
  EXPECT_EQ(found_, 1);
}

TEST_F(ExpectedStartsTest, NobodyWhoCouldTell) {
  ExpectedStarts none(events_, {});
  EXPECT_EQ(Ask(none), std::nullopt);
  ExpectedStarts fails(events_, [] { return core::FailedError("the store is gone"); });
  EXPECT_EQ(Ask(fails), std::nullopt);
  ExpectedStarts throws(events_, []() -> core::Result<Starts> { throw std::runtime_error("no"); });
  EXPECT_EQ(Ask(throws), std::nullopt);
  // Whoever asks too late does not keep it from going.
  ExpectedStarts stopped(events_, Counting());
  stopped.Stop();
  stopped.WhenKnown([] {});
}

}  // namespace
}  // namespace sharewell::api
