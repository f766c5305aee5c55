#include "control/service/jobs/live_jobs.h"

#include <gtest/gtest.h>

#include "control/service/jobs/job_board.h"

namespace sharewell::control {
namespace {

core::JobRecord RecordOf(std::int64_t number, const std::string& user, std::string word = "train") {
  core::JobRecord record;
  record.number = number;
  record.user.name = user;
  record.asked.command = {std::move(word)};
  return record;
}

TEST(LiveJobs, AreFoundByNumberAndById) {
  LiveJobs jobs;
  LiveJob& first = jobs.Add(RecordOf(7, "ann"));
  EXPECT_EQ(jobs.Find(7), &first);
  EXPECT_EQ(jobs.Find(8), nullptr);
  EXPECT_EQ(jobs.Find(core::JobId()), nullptr) << "it was not queued yet";
  EXPECT_EQ(jobs.GiveId(first), core::JobId(0));
  EXPECT_EQ(jobs.Find(core::JobId(0)), &first);
  EXPECT_EQ(jobs.NameOf(core::JobId(0)), "job 7");
  EXPECT_EQ(jobs.NameOf({}), "");
}

TEST(LiveJobs, AnIdThatWasGivenUpFindsNobody) {
  LiveJobs jobs;
  LiveJob& job = jobs.Add(RecordOf(7, "ann"));
  const core::JobId first = jobs.GiveId(job);
  const core::JobId nobody = jobs.GiveIdToNobody();
  const core::JobId second = jobs.GiveId(job);  // held and released
  EXPECT_EQ(second, core::JobId(2)) << "dense, as the snapshot's";
  EXPECT_EQ(jobs.Find(first), nullptr);
  EXPECT_EQ(jobs.Find(nobody), nullptr);
  EXPECT_EQ(jobs.Find(second), &job);
  jobs.Remove(7);
  EXPECT_EQ(jobs.Find(second), nullptr);
  EXPECT_EQ(jobs.size(), 0U);
}

TEST(LiveJobs, F13_IdsOfJobsThatAreOverAreGivenAgain) {
  LiveJobs jobs;
  for (std::int64_t number = 1; number <= 3; ++number) {
    jobs.GiveId(jobs.Add(RecordOf(number, "ann")));
  }
  jobs.GiveIdToNobody();
  jobs.Add(RecordOf(4, "ann"));  // held: it has no id
  jobs.Remove(2);
  std::vector<bool> stays(jobs.ids_given());
  jobs.MarkStaying(stays);
  EXPECT_EQ(stays, std::vector<bool>({true, false, true, false}));
  stays[3] = true;  // what keeps a GPU from being used
  jobs.Renumber(core::Renumbering(stays));
  EXPECT_EQ(jobs.ids_given(), 3U);
  EXPECT_EQ(jobs.Find(core::JobId(0))->record.number, 1);
  EXPECT_EQ(jobs.Find(core::JobId(1))->record.number, 3);
  EXPECT_EQ(jobs.Find(core::JobId(2)), nullptr);
  EXPECT_FALSE(jobs.Find(4)->id.valid());
  EXPECT_EQ(jobs.GiveId(*jobs.Find(4)), core::JobId(3));
}

TEST(LiveJobs, CountWhatEachUserHas) {
  LiveJobs jobs;
  jobs.Add(RecordOf(1, "ann"));
  jobs.Add(RecordOf(2, "ann", std::string(1000, 'x')));
  jobs.Add(RecordOf(3, "bob"));
  EXPECT_EQ(jobs.ShareOf("ann").jobs, 2U);
  EXPECT_EQ(jobs.ShareOf("ann").bytes,
            BytesOf(RecordOf(1, "ann").asked) +
                BytesOf(RecordOf(2, "ann", std::string(1000, 'x')).asked));
  jobs.Remove(2);
  EXPECT_EQ(jobs.ShareOf("ann").bytes, BytesOf(RecordOf(1, "ann").asked));
  jobs.Remove(1);
  EXPECT_EQ(jobs.ShareOf("ann").jobs, 0U);
  EXPECT_EQ(jobs.ShareOf("bob").jobs, 1U);
}

TEST(LiveJobs, KnowUsersByAnIdOfTheirOwn) {
  LiveJobs jobs;
  EXPECT_EQ(jobs.UserIdOf("ann"), core::UserId(0));
  EXPECT_EQ(jobs.UserIdOf("bob"), core::UserId(1));
  EXPECT_EQ(jobs.UserIdOf("ann"), core::UserId(0));
}

}  // namespace
}  // namespace sharewell::control
