#include "control/service/jobs/job_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::control {
namespace {

using core::Phase;
using testing::ElementsAre;

core::JobRecord Job(std::int64_t number, Phase phase, std::size_t bytes = 0) {
  core::JobRecord job;
  job.number = number;
  job.phase = phase;
  job.asked.command = {std::string(bytes, 'x')};
  return job;
}

std::vector<std::int64_t> Numbers(const std::vector<JobPtr>& jobs) {
  std::vector<std::int64_t> numbers;
  for (const JobPtr& job : jobs) numbers.push_back(job->number);
  return numbers;
}

TEST(JobBoard, KeepsAllThatLiveAndTheLastOfThoseThatAreOver) {
  JobBoard board(3);
  for (std::int64_t number = 1; number <= 9; ++number) board.Put(Job(number, Phase::kWaiting));
  for (const std::int64_t number : {4, 5, 6, 7, 5}) board.Put(Job(number, Phase::kFinished));
  EXPECT_THAT(Numbers(board.Live()), ElementsAre(1, 2, 3, 8, 9));
  EXPECT_THAT(Numbers(board.Over()), ElementsAre(5, 6, 7));
  EXPECT_EQ(board.Find(4), nullptr);
  board.Put(Job(1, Phase::kCancelled));
  EXPECT_THAT(Numbers(board.Over()), ElementsAre(1, 6, 7)) << "who ended just now is asked for";
  EXPECT_EQ(board.Counts().at(Phase::kWaiting), 4U);
}

TEST(JobBoard, ANumberThatWasOverMayComeAgain) {
  JobBoard board(3);
  board.Put(Job(7, Phase::kFailed));
  board.Put(Job(7, Phase::kWaiting));
  EXPECT_THAT(Numbers(board.Over()), ElementsAre());
  EXPECT_EQ(board.Find(7)->phase, Phase::kWaiting);
}

TEST(JobBoard, APageOfTheQueueIsReadWithoutTheRestOfIt) {
  JobBoard board(10);
  for (std::int64_t number = 1; number <= 1000; ++number) board.Put(Job(number, Phase::kWaiting));
  board.Put(Job(998, Phase::kHeld));
  board.Put(Job(997, Phase::kFinished));
  int looked_at = 0;
  const auto waits = [&](const core::JobRecord& job) {
    ++looked_at;
    return job.phase == Phase::kWaiting;
  };
  EXPECT_THAT(Numbers(board.NewestLive(3, std::nullopt, waits)), ElementsAre(1000, 999, 996));
  EXPECT_EQ(looked_at, 4);
  EXPECT_THAT(Numbers(board.NewestLive(2, 996, waits)), ElementsAre(995, 994));
  EXPECT_THAT(Numbers(board.NewestLive(9, 2, waits)), ElementsAre(1));
  EXPECT_THAT(board.NewestLive(9, 1, waits), testing::IsEmpty());
}

TEST(JobBoard, CountsAreKept) {
  JobBoard board(10);
  for (std::int64_t number = 1; number <= 4; ++number) board.Put(Job(number, Phase::kWaiting));
  board.Put(Job(1, Phase::kRunning));
  board.Put(Job(1, Phase::kRunning));
  board.Put(Job(2, Phase::kFinished));
  board.Put(Job(2, Phase::kFinished));
  EXPECT_THAT(board.Counts(),
              ElementsAre(testing::Pair(Phase::kWaiting, 2U), testing::Pair(Phase::kRunning, 1U)));
  for (const std::int64_t number : {1, 3, 4}) board.Put(Job(number, Phase::kCancelled));
  EXPECT_THAT(board.Counts(), testing::IsEmpty());
}

TEST(JobBoard, LongCommandsAreNotKeptByTheThousand) {
  JobBoard board(1000, 100'000);
  for (std::int64_t number = 1; number <= 5; ++number) {
    board.Put(Job(number, Phase::kFinished, 40'000));
  }
  EXPECT_THAT(Numbers(board.Over()), ElementsAre(4, 5));
  board.Put(Job(6, Phase::kFinished, 500'000));
  EXPECT_THAT(Numbers(board.Over()), ElementsAre(6)) << "the last one always";
  for (int again = 0; again < 10; ++again) board.Put(Job(7, Phase::kFinished, 40'000));
  board.Put(Job(8, Phase::kFinished, 40'000));
  EXPECT_THAT(Numbers(board.Over()), ElementsAre(7, 8));
}

}  // namespace
}  // namespace sharewell::control
