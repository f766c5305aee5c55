#include "core/projects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/builders.h"

namespace sharewell::core {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

const Projects kTwoProjects =
    WithDefault({{"vision", 0.5, {"ann", "bob"}}, {"speech", 0.3, {"bob"}}});

TEST(Projects, TheDefaultOneHasWhatTheOthersLeave) {
  ASSERT_EQ(kTwoProjects.size(), 3U);
  EXPECT_EQ(kTwoProjects[0].name, kDefaultProject);
  EXPECT_THAT(SharesOf(kTwoProjects), ElementsAre(DoubleNear(0.2, 1e-9), 0.5, 0.3));
  EXPECT_TRUE(WithDefault({}).empty());
  EXPECT_EQ(WithDefault({{"all", 1, {"ann"}}})[0].share, 0);
}

TEST(Projects, TheDefaultOneReclaimsAsTheOthersDo) {
  EXPECT_FALSE(Reclaim(kTwoProjects));
  EXPECT_FALSE(Reclaim({}));
  const Projects all = WithDefault({{"vision", 0.5, {"ann"}, true}});
  EXPECT_TRUE(Reclaim(all));
  EXPECT_TRUE(all[0].reclaims && all[1].reclaims);
}

TEST(Projects, AUserIsInThoseThatNameHimOrInTheDefaultOne) {
  EXPECT_THAT(ProjectsOf(kTwoProjects, "ann"), ElementsAre(ProjectId(1)));
  EXPECT_THAT(ProjectsOf(kTwoProjects, "bob"), ElementsAre(ProjectId(1), ProjectId(2)));
  EXPECT_THAT(ProjectsOf(kTwoProjects, "eve"), ElementsAre(ProjectId(0)));
  EXPECT_THAT(ProjectsOf({}, "ann"), ElementsAre(ProjectId(0)));
}

TEST(Projects, WhatWasAskedForCountsOnlyForItsUsers) {
  EXPECT_EQ(ProjectOf(kTwoProjects, "bob", "speech"), ProjectId(2));
  EXPECT_EQ(ProjectOf(kTwoProjects, "bob", ""), ProjectId(1));
  EXPECT_EQ(ProjectOf(kTwoProjects, "ann", "speech"), ProjectId(1));
  EXPECT_EQ(ProjectOf({}, "ann", "speech"), ProjectId(0));
  EXPECT_EQ(ProjectNamed(kTwoProjects, "speech"), ProjectId(2));
  EXPECT_FALSE(ProjectNamed(kTwoProjects, "sound"));
}

TEST(Projects, OfASharedGpuEachJobHasItsPart) {
  fixtures::SnapshotBuilder world(fixtures::ClusterBuilder().Node(4).Build());
  world.Running({.gpus = 2}, {0, 1});
  const JobId second = world.Running({}, {1});
  EXPECT_THAT(GpusInUse(*world, 2), ElementsAre(2, 0));
  Job job = world->job(second).job;
  job.id = JobId(world->job_count());
  job.project = ProjectId(1);
  world->Submit(job, world->job(second).estimate);
  world->Start(job.id, fixtures::OnGpus({1}));
  EXPECT_THAT(GpusInUse(*world, 2),
              ElementsAre(DoubleNear(1 + 2.0 / 3, 1e-9), DoubleNear(1.0 / 3, 1e-9)));
}

}  // namespace
}  // namespace sharewell::core
