#include "collect/host/pod_names.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::collect {
namespace {

TEST(PodNames, AreReadFromTheLinksOfContainersLogs) {
  const platform::TestFolder folder;
  const auto link = [&](const std::string& name, const std::string& target) {
    std::filesystem::create_symlink(target, folder.Path(name));
  };
  link("a_team_main-0123.log", "/var/log/pods/team_a_0f2e4c1a-1b2c/main/0.log");
  link("a_team_side-4567.log", "/var/log/pods/team_a_0f2e4c1a-1b2c/side/1.log");
  link("b.log", "/elsewhere/kube-system_b-x.1_77/main/0.log");
  int count = 0;
  for (const char* odd : {"plain", "/0.log", "/var/log/pods/team_a/main/0.log", "//", "/_a_1/m/0",
                          "/x/team__1/m/0", "/x/team_a_/m/0", "/x/team_a_b_1/m/0"}) {
    link("odd" + std::to_string(++count), odd);
  }
  folder.Write("file", "no link");
  HostFiles files("/");
  EXPECT_EQ(ReadPodNames(files, folder.Path("")),
            (std::map<std::string, PodName>{{"pod/0f2e4c1a-1b2c", {"team", "a"}},
                                            {"pod/77", {"kube-system", "b-x.1"}}}));
  EXPECT_TRUE(ReadPodNames(files, folder.Path("none")).empty());
}

}  // namespace
}  // namespace sharewell::collect
