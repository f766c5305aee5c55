// The contract of job_store.h, on whichever database this program is for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "store/job_store.h"
#include "store/kept_jobs.h"
#include "store/store.h"
#include "store/test_batches.h"
#include "store/test_place.h"
#include "store/test_process.h"
#include "testing/job_records.h"

namespace sharewell::store {
namespace {

using core::Phase;
using sharewell::testing::FullJob;
using sharewell::testing::PlainJob;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class JobContract : public ::testing::Test {
 protected:
  JobContract() : place_(NewTestPlace()), store_(Again()) {}

  std::unique_ptr<JobStore> Again() {
    auto opened = OpenJobs(place_->where());
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  void Write(const JobChanges& changes) {
    const auto done = store_->Write(changes);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<std::int64_t> Numbers(const JobFilter& filter) {
    const auto jobs = store_->Jobs(filter);
    EXPECT_TRUE(jobs) << jobs.error().message;
    std::vector<std::int64_t> numbers;
    if (jobs) {
      for (const auto& job : *jobs) numbers.push_back(job.number);
    }
    return numbers;
  }

  // A database may take a moment to see that its client is gone.
  static void ExpectServer(JobStore& store) {
    core::Result<void> done;
    for (int i = 0; i < 200; ++i) {
      if (done = store.BecomeServer(); done) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ADD_FAILURE() << done.error().message;
  }

  std::unique_ptr<TestPlace> place_;
  std::unique_ptr<JobStore> store_;
};

TEST_F(JobContract, AllOfAChangeIsThereAfterwards) {
  EXPECT_EQ(store_->LastNumber().value(), 0);
  EXPECT_EQ(store_->LastEvent().value(), 0);
  auto full = FullJob(7);
  std::swap(full.asked.environment[2], full.asked.environment[3]);
  const std::string bytes("a\0b\xff", 4);
  const core::SharedRun run{"H200",  "2x/x" + bytes, "profile:y", 0.1,
                            1.0 / 3, true,           5,           0.8,
                            1,       "ann",          "bob",       core::Seconds(12.5)};
  const core::SharedRun unfit{"H200", "a", "", 0, {}, false, 6, 1, 1, "", "", {}};
  const core::Event event{4, 1000, "job.started", 7, "job 7 started, \xe2\x82\xac"};
  Write({{PlainJob(6), full},
         {event, {5, 1001, "gpu.drained", 0, "x"}},
         {run, unfit},
         {{"n", bytes}}});
  store_ = Again();
  EXPECT_EQ(store_->Jobs({.number = 7}).value(), std::vector{full});
  EXPECT_EQ(store_->LastNumber().value(), 7);
  EXPECT_EQ(store_->LastEvent().value(), 5);
  EXPECT_EQ(store_->Events(3, 1).value(), std::vector{event});
  EXPECT_THAT(store_->Events(4, 10).value(), SizeIs(1));
  EXPECT_THAT(store_->Events(5, 10).value(), IsEmpty());
  EXPECT_THAT(store_->SharedRuns().value(), ElementsAre(run, unfit));
  EXPECT_EQ(store_->Kept("n").value(), bytes);
  EXPECT_EQ(store_->Kept("m").value(), std::nullopt);
  // Replaced; of two with one number the last.
  full.phase = Phase::kFinished;
  full.note.clear();
  auto before = full;
  before.note = "not this one";
  Write({{before, full}, {}, {run}, {{"n", "1"}, {"n", ""}}});
  EXPECT_EQ(store_->Jobs({.number = 7}).value(), std::vector{full});
  EXPECT_THAT(store_->SharedRuns().value(), SizeIs(3));
  EXPECT_EQ(store_->Kept("n").value(), "");
}

TEST_F(JobContract, B3_FactsAreFoundByHowTheirNamesBegin) {
  Write(
      {{}, {}, {}, {{"usage/ann", "1 2"}, {"usage/bob", "3 4"}, {"usages", "x"}, {"drained", ""}}});
  EXPECT_THAT(store_->KeptUnder("usage/").value(),
              ElementsAre(std::pair<const std::string, std::string>("ann", "1 2"),
                          std::pair<const std::string, std::string>("bob", "3 4")));
  EXPECT_THAT(store_->KeptUnder("none/").value(), IsEmpty());
}

TEST_F(JobContract, B5_WhoSharedMostLosesTheirOldestPairs) {
  const auto run = [](const std::string& a, const std::string& b, core::UnixMillis time) {
    return core::SharedRun{"H200", "x", "y", 1, 1, true, time, 1, 1, a, b, {}};
  };
  JobChanges changes;
  changes.shared = {run("ann", "bob", 1), run("bob", "ann", 2)};
  for (int i = 0; i < 10'050; ++i) changes.shared.push_back(run("eve", "eve", 10 + i));
  ASSERT_TRUE(store_->Write(changes));
  ASSERT_TRUE(store_->TidyJobs(0, 10));
  const auto left = store_->SharedRuns().value();
  EXPECT_EQ(left.size(), 10'000U);
  EXPECT_EQ(left[0].user_b, "bob");
  EXPECT_EQ(left[1].user_b, "ann");
  EXPECT_EQ(left[2].time, 10 + 52) << "her oldest are gone";
  ASSERT_TRUE(store_->RemoveShared("eve"));
  EXPECT_THAT(store_->SharedRuns().value(), SizeIs(2));
  ASSERT_TRUE(store_->RemoveShared("ann"));
  EXPECT_THAT(store_->SharedRuns().value(), IsEmpty());
}

TEST_F(JobContract, F6_AStoreHasAnIdThatStays) {
  const std::string id = store_->Id();
  EXPECT_EQ(id.size(), 16u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  store_ = Again();
  EXPECT_EQ(store_->Id(), id);
  EXPECT_NE(OpenJobs(NewTestPlace()->where()).value()->Id(), id);
}

TEST_F(JobContract, F6_WhenAnotherStoreLiesThereNothingIsWritten) {
  const std::string id = store_->Id();
  place_->Run("UPDATE meta SET value = '0123456789abcdef' WHERE name = 'id'");
  const auto refused = store_->Write({{PlainJob(1)}, {}, {}, {}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("another store lies there now"));
  EXPECT_EQ(store_->LastNumber().value(), 0);
  place_->Run("UPDATE meta SET value = '" + id + "' WHERE name = 'id'");
  EXPECT_TRUE(store_->Write({{PlainJob(1)}, {}, {}, {}}));
}

// The forgeries of somebody who can write the database and does not have the key.
TEST_F(JobContract, F1_WhatSomebodyElseWroteIsNotTrusted) {
  const std::string key(64, 'a');
  const auto keyed = [&] { return OpenJobs(place_->where(), key).value(); };
  ASSERT_TRUE(keyed()->Write({{PlainJob(1), PlainJob(2), PlainJob(3)}, {}, {}, {}}));
  const auto untrusted = [&](JobStore& store) {
    std::vector<std::int64_t> numbers;
    const auto jobs = store.Jobs({}).value();
    for (const auto& job : jobs) {
      if (job.untrusted) numbers.push_back(job.number);
    }
    return numbers;
  };
  EXPECT_THAT(untrusted(*keyed()), IsEmpty());
  EXPECT_THAT(untrusted(*store_), IsEmpty()) << "who has no key believes everything";
  EXPECT_THAT(untrusted(*OpenJobs(place_->where(), std::string(64, 'b')).value()),
              ElementsAre(3, 2, 1));
  // Another user; another job's seal; no seal; a phase in the column alone.
  place_->Run("UPDATE job SET record = replace(record, '\"uid\":0', '\"uid\":7') WHERE number = 1");
  EXPECT_THAT(untrusted(*keyed()), ElementsAre(1));
  EXPECT_EQ(keyed()->Jobs({}).value().back().hold, core::Hold(core::hold::Untrusted{.user = true}))
      << "A5: what was changed can be told";
  place_->Run("UPDATE job SET seal = (SELECT seal FROM job WHERE number = 3) WHERE number = 2");
  EXPECT_THAT(untrusted(*keyed()), ElementsAre(2, 1));
  place_->Run("UPDATE job SET phase = 'running' WHERE number = 3");
  EXPECT_THAT(untrusted(*keyed()), ElementsAre(3, 2, 1));
  // The record of another job, with its seal, under this number.
  ASSERT_TRUE(keyed()->Write({{PlainJob(1), PlainJob(2), PlainJob(3)}, {}, {}, {}}));
  place_->Run(
      "UPDATE job SET record = (SELECT record FROM job WHERE number = 3), "
      "seal = (SELECT seal FROM job WHERE number = 3) WHERE number = 2");
  EXPECT_THAT(untrusted(*keyed()), ElementsAre(2));
  // What is not believed is not sealed when it is written back.
  auto store = keyed();
  JobChanges back;
  back.jobs = store->Jobs({}).value();
  ASSERT_TRUE(store->Write(back));
  EXPECT_THAT(untrusted(*keyed()), ElementsAre(2));
  for (auto& job : back.jobs) job.untrusted = false;  // root has said so
  ASSERT_TRUE(store->Write(back));
  EXPECT_THAT(untrusted(*keyed()), IsEmpty());
}

TEST_F(JobContract, JobsAreFoundNewestFirst) {
  JobChanges changes;
  for (int i = 1; i <= 12; ++i) {
    const Phase phase = i % 3 == 0   ? Phase::kFinished
                        : i % 3 == 1 ? Phase::kWaiting
                                     : Phase::kFailed;
    changes.jobs.push_back(PlainJob(i, i % 2 == 0 ? "ann" : "b\xffob", phase));
  }
  changes.jobs[2].asked.command = changes.jobs[8].asked.command = {"same"};
  changes.jobs[2].asked.folder = changes.jobs[8].asked.folder;
  Write(changes);
  EXPECT_THAT(Numbers({}), ElementsAre(12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1));
  EXPECT_THAT(Numbers({.below = 5, .most = 2}), ElementsAre(4, 3));
  EXPECT_THAT(Numbers({.user = "ann", .most = 3}), ElementsAre(12, 10, 8));
  EXPECT_THAT(Numbers({.user = "b\xffob", .phases = {Phase::kWaiting}}), ElementsAre(7, 1));
  EXPECT_THAT(Numbers({.phases = {Phase::kFailed, Phase::kWaiting, Phase::kFailed}, .below = 9}),
              ElementsAre(8, 7, 5, 4, 2, 1));
  EXPECT_THAT(Numbers({.phases = {Phase::kFailed, Phase::kFinished}, .most = 3}),
              ElementsAre(12, 11, 9));
  EXPECT_THAT(Numbers({.number = 3, .user = "ann"}), IsEmpty());
  EXPECT_THAT(Numbers({.workload = core::WorkloadKey(changes.jobs[8].asked)}), ElementsAre(9, 3));
  EXPECT_THAT(Numbers({.workload = "no such"}), IsEmpty());
  // Those over ended a second after they were submitted.
  EXPECT_THAT(Numbers({.ended_since = 1'700'000'001'008}), ElementsAre(12, 11, 10, 9, 8, 7, 4, 1));
  EXPECT_THAT(Numbers({.most = 0}), IsEmpty());
}

TEST_F(JobContract, TidyingKeepsWhatLivesAndEveryNumber) {
  JobChanges changes;
  for (int i = 1; i <= 1500; ++i) {
    changes.jobs.push_back(PlainJob(i, "ann", i == 10 ? Phase::kHeld : Phase::kCancelled));
    changes.events.push_back({i, i, "job.ended", i, "it ended"});
  }
  Write(changes);
  ASSERT_TRUE(store_->TidyJobs(1'700'000'002'490, 20));
  EXPECT_THAT(Numbers({}),
              ElementsAre(1500, 1499, 1498, 1497, 1496, 1495, 1494, 1493, 1492, 1491, 1490, 10));
  EXPECT_EQ(store_->Events(0, 100).value().front().id, 1481);
  ASSERT_TRUE(store_->TidyJobs(4'000'000'000'000, 0));
  EXPECT_THAT(Numbers({}), ElementsAre(1500, 10));
  EXPECT_EQ(store_->LastEvent().value(), 1500);
}

TEST_F(JobContract, ASpeedStaysWithItsJobAndGoesWithIt) {
  core::SpeedHistory first, second;
  first.Count({1000, 0}, {5000, 10}, 0);
  first.Look(2000, {7});
  second.Count({1000, 0}, {9000, 10.5}, 0);
  JobChanges changes;
  changes.jobs = {PlainJob(1, "ann", Phase::kCancelled), PlainJob(2, "ann", Phase::kCancelled),
                  PlainJob(3)};
  changes.speeds = {{1, first}, {2, first}, {3, first}, {2, second}};
  Write(changes);
  store_ = Again();
  EXPECT_EQ(store_->SpeedOf(1).value().value(), first);
  EXPECT_EQ(store_->SpeedOf(2).value().value(), second) << "of two the last";
  EXPECT_FALSE(store_->SpeedOf(4).value());
  const auto kept = OpenKeptJobs(place_->where()).value();
  core::UnixMillis since = 0;
  const core::Bytes with = kept->EndedSince(since).value()["ann"];
  place_->Run("UPDATE job_speed SET history = '[' WHERE job = 2");
  EXPECT_FALSE(store_->SpeedOf(2).value()) << "damaged";
  since = 0;
  EXPECT_LT(kept->EndedSince(since).value()["ann"], with) << "it counts with its job";
  ASSERT_TRUE(kept->KeepNewest("ann", core::Bytes(1)));
  EXPECT_THAT(Numbers({}), ElementsAre(3));
  EXPECT_FALSE(store_->SpeedOf(1).value());
  Write({{PlainJob(1, "ann", Phase::kCancelled)}, {}, {}, {}, false, {{1, first}}});
  ASSERT_TRUE(store_->TidyJobs(4'000'000'000'000, 10));
  EXPECT_FALSE(store_->SpeedOf(1).value());
  EXPECT_TRUE(store_->SpeedOf(3).value());
}

TEST_F(JobContract, F17_RecordsAreReadUpToSoManyBytes) {
  JobChanges changes;
  for (int i = 1; i <= 250; ++i) {
    changes.jobs.push_back(PlainJob(i));
    changes.jobs.back().asked.command.emplace_back(10'000, 'x');
  }
  Write(changes);
  EXPECT_THAT(Numbers({.most_bytes = 1}), ElementsAre(250)) << "one is always read";
  EXPECT_THAT(Numbers({.below = 9, .most_bytes = 36'000}), ElementsAre(8, 7, 6));
  EXPECT_THAT(Numbers({.most = 7, .most_bytes = 10'000'000}), SizeIs(7));
  EXPECT_THAT(Numbers({.most_bytes = 10'000'000}), SizeIs(250)) << "over several pages";
}

TEST_F(JobContract, F16_PhasesAreReadWithoutRecords) {
  Write({{PlainJob(1), PlainJob(2, "ann", Phase::kFailed)}, {}, {}, {}});
  place_->Run("UPDATE job SET record = 'x'");
  EXPECT_THAT(store_->PhasesOf({1, 2, 3}).value(),
              ElementsAre(Pair(1, Phase::kWaiting), Pair(2, Phase::kFailed)));
  EXPECT_THAT(store_->PhasesOf({}).value(), IsEmpty());
}

TEST_F(JobContract, OneServerAStore) {
  ASSERT_TRUE(store_->BecomeServer());
  ASSERT_TRUE(store_->BecomeServer());  // it is already
  auto second = Again();
  const auto refused = second->BecomeServer();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("another server has this store"));
  TestProcess other([&] {
    auto third = OpenJobs(place_->where());
    if (!third) return 1;
    const auto not_this = (*third)->BecomeServer();
    if (not_this) return 2;
    const std::string who = "process " + std::to_string(::getppid()) + " on ";
    return not_this.error().message.find(who) == std::string::npos ? 3 : 0;
  });
  EXPECT_EQ(other.Wait(), 0);
  // Who is not the server may still write and read.
  EXPECT_TRUE(second->Write({{PlainJob(1)}, {}, {}, {}}));
  EXPECT_TRUE(store_->Write({{PlainJob(2)}, {}, {}, {}}));
  store_.reset();
  ExpectServer(*second);
}

TEST_F(JobContract, AServerThatIsKilledIsNoServer) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  // A child of the server, such as a job, does not keep the store for it.
  TestProcess server([&] {
    auto store = OpenJobs(place_->where());
    if (!store || !(*store)->BecomeServer()) return 1;
    TestProcess job([] { return static_cast<int>(::sleep(60)); });
    if (!(*store)->Write({{PlainJob(1)}, {}, {}, {}})) return 2;
    if (::write(ready[1], "x", 1) != 1) return 3;
    return static_cast<int>(::sleep(60));
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(store_->BecomeServer());
  server.Kill();
  ExpectServer(*store_);
  EXPECT_EQ(store_->LastNumber().value(), 1);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(JobContract, JobsAndSamplesAreWrittenSideBySide) {
  auto samples = Open(place_->where());
  ASSERT_TRUE(samples);
  std::atomic<bool> over = false;
  std::atomic<int> failed = 0;
  std::thread writer([&] {
    for (int i = 0; !over; ++i) {
      const bool done = (*samples)->Append("n1", BatchOf(kStart + i * 1000, i)).has_value() &&
                        (*samples)->Sync().has_value();
      if (!done) ++failed;
    }
  });
  for (int i = 1; i <= 100; ++i) {
    const auto done = store_->Write({{PlainJob(i)}, {{i, i, "job.submitted", i, ""}}, {}, {}});
    if (!done) ADD_FAILURE() << done.error().message;
    if (i % 50 == 0) {
      EXPECT_THAT(Numbers({}), SizeIs(static_cast<std::size_t>(i)));
    }
  }
  over = true;
  writer.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(place_->Damage(), "");
}

TEST_F(JobContract, AThousandJobsAreWrittenAtOnce) {
  JobChanges changes;
  for (int i = 1; i <= 1000; ++i) {
    changes.jobs.push_back(PlainJob(i));
    changes.events.push_back({i, i, "job.submitted", i, "job was submitted"});
  }
  Write(changes);
  for (auto& job : changes.jobs) job.phase = Phase::kRunning;
  for (auto& event : changes.events) event.id += 1000;
  const auto begin = std::chrono::steady_clock::now();
  Write(changes);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
  EXPECT_LT(took.count(), 2);  // 0.03 s measured; a loaded machine under ASan takes longer
  EXPECT_THAT(Numbers({.phases = {Phase::kRunning}}), SizeIs(1000));
}

TEST_F(JobContract, ABentRecordIsSaid) {
  Write({{PlainJob(3)}, {}, {}, {}});
  place_->Run("UPDATE job SET record = 'x'");
  const auto jobs = store_->Jobs({});
  ASSERT_FALSE(jobs);
  EXPECT_THAT(jobs.error().message, HasSubstr("job 3: the job is not one of ours"));
}

}  // namespace
}  // namespace sharewell::store
