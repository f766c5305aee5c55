#include "engine/kubernetes/pods/pod_reasons.h"

#include <gtest/gtest.h>

namespace sharewell::engine {
namespace {

TEST(PodReasons, NumbersBecomeNames) {
  KubeNames names;
  names.pod_of = [](std::int64_t job) { return job < 10 ? "team/p" + std::to_string(job) : ""; };
  names.gpu = [](int gpu) { return gpu == 2 ? "GPU-8f2a of node n1" : ""; };
  const auto said = [&](std::string_view words) { return InKubeWords(words, names); };
  EXPECT_EQ(said("GPU 2 has job 3 of team"), "GPU GPU-8f2a of node n1 has pod team/p3");
  EXPECT_EQ(said("behind jobs 3, 5 and 6; GPU 1"),
            "behind pods team/p3, team/p5 and team/p6; GPU 1");
  EXPECT_EQ(said("job 3 of teams"), "pod team/p3 of teams");
  EXPECT_EQ(said("job 33"), "job 33") << "nobody knows it";
  EXPECT_EQ(said("jobs 3 and 44"), "pods team/p3 and 44");
  EXPECT_EQ(said("`sharewell release 3`, myjob 3, job 3x, job , GPU "),
            "`sharewell release 3`, myjob 3, job 3x, job , GPU ");
  EXPECT_EQ(said("job 99999999999999999999"), "job 99999999999999999999");
  EXPECT_EQ(said(""), "");
}

}  // namespace
}  // namespace sharewell::engine
