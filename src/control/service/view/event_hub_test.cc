#include "control/service/view/event_hub.h"

#include <gtest/gtest.h>

#include "control/service/jobs/job_board.h"

namespace sharewell::control {
namespace {

core::Event Numbered(std::int64_t id) {
  core::Event event;
  event.id = id;
  return event;
}

TEST(EventHub, WhoComesBackMissesNothingAndHearsNothingTwice) {
  EventHub hub(3);
  EXPECT_EQ(hub.Last(), 0);
  for (int id = 1; id <= 5; ++id) hub.Publish(Numbered(id));
  std::vector<std::int64_t> heard;
  auto joined = hub.Join(3, [&](const auto& event) { heard.push_back(event->id); });
  ASSERT_EQ(joined.before.size(), 2U);
  EXPECT_EQ(joined.before[0]->id, 4);
  EXPECT_EQ(joined.from, 3);  // 1 and 2 must come from the store
  hub.Publish(Numbered(6));
  hub.Leave(joined.ticket);
  hub.Publish(Numbered(7));
  EXPECT_EQ(heard, std::vector<std::int64_t>{6});
  EXPECT_EQ(hub.Last(), 7);
}

TEST(JobBoard, KeepsAllThatLiveAndTheLastOfThoseThatAreOver) {
  JobBoard board(2);
  core::JobRecord record;
  for (record.number = 1; record.number <= 4; ++record.number) board.Put(record);
  EXPECT_EQ(board.Live().size(), 4U);
  record.phase = core::Phase::kFinished;
  for (record.number = 1; record.number <= 3; ++record.number) board.Put(record);
  EXPECT_EQ(board.Live().size(), 1U);
  EXPECT_EQ(board.Over().size(), 2U);
  EXPECT_EQ(board.Find(1), nullptr);
  EXPECT_EQ(board.Find(3)->phase, core::Phase::kFinished);
  EXPECT_EQ(board.Counts().at(core::Phase::kWaiting), 1U);
  record.number = 1;  // an old one that ends late is there for whoever ended it
  board.Put(record);
  EXPECT_NE(board.Find(1), nullptr);
}

}  // namespace
}  // namespace sharewell::control
