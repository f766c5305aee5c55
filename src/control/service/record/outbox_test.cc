#include "control/service/record/outbox.h"

#include <gmock/gmock.h>

#include "control/service/test_parts.h"

namespace sharewell::control {
namespace {

using core::Phase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class OutboxTest : public ::testing::Test {
 protected:
  OutboxTest() {
    hub_.Join(0, [this](const auto& event) { heard_.push_back(event->kind); });
    outbox_.ContinueAfter(0);
  }
  LiveJob& Job(std::int64_t number) {
    core::JobRecord record;
    record.number = number;
    return live_.Add(record);
  }
  static store::JobChanges Of(core::JobRecord record, const std::string& kind) {
    store::JobChanges changes;
    changes.events.push_back({99, 1, kind, record.number, "text"});
    changes.jobs.push_back(std::move(record));
    return changes;
  }

  MemoryJobs store_;
  LiveJobs live_;
  JobBoard board_;
  EventHub hub_;
  std::vector<std::string> said_, heard_;
  Outbox outbox_{store_, live_, board_, hub_,
                 [this](const std::string& line) { said_.push_back(line); }};
};

TEST_F(OutboxTest, WhatHappenedIsShownAtOnceAndStoredWithTheNextCommit) {
  LiveJob& job = Job(7);
  job.record.phase = Phase::kRunning;
  outbox_.Touch(job);
  outbox_.AddEvent(1, "job.started", 7, "it runs");
  EXPECT_EQ(board_.Find(7)->phase, Phase::kRunning);
  EXPECT_TRUE(store_.jobs.empty());
  EXPECT_TRUE(outbox_.owes_records());
  EXPECT_THAT(heard_, IsEmpty()) << "not before it is durable";
  ASSERT_TRUE(outbox_.Commit());
  EXPECT_EQ(store_.jobs.at(7).phase, Phase::kRunning);
  EXPECT_FALSE(outbox_.owes_records());
  EXPECT_THAT(heard_, ElementsAre("job.started"));
}

// The store of the test checks that events are numbered without gaps.
TEST_F(OutboxTest, WhatIsOwedComesBeforeWhatIsAskedAndTheNewerRecordCounts) {
  LiveJob& job = Job(7);
  job.record.note = "older";
  outbox_.Touch(job);
  outbox_.AddEvent(1, "job.started", 7, "it runs");
  core::JobRecord newer = job.record;
  newer.note = "newer";
  ASSERT_TRUE(outbox_.Commit(Of(newer, "job.stopping")));
  EXPECT_EQ(store_.jobs.at(7).note, "newer");
  EXPECT_EQ(job.record.note, "newer");
  EXPECT_EQ(board_.Find(7)->note, "newer");
  EXPECT_THAT(heard_, ElementsAre("job.started", "job.stopping"));
  EXPECT_EQ(store_.last_event, 2);
}

TEST_F(OutboxTest, OnFailureNothingHasChangedAndWhatWasOwedStaysOwed) {
  LiveJob& job = Job(7);
  job.record.note = "happened";
  outbox_.Touch(job);
  outbox_.AddEvent(1, "job.started", 7, "it runs");
  outbox_.AddEnded({7, 1});
  core::JobRecord asked = job.record;
  asked.note = "asked";
  store_.full = true;
  EXPECT_FALSE(outbox_.Commit(Of(asked, "job.held")));
  EXPECT_FALSE(outbox_.Commit());
  EXPECT_EQ(job.record.note, "happened");
  EXPECT_EQ(board_.Find(7)->note, "happened");
  EXPECT_EQ(outbox_.problem(), "the disk is full");
  EXPECT_THAT(heard_, IsEmpty());
  ASSERT_THAT(said_, SizeIs(1)) << "once";
  EXPECT_THAT(said_[0], HasSubstr("nothing can be stored"));
  store_.full = false;
  const auto stored = outbox_.Commit();
  ASSERT_TRUE(stored);
  EXPECT_THAT(stored->ended, ElementsAre(engine::RunId{7, 1}));
  EXPECT_EQ(store_.jobs.at(7).note, "happened");
  EXPECT_THAT(heard_, ElementsAre("job.started", "store.failed"))
      << "what was asked may be in the store: something else stands in its place";
  EXPECT_EQ(outbox_.problem(), "");
  EXPECT_THAT(said_, ElementsAre(said_[0], "the store can be written again"));
}

TEST_F(OutboxTest, TellsWhoseEndIsStoredAndWhatMayBeForgotten) {
  LiveJob& first = Job(1);
  Job(2);
  first.record.phase = Phase::kFinished;
  outbox_.Touch(first);
  outbox_.AddEnded({1, 3});
  core::JobRecord second = live_.Find(2)->record;
  second.phase = Phase::kCancelled;
  const auto stored = outbox_.Commit(Of(second, "job.cancelled"));
  ASSERT_TRUE(stored);
  EXPECT_THAT(stored->over, ElementsAre(Pair(1, Phase::kFinished), Pair(2, Phase::kCancelled)));
  EXPECT_THAT(stored->ended, ElementsAre(engine::RunId{1, 3}));
  live_.Remove(1);
  live_.Remove(2);
  EXPECT_THAT(outbox_.Commit()->over, IsEmpty());
}

// What a store did that failed, nobody knows: what is true is written again.
TEST_F(OutboxTest, WhatMayHaveBeenStoredIsWrittenOver) {
  LiveJob& job = Job(7);
  core::JobRecord asked = job.record;
  asked.cancelled = core::cancelled::ByUser{"ann"};
  core::JobRecord refused;
  refused.number = 8;
  store::JobChanges changes = Of(asked, "job.stopping");
  changes.jobs.push_back(refused);
  store_.full = true;
  EXPECT_FALSE(outbox_.Commit(changes));
  store_.full = false;
  store_.jobs[7] = asked;  // its answer was lost
  store_.jobs[8] = refused;
  const auto stored = outbox_.Commit();
  ASSERT_TRUE(stored);
  EXPECT_FALSE(store_.jobs.at(7).cancelled);
  EXPECT_EQ(store_.jobs.at(8).phase, Phase::kCancelled);
  EXPECT_THAT(store_.jobs.at(8).note, HasSubstr("it was refused"));
  EXPECT_THAT(stored->withdrawn, ElementsAre(8)) << "its number is taken";
  EXPECT_EQ(outbox_.owed(), 0U);
}

TEST_F(OutboxTest, AProblemIsOverWhenTheStoreTakesSomethingThoughNothingIsOwed) {
  core::JobRecord refused;
  refused.number = 8;
  store_.full = true;
  EXPECT_FALSE(outbox_.Commit(Of(refused, "job.submitted")));
  EXPECT_FALSE(outbox_.Commit());
  store_.full = false;
  ASSERT_TRUE(outbox_.Commit());
  EXPECT_EQ(outbox_.problem(), "");
  EXPECT_TRUE(store_.jobs.empty());
  EXPECT_THAT(heard_, ElementsAre("store.failed")) << "in place of what was not done";
}

TEST_F(OutboxTest, MemoryIsBoundedAndNoEndIsDropped) {
  store_.full = true;
  outbox_.AddEvent(1, "job.finished", 7, "job 7 has finished");
  for (std::size_t i = 0; i < 3 * Outbox::kMostEvents; ++i) {
    outbox_.AddEvent(1, "gpu.note", 0, "again");
    outbox_.AddShared({});
    outbox_.AddKept("drained", std::to_string(i));
  }
  EXPECT_FALSE(outbox_.Commit());
  EXPECT_LE(outbox_.owed(), Outbox::kMostEvents + Outbox::kMostShared + 1);
  store_.full = false;
  ASSERT_TRUE(outbox_.Commit());
  EXPECT_EQ(heard_.front(), "job.finished");
  EXPECT_EQ(store_.kept.at("drained"), std::to_string(3 * Outbox::kMostEvents - 1));
  EXPECT_THAT(said_.back(), HasSubstr("events were dropped"));
}

TEST_F(OutboxTest, RunsThatNobodyOwesARecordMayBeForgottenAtOnce) {
  store_.full = true;  // nothing is written
  outbox_.AddEnded({5, 1});
  const auto stored = outbox_.Commit();
  ASSERT_TRUE(stored);
  EXPECT_THAT(stored->ended, ElementsAre(engine::RunId{5, 1}));
}

}  // namespace
}  // namespace sharewell::control
