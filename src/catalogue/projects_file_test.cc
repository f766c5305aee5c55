#include "catalogue/projects_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::catalogue {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kTwoProjects = R"(
[projects.vision]
share = 0.5
users = ["ann", "bob"]

[projects.speech]
share = 0.25
users = ["bob"]
)";

std::string ProjectsError(const std::string& text) {
  const auto parsed = ParseProjects(text, "sharewell.toml");
  return parsed ? "no error" : parsed.error().message;
}

TEST(ProjectsFile, ProjectsComeInTheirOrderBehindTheDefaultOne) {
  const auto parsed = ParseProjects(kTwoProjects, "p.toml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, (core::Projects{{"default", 0.25, {}},
                                     {"vision", 0.5, {"ann", "bob"}},
                                     {"speech", 0.25, {"bob"}}}));
}

TEST(ProjectsFile, AServersWholeFileWillDo) {
  EXPECT_EQ(ProjectsError(std::string(kTwoProjects) +
                          "[limits]\ngpus = 4\n[sharing]\nunknown = \"alone\"\n"
                          "[prices]\ncurrency = \"EUR\"\nH200 = 3.5\n"),
            "no error");
}

TEST(ProjectsFile, ReclaimIsOfAllProjects) {
  EXPECT_FALSE(core::Reclaim(*ParseProjects(kTwoProjects, "p.toml")));
  const auto with = [](const std::string& line) { return "[projects]\n" + line + kTwoProjects; };
  const auto parsed = ParseProjects(with("reclaim = true"), "p.toml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 3U) << "it is no project";
  EXPECT_TRUE(core::Reclaim(*parsed));
  EXPECT_FALSE(core::Reclaim(*ParseProjects(with("reclaim = false"), "p.toml")));
  for (const char* wrong : {"reclaim = \"yes\"", "reclaim = 1", "reclaim = []"}) {
    EXPECT_THAT(ProjectsError(with(wrong)),
                AllOf(HasSubstr("line 2"), HasSubstr("reclaim must be true or false")));
  }
  EXPECT_THAT(ProjectsError("[projects.reclaim]\nshare = 0.5\nusers = [\"ann\"]"),
              HasSubstr("no project has that name: take another one"));
  EXPECT_THAT(ProjectsError("[projects]\nreclaim = true"),
              HasSubstr("there are none: write [projects.NAME]"));
  EXPECT_THAT(ProjectsError(std::string(kTwoProjects) + "reclaim = true"),
              HasSubstr("[projects.speech]"))
      << "it stands in [projects]";
}

TEST(ProjectsFile, TenTenthsAreOne) {
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += fmt::format("[projects.p{}]\nshare = 0.1\nusers = [\"ann\"]\n", i);
  }
  EXPECT_EQ(ProjectsError(text), "no error");
}

TEST(ProjectsFile, WhatIsWrongIsSaidWithItsLineAndWhatToWrite) {
  const auto with = [](const std::string& lines) {
    return ProjectsError("[projects.vision]\n" + lines);
  };
  EXPECT_THAT(with("share = 50\nusers = [\"ann\"]"),
              AllOf(HasSubstr("sharewell.toml: line 2:"), HasSubstr("at most 1"),
                    HasSubstr("write share = 0.5 for 50 %")));
  EXPECT_THAT(with("users = [\"ann\"]\nshare = 0"), HasSubstr("line 3: share must be a part"));
  EXPECT_THAT(with("share = -1\nusers = [\"ann\"]"), HasSubstr("share must be a part"));
  EXPECT_THAT(with("share = nan\nusers = [\"ann\"]"), HasSubstr("share must be a part"));
  EXPECT_THAT(with("share = \"half\"\nusers = [\"ann\"]"), HasSubstr("share must be a part"));
  EXPECT_THAT(with("users = [\"ann\"]"), AllOf(HasSubstr("line 1"), HasSubstr("has no share")));
  EXPECT_THAT(with("share = 0.5"), HasSubstr("'vision' has no users: write users = ["));
  EXPECT_THAT(with("share = 0.5\nusers = []"), AllOf(HasSubstr("line 3"), HasSubstr("no users")));
  EXPECT_THAT(with("share = 0.5\nusers = [\"\"]"), HasSubstr("empty name"));
  EXPECT_THAT(with("share = 0.5\nusers = \"ann\""), HasSubstr("must be a list"));
  EXPECT_THAT(with("share = 0.5\nusers = [\"ann\", \"bob\", \"ann\"]"),
              AllOf(HasSubstr("line 3"), HasSubstr("'ann' stands twice")));
  EXPECT_THAT(with("share = 0.5\nuser = [\"ann\"]"), HasSubstr("did you mean 'users'"));
  EXPECT_THAT(with("share = 0.6\nusers = [\"ann\"]\n[projects.b]\nshare = 0.5\nusers = [\"x\"]"),
              AllOf(HasSubstr("line 5"), HasSubstr("sum to 1.1"), HasSubstr("with 0.4 for 'b'")));
  EXPECT_THAT(ProjectsError("[projects]\nvision = 0.5"),
              AllOf(HasSubstr("line 2"), HasSubstr("write [projects.NAME]")));
  EXPECT_THAT(ProjectsError("[projects.default]\nshare = 0.5\nusers = [\"ann\"]"),
              HasSubstr("the project of the users of no other"));
  EXPECT_THAT(ProjectsError("[projects.\"a b\"]\nshare = 0.5\nusers = [\"ann\"]"),
              HasSubstr("'a b' is no name of a project"));
  EXPECT_THAT(ProjectsError("[project.vision]\nshare = 0.5"), HasSubstr("did you mean 'projects'"));
  EXPECT_THAT(ProjectsError("[limits]\ngpus = 3"), HasSubstr("there are no projects in it"));
  EXPECT_THAT(ProjectsError(""), HasSubstr("is empty"));
}

}  // namespace
}  // namespace sharewell::catalogue
