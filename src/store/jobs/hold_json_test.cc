// What holds a job and who cancelled it: stored, and read from what older servers stored.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "store/job_store.h"
#include "store/jobs/job_json.h"

namespace sharewell::store {
namespace {

namespace cancelled = core::cancelled;
namespace hold = core::hold;
using core::Phase;
using Json = nlohmann::json;

core::JobRecord Record(Phase phase) {
  core::JobRecord job;
  job.number = 17;
  job.asked.command = {"true"};
  job.asked.name = "true";
  job.phase = phase;
  return job;
}

core::JobRecord Again(const std::string& text) {
  const auto read = JobFromJson(text);
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(core::JobRecord());
}

// As a server stored it that knew words alone.
core::JobRecord FromOlder(const core::JobRecord& job) {
  Json json = Json::parse(StoredJob(job));
  json.erase("hold");
  json.erase("cancelled_by");
  json.erase("gpu_gone");
  return Again(json.dump());
}

const std::initializer_list<core::Hold> kHolds = {hold::ByUser{},
                                                  hold::Paused{"ann"},
                                                  hold::EndedPaused{},
                                                  hold::AfterJob{12},
                                                  hold::NoNodes{"it wants 9 GPUs; 2 are there"},
                                                  hold::MachineChanged{"it wants an H200"},
                                                  hold::Refused{"ann has 5 jobs; wait"},
                                                  hold::Untrusted{},
                                                  hold::LostRuns{3}};

TEST(HoldJson, EveryKindComesBackAlsoFromTheWordsOfAnOlderStore) {
  for (const core::Hold& one : kHolds) {
    core::JobRecord job = Record(Phase::kHeld);
    job.lost = 3;
    job.asked.held = true;
    core::SetHold(job, one);
    EXPECT_EQ(Again(JobToJson(job)), job) << job.reason;
    EXPECT_EQ(Again(StoredJob(job)), job) << job.reason;
    EXPECT_EQ(FromOlder(job), job) << job.reason;
  }
}

TEST(HoldJson, AllJobsThatItWaitsForComeBack) {
  core::JobRecord job = Record(Phase::kHeld);
  core::SetHold(job, hold::AfterJob{12, {13, 14}});
  EXPECT_EQ(Again(JobToJson(job)), job);
  EXPECT_EQ(Again(StoredJob(job)), job);
}

TEST(HoldJson, WordsThatNobodyKnowsAreAHoldAllTheSame) {
  core::JobRecord job = Record(Phase::kHeld);
  job.reason = "by hand";
  EXPECT_EQ(Again(StoredJob(job)).hold, core::Hold(hold::ByUser{}));
  job.reason = "";
  job.asked.after = {4, 5};
  EXPECT_EQ(Again(StoredJob(job)).hold, core::Hold(hold::AfterJob{4}));
}

TEST(HoldJson, OneThatIsBeingPausedByHandSaysByWhom) {
  core::JobRecord job = Record(Phase::kStopping);
  job.paused = job.asked.held = true;
  job.hold = hold::Paused{"ann"};
  job.reason = "paused by ann";
  EXPECT_EQ(FromOlder(job), job);
}

const std::initializer_list<core::Cancelled> kEnds = {
    cancelled::ByUser{"ann"},
    cancelled::ByManager{"cancelled in Slurm"},
    cancelled::ByJobBefore{12, cancelled::ByJobBefore::End::kFailed},
    cancelled::ByJobBefore{12, cancelled::ByJobBefore::End::kCancelled},
    cancelled::ByJobBefore{12},
    cancelled::ByStore{}};

TEST(HoldJson, WhoCancelledItComesBackAlsoFromTheWordsOfAnOlderStore) {
  for (const core::Cancelled& by : kEnds) {
    core::JobRecord job = Record(Phase::kWaiting);
    core::EndCancelled(job, by, 5000);
    EXPECT_EQ(Again(StoredJob(job)), job) << job.note;
    EXPECT_EQ(FromOlder(job), job) << job.note;
    EXPECT_EQ(Json::parse(JobToJson(job))["cancelled"], true);
  }
  // While it runs, its reason says who asked.
  core::JobRecord job = Record(Phase::kStopping);
  job.cancelled = cancelled::ByUser{"ann"};
  job.reason = "cancelled by ann";
  job.note = "no cgroup here";
  EXPECT_EQ(FromOlder(job), job);
}

TEST(HoldJson, WhatIsNeitherHeldNorCancelledSaysNothing) {
  core::JobRecord job = Record(Phase::kWaiting);
  job.reason = "waits for job 3";  // whatever it says
  job.note = "cancelled by ann";
  EXPECT_EQ(FromOlder(job), job);
  const Json shown = Json::parse(JobToJson(job));
  EXPECT_TRUE(shown["hold"].is_null() && shown["cancelled_by"].is_null());
  EXPECT_EQ(StoredJob(job).find("hold"), std::string::npos);
}

TEST(HoldJson, OfAnOlderStoreTheNoteSaysThatTheGpuIsGone) {
  core::JobRecord job = Record(Phase::kRunning);
  job.gpu_gone = true;
  job.note = "its GPU is not here any more; it runs on";
  EXPECT_EQ(FromOlder(job), job);
  job.gpu_gone = false;  // it says so itself now: the words are for people
  EXPECT_EQ(Again(StoredJob(job)), job);
}

TEST(HoldJson, AKindThatThisProgramDoesNotKnowIsAnError) {
  const auto read = JobFromJson(R"({"number":1,"phase":"held","hold":{"kind":"moonlight"}})");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("hold.kind: 'moonlight' is none that this program knows"),
            std::string::npos)
      << read.error().message;
}

}  // namespace
}  // namespace sharewell::store
