#include "api/project_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/fake_job_service.h"

namespace sharewell::api {
namespace {

using ::testing::Optional;

const core::Projects kShared =
    core::WithDefault({{"vision", 0.5, {"ann"}}, {"speech", 0.25, {"ann", "bob"}}});

core::JobRecord Of(std::int64_t number, const std::string& user, core::Phase phase,
                   const std::string& project = {}) {
  core::JobRecord job;
  job.number = number;
  job.user = {user, 1000, 1000, false};
  job.phase = phase;
  job.asked.project = project;
  return job;
}

TEST(ProjectUse, OfASharedGpuEachHasItsPartAndWaitingJobsAreCounted) {
  FakeJobService service;
  control::GpuView gpu = service.view.gpus.front();
  service.view.gpus.assign(4, gpu);
  service.view.gpus[0].jobs = {1, 2};
  service.view.gpus[1].jobs = {2, 99};  // a job that is gone by now counts for nobody
  service.jobs.Put(Of(1, "ann", core::Phase::kRunning));
  service.jobs.Put(Of(2, "ann", core::Phase::kStarting, "speech"));
  service.jobs.Put(Of(3, "bob", core::Phase::kWaiting));
  service.jobs.Put(Of(4, "eve", core::Phase::kWaiting));
  service.jobs.Put(Of(5, "eve", core::Phase::kHeld));
  const auto uses = UseOfProjects(kShared, service);
  ASSERT_EQ(uses.size(), 3U);
  EXPECT_EQ(uses[0].gpus_of_share, 1);
  EXPECT_EQ(uses[0].gpus_in_use, 0);
  EXPECT_EQ(uses[0].waiting, 1U);
  EXPECT_EQ(uses[0].running, 0U);
  EXPECT_EQ(uses[1].gpus_of_share, 2);
  EXPECT_EQ(uses[1].gpus_in_use, 0.5);
  EXPECT_EQ(uses[1].running, 1U);
  EXPECT_EQ(uses[2].gpus_in_use, 1);
  EXPECT_TRUE(uses[2].has_share());
  EXPECT_EQ(uses[2].waiting, 1U);
  EXPECT_THAT(ProjectInWords(kShared, *service.jobs.Find(3), service),
              Optional(std::string("it counts to project speech, which has 1 of the GPUs in use "
                                   "and a share of 1: projects below theirs go first")));
  EXPECT_EQ(ProjectInWords(kShared, *service.jobs.Find(1), service), std::nullopt) << "it runs";
  core::Projects reclaim = kShared;
  for (core::Project& project : reclaim) project.reclaims = true;
  EXPECT_THAT(
      *ProjectInWords(reclaim, *service.jobs.Find(3), service),
      ::testing::EndsWith(
          "a share of 1: projects below theirs go first, and take back what others borrowed"));
  EXPECT_THAT(*ProjectInWords(reclaim, *service.jobs.Find(4), service),
              ::testing::EndsWith("it goes before projects that have theirs, and takes back what "
                                  "others borrowed"));
}

TEST(ProjectUse, WithoutProjectsThereIsNothingToSay) {
  FakeJobService service;
  service.jobs.Put(Of(3, "bob", core::Phase::kWaiting));
  EXPECT_TRUE(UseOfProjects({}, service).empty());
  EXPECT_EQ(ProjectInWords({}, *service.jobs.Find(3), service), std::nullopt);
}

}  // namespace
}  // namespace sharewell::api
