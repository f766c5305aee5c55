// When the jobs that wait will start.
#include "simulation/replay/forecast.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>

#include "simulation/replay/test_records.h"

namespace sharewell::simulation {
namespace {

using core::Phase;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

struct Queue {
  std::vector<core::JobRecord> live;
  int gpus = 1;
  std::vector<core::GpuId> closed = {};
  std::optional<core::JobRecord> considered = {};
  ForecastOptions options = {.now = At(0), .policy = "slot"};

  ForecastResult Play() const {
    const auto result = Forecast(PointersTo(live), OneGpu(gpus), GivenGpus(gpus), closed, {},
                                 considered ? &*considered : nullptr, options);
    EXPECT_TRUE(result) << result.error().message;
    return result.value_or(ForecastResult());
  }
};

// Seconds from now; -1: not known.
std::vector<double> Starts(const ForecastResult& result) {
  std::vector<double> starts;
  for (const auto& job : result.jobs) {
    starts.push_back(job.start ? std::round(static_cast<double>(*job.start - At(0)) / 1e3) : -1);
  }
  return starts;
}

TEST(Forecast, OneAfterTheOther) {
  // The first runs for 40 s already; the last one is more urgent than the two before it.
  Queue queue{{Running(RecordOf(1, -50, 1), -40), RecordOf(2, -30, 1), RecordOf(3, -20, 1),
               RecordOf(4, -10, 1), RecordOf(5, -10, 1, Phase::kHeld)}};
  queue.live[3].asked.priority = 1;
  queue.considered = RecordOf(0, 0, 1);
  const auto result = queue.Play();
  EXPECT_THAT(Starts(result), ElementsAre(160, 260, 60));
  EXPECT_EQ(result.jobs[2].number, 4);
  EXPECT_EQ(result.jobs[2].gpus, GivenGpus(1));
  ASSERT_TRUE(result.considered->start);
  EXPECT_NEAR(static_cast<double>(*result.considered->start - At(0)), 360e3, 100);
  EXPECT_THAT(result.remarks, IsEmpty());

  queue.considered->asked.after = {2};
  EXPECT_EQ(queue.Play().considered->start, std::nullopt);
  EXPECT_THAT(queue.Play().considered->why, HasSubstr("comes after"));
}

TEST(Forecast, AnIdleMachineStartsItNow) {
  Queue queue{{}};
  queue.considered = RecordOf(0, 0, 1);
  const auto result = queue.Play();
  EXPECT_THAT(result.considered->start, Optional(At(0)));
  EXPECT_THAT(result.considered->why, HasSubstr("idle GPU"));
  // It can share with what runs.
  Queue shared{{Running(RecordOf(1, -10, 0.2), -10), RecordOf(2, 0, 0.2)}};
  shared.options.policy = "sharewell";
  EXPECT_THAT(Starts(shared.Play()), ElementsAre(0));
  // Which needs more GPUs than there are never starts.
  queue.considered->asked.gpus = 2;
  EXPECT_EQ(queue.Play().considered->start, std::nullopt);
  EXPECT_NE(queue.Play().considered->why, "");
}

TEST(Forecast, BehindAnUnknownLengthNobodyKnows) {
  Queue queue{{Running(RecordOf(1, -50, 1), -40), RecordOf(2, -30, 1), RecordOf(3, -20, 1)}};
  queue.live[1].believed.duration.reset();
  auto result = queue.Play();
  EXPECT_THAT(Starts(result), ElementsAre(60, -1));
  EXPECT_THAT(result.remarks, Contains(HasSubstr("of unknown length: 1 job, taken never")));
  // Its time limit is as long as it can take.
  queue.live[1].asked.time_limit = core::Seconds(500);
  EXPECT_THAT(Starts(queue.Play()), ElementsAre(60, 560));
  // With another GPU there is a way around it.
  queue.live[1].asked.time_limit.reset();
  queue.gpus = 2;
  EXPECT_THAT(Starts(queue.Play()), ElementsAre(0, 60));
}

// A job with a time limit and nothing else, as `submit --time` makes it.
core::JobRecord Limited(std::int64_t number, double submitted, double hours) {
  core::JobRecord record = RecordOf(number, submitted, 1);
  record.believed.duration.reset();
  record.asked.time_limit = core::Seconds(3600 * hours);
  return record;
}

TEST(Forecast, U4_WhoHasNoTimeLimitNeitherTakesTheStartsOfThoseBeforeItNorIgnoresThem) {
  Queue queue{{Running(Limited(1, -20, 1), -20), Limited(2, -15, 0.5), Limited(3, -10, 0.5),
               Limited(4, -5, 0.5), RecordOf(5, -1, 1)}};
  queue.live[4].believed.duration.reset();
  queue.options.policy = "sharewell";
  const double first = 3600 - 20;
  EXPECT_THAT(Starts(queue.Play()),
              ElementsAre(first, first + 1800, first + 2 * 1800, first + 3 * 1800));
  // Who comes after it cannot start before it ends, and that nobody knows.
  queue.live.push_back(Limited(6, -0.5, 0.5));
  EXPECT_EQ(Starts(queue.Play()).back(), -1);
}

TEST(Forecast, WhoUsedLessGoesFirstAsOnTheServer) {
  Queue queue{{Running(RecordOf(1, -50, 1), -40), RecordOf(2, -30, 1), RecordOf(3, -20, 1)}};
  queue.live[2].user.name = "bob";
  queue.options.policy = "sharewell";
  EXPECT_THAT(Starts(queue.Play()), ElementsAre(160, 60));
  queue.options.usage = {{"ann", 40}, {"bob", 86'400}};
  EXPECT_THAT(Starts(queue.Play()), ElementsAre(60, 160));
}

TEST(Forecast, AClosedGpuIsNotUsedAndWhatRunsThereEnds) {
  Queue queue{{Running(RecordOf(1, -50, 1), -40, 1), RecordOf(2, -30, 1), RecordOf(3, -20, 1)}, 2};
  queue.closed = {core::GpuId(1)};
  EXPECT_THAT(Starts(queue.Play()), ElementsAre(0, 100));
  queue.closed.emplace_back(0);
  EXPECT_THAT(Starts(queue.Play()), ElementsAre(-1, -1));
  // A job that runs where nobody knows is taken to wait.
  queue.closed.clear();
  queue.live[0].gpus[0].uuid = "GPU-gone";
  EXPECT_THAT(queue.Play().remarks, Contains(HasSubstr("cannot be told: 1 job")));
}

TEST(Forecast, CutShortItTellsOfThoseInFront) {
  Queue queue{{Running(RecordOf(1, -50, 1), -40), RecordOf(2, -30, 1), RecordOf(3, -20, 1),
               RecordOf(4, -10, 1)}};
  int asked = 0;
  queue.options.go_on = [&] { return ++asked < 8; };  // it is played twice
  const auto starts = Starts(queue.Play());
  EXPECT_EQ(starts.front(), 60);
  EXPECT_EQ(starts.back(), -1);
}

TEST(Forecast, AThousandJobsArePlayedQuickly) {
  Queue queue{{}, 8};
  for (int i = 0; i < 5'000; ++i) {
    queue.live.push_back(RecordOf(i + 1, i * 0.1 - 600, 0.1 + (i % 9) * 0.1));
    queue.live.back().believed.duration = core::Seconds(60 + i % 300);
    if (i % 10 == 0) queue.live.back().asked.gpus = 2;
  }
  queue.options.policy = "sharewell";
  const auto begin = std::chrono::steady_clock::now();
  const auto result = queue.Play();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
  EXPECT_EQ(result.jobs.size(), 5'000U);
  EXPECT_TRUE(result.jobs[900].start);
  EXPECT_FALSE(result.jobs[1'100].start);
  EXPECT_THAT(result.remarks, Contains(HasSubstr("further back in the queue: 4000 jobs")));
  EXPECT_LT(took.count(), 60);  // unoptimised it takes 10 s of CPU
}

}  // namespace
}  // namespace sharewell::simulation
