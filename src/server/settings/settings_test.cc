#include "server/settings/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "platform/files/test_folder.h"
#include "platform/files/write_file.h"

namespace sharewell::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFile = R"(
[limits]
queued_jobs = 500
job_bytes = "1MiB"

[limits.user.ann]
queued_jobs = 7

[limits.group.lab]
queued_jobs = 900
studies = 3
server_seconds_per_minute = 1.5

[limits.group.students]
queued_jobs = 100
studies = 5
)";

NameService Names() {
  return {[](const std::string& name) {
            return name == "ann" ? std::optional<std::uint32_t>(1001) : std::nullopt;
          },
          [](const std::string& name) {
            return name == "lab"        ? std::optional<std::uint32_t>(50)
                   : name == "students" ? std::optional<std::uint32_t>(60)
                                        : std::nullopt;
          },
          [](std::uint32_t uid) {
            return uid == 1003 ? std::vector<std::uint32_t>{60} : std::vector<std::uint32_t>{};
          }};
}

SettingsFile Parsed(const std::string& text) {
  auto parsed = ParseSettings(text, "sharewell.toml");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *parsed : SettingsFile{};
}

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseSettings(text, "sharewell.toml");
  return parsed ? "no error" : parsed.error().message;
}

TEST(SettingsTest, WithoutAFileTheDefaultsHold) {
  const Settings settings({}, {.own_uid = 900, .admin_group = {}, .names = Names()});
  EXPECT_EQ(settings.LimitsOf(1001), core::Limits{});
  EXPECT_EQ(settings.LimitsOf(0), core::AdminLimits());
  EXPECT_EQ(settings.LimitsOf(900), core::AdminLimits());
  EXPECT_EQ(settings.LimitsOf(core::Account{"t", 1001, 1001, true}), core::AdminLimits());
}

TEST(SettingsTest, AUsersOwnTableWinsThenTheMostGenerousGroupThenEverybodys) {
  const Settings settings(Parsed(kFile), {.own_uid = 0, .admin_group = {}, .names = Names()});
  settings.Meet(1001, {60});
  settings.Meet(1002, {50, 60});
  const core::Limits ann = settings.LimitsOf(1001);
  EXPECT_EQ(ann.queued_jobs, 7);
  EXPECT_EQ(ann.studies, 5);
  EXPECT_EQ(ann.job_bytes, core::Bytes(1 << 20));
  const core::AccountLimits bob = settings.Explain({"bob", 1002, 60, false});
  EXPECT_EQ(bob.limits.queued_jobs, 900);
  EXPECT_EQ(bob.limits.studies, 5);
  EXPECT_EQ(bob.limits.server_seconds_per_minute, 1.5);
  ASSERT_EQ(bob.from.size(), core::LimitKeys().size());
  EXPECT_EQ(bob.from[0], "[limits.group.lab]");
  EXPECT_EQ(bob.from[1], "default");
  EXPECT_EQ(bob.from[3], "[limits]");
  EXPECT_EQ(settings.LimitsOf(1004).queued_jobs, 500);
}

TEST(SettingsTest, AnAdminDoesNotLoseByTheTablesOfOthers) {
  const Settings settings(Parsed(kFile), {.own_uid = 0, .admin_group = 60, .names = Names()});
  settings.Meet(1002, {60});
  EXPECT_EQ(settings.LimitsOf(1002).queued_jobs, core::AdminLimits().queued_jobs);
  const core::AccountLimits root = settings.Explain({"root", 0, 0, true});
  EXPECT_EQ(root.from[0], "default of admins");
}

TEST(SettingsTest, GroupsOfWhomTheKernelDoesNotTellAreAskedForElsewhere) {
  const Settings settings(Parsed(kFile), {.own_uid = 0, .admin_group = {}, .names = Names()});
  EXPECT_EQ(settings.LimitsOf(1003).queued_jobs, 500);  // not waited for
  for (int i = 0; i < 2000 && settings.LimitsOf(1003).queued_jobs != 100; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(settings.LimitsOf(1003).queued_jobs, 100);
}

TEST(SettingsTest, HowUnknownJobsStartIsForEverybodyAndByUser) {
  const Settings none({}, {.own_uid = 0, .admin_group = {}, .names = Names()});
  EXPECT_EQ(none.UnknownOf({"", 1001}), (api::UnknownJobs{false, "default"}));
  const Settings given(
      Parsed("[sharing]\nunknown = \"alone\"\n[sharing.user.ann]\nunknown = \"guest\""),
      {.own_uid = 0, .admin_group = {}, .names = Names()});
  EXPECT_EQ(given.UnknownOf({"", 1001}), (api::UnknownJobs{false, "[sharing.user.ann]"}));
  EXPECT_EQ(given.UnknownOf({"", 1002}), (api::UnknownJobs{true, "[sharing]"}));
  const Settings wrong(Parsed("[sharing.user.an]\nunknown = \"alone\""),
                       {.own_uid = 0, .admin_group = {}, .names = Names()});
  ASSERT_EQ(wrong.remarks().size(), 1U);
  EXPECT_THAT(wrong.remarks()[0], HasSubstr("no user 'an'"));
  EXPECT_THAT(
      ErrorOf("[sharing]\nunknown = \"guests\""),
      AllOf(HasSubstr("line 2"), HasSubstr("must be \"guest\" or \"alone\", not 'guests'")));
  EXPECT_THAT(ErrorOf("[sharing]\nunknwon = \"guest\""), HasSubstr("did you mean 'unknown'"));
  EXPECT_THAT(ErrorOf("[sharing.user]\nann = \"alone\""), HasSubstr("[sharing.user.NAME]"));
}

TEST(SettingsTest, K8NamespacesAreUsersThatAreKnownByNameAlone) {
  constexpr std::uint32_t kNamespaces = 4'000'000'000;
  const Settings settings(
      Parsed("[limits.user.team-a]\ngpus = 2\n[sharing.user.team-a]\nunknown = \"alone\"\n"
             "[limits.user.ann]\ngpus = 3\n[projects.team-a]\nshare = 0.5\nusers = [\"team-a\"]"),
      {.own_uid = 0, .admin_group = {}, .names = Names(), .uid_of_names = kNamespaces});
  EXPECT_TRUE(settings.remarks().empty());
  const core::Account team{"team-a", kNamespaces, kNamespaces, false};
  EXPECT_EQ(settings.LimitsOf(team).gpus, 2);
  EXPECT_EQ(settings.Explain(team).limits.gpus, 2);
  EXPECT_TRUE(settings.UnknownOf(team).alone);
  const core::Account other{"team-b", kNamespaces, kNamespaces, false};
  EXPECT_EQ(settings.LimitsOf(other).gpus, core::kNoLimit);
  EXPECT_FALSE(settings.UnknownOf(other).alone);
  EXPECT_EQ(settings.LimitsOf(1001).gpus, 3) << "a user of this machine";
  EXPECT_EQ(settings.LimitsOf({"ann", kNamespaces, kNamespaces, false}).gpus, 3)
      << "a namespace of the same name";
}

TEST(SettingsTest, PricesAreByModelUnderAnyOfItsNames) {
  const SettingsFile file =
      Parsed("[prices]\ncurrency = \"EUR\"\nh200 = 3.5\n\"rtx 4090\" = 0\n\"NVIDIA XYZ\" = 2\n");
  EXPECT_EQ(file.prices.currency, "EUR");
  EXPECT_EQ(file.prices.Of("H200"), 3.5);
  EXPECT_EQ(file.prices.Of("RTX 4090"), 0);
  EXPECT_EQ(file.prices.Of("NVIDIA XYZ"), 2);
  EXPECT_EQ(file.prices.Of("A100"), std::nullopt);
  const Settings settings(file, {.own_uid = 0, .admin_group = {}, .names = Names()});
  ASSERT_EQ(settings.remarks().size(), 1U);
  EXPECT_THAT(settings.remarks()[0], HasSubstr("'NVIDIA XYZ'"));
  EXPECT_TRUE(Parsed("[prices]\ncurrency = \"EUR\"").prices.empty());
}

TEST(SettingsTest, PricesThatAreNoneAreRefusedWithTheirLine) {
  for (const char* wrong : {"H200 = -1", "H200 = \"3.5\"", "H200 = nan", "H200 = inf", "H200 = 1e7",
                            "H200 = true", "H200 = []", "[prices.H200]\nprice = 1"}) {
    EXPECT_THAT(ErrorOf(std::string("[prices]\n") + wrong),
                AllOf(HasSubstr("line 2"), HasSubstr("'H200' must be what an hour")))
        << wrong;
  }
  EXPECT_THAT(ErrorOf("[prices]\nH200 = 1\nh200 = 2"),
              AllOf(HasSubstr("line 3"), HasSubstr("priced twice")));
  EXPECT_THAT(ErrorOf("[prices]\ncurrency = 3"), HasSubstr("currency"));
  EXPECT_THAT(ErrorOf("[prices]\ncurrency = \"US Dollar\""), HasSubstr("without blanks"));
  EXPECT_THAT(ErrorOf("prices = 3"), HasSubstr("prices"));
  EXPECT_THAT(ErrorOf("[price]\nH200 = 3"), HasSubstr("did you mean 'prices'"));
}

TEST(SettingsTest, WhoIsNotHereIsSaid) {
  const Settings settings(Parsed("[limits.user.an]\nstudies = 1\n[limits.group.lab]\nstudies = 1"),
                          {.own_uid = 0, .admin_group = {}, .names = Names()});
  ASSERT_EQ(settings.remarks().size(), 1U);
  EXPECT_THAT(settings.remarks()[0], HasSubstr("no user 'an'"));
}

TEST(SettingsTest, WhatIsWrongInTheFileIsSaidWithItsLine) {
  EXPECT_THAT(ErrorOf("[limits]\nqueud_jobs = 3"),
              AllOf(HasSubstr("sharewell.toml: line 2:"), HasSubstr("did you mean 'queued_jobs'")));
  EXPECT_THAT(ErrorOf("\n[limit]\n"), AllOf(HasSubstr("line 2"), HasSubstr("did you mean")));
  EXPECT_THAT(ErrorOf("[limits.user.ann]\n\nstudys = 3"),
              AllOf(HasSubstr("line 3"), HasSubstr("did you mean 'studies'")));
  EXPECT_THAT(ErrorOf("[limits]\nqueued_jobs = -1"), HasSubstr("line 2: queued_jobs must be"));
  EXPECT_THAT(ErrorOf("[limits]\nqueued_jobs = 1.5"), HasSubstr("queued_jobs must be"));
  EXPECT_THAT(ErrorOf("[limits]\nlog_bytes = \"2 oxen\""), HasSubstr("a size such as"));
  EXPECT_THAT(ErrorOf("[limits]\nuser = 3"), HasSubstr("must be a table"));
  EXPECT_THAT(ErrorOf("[limits.user]\nann = 3"), HasSubstr("[limits.user.NAME]"));
  EXPECT_THAT(ErrorOf("[limits"), HasSubstr("not TOML"));
  EXPECT_EQ(ErrorOf(""), "no error");
  EXPECT_EQ(ErrorOf("# nothing yet\n"), "no error");
}

TEST(SettingsTest, LimitsOfGpusAndTime) {
  const Settings settings(
      Parsed("[limits]\ngpus = 4\ngpu_hours_a_week = 100.5\njob_time = \"24h\"\n"
             "[limits.user.ann]\njob_time = \"7d\""),
      {.own_uid = 0, .admin_group = {}, .names = Names()});
  const core::Limits eve = settings.LimitsOf(1004);
  EXPECT_EQ(eve.gpus, 4);
  EXPECT_EQ(eve.gpu_hours_a_week, 100.5);
  EXPECT_EQ(eve.job_time, core::Seconds(86400));
  EXPECT_EQ(settings.LimitsOf(1001).job_time, core::Seconds(7 * 86400));
  EXPECT_EQ(settings.LimitsOf(0).gpus, core::kNoLimit) << "admins have no less than usual";
  for (const char* wrong : {"24", "\"24\"", "\"a day\"", "\"0h\"", "\"-1h\"", "\"99999999d\""}) {
    EXPECT_THAT(ErrorOf(std::string("[limits]\njob_time = ") + wrong),
                HasSubstr("line 2: job_time must be a time such as \"24h\""));
  }
  EXPECT_THAT(ErrorOf("[limits]\ngpus = \"all\""), HasSubstr("gpus must be a number"));
  EXPECT_THAT(ErrorOf("[limits]\ngpu_hours_week = 3"),
              HasSubstr("did you mean 'gpu_hours_a_week'"));
}

TEST(SettingsTest, ProjectsAreReadAndWhoIsNotHereIsSaid) {
  const Settings settings(Parsed("[projects.vision]\nshare = 0.5\nusers = [\"ann\", \"an\"]"),
                          {.own_uid = 0, .admin_group = {}, .names = Names()});
  ASSERT_EQ(settings.projects().size(), 2U);
  EXPECT_EQ(settings.projects()[1].name, "vision");
  ASSERT_EQ(settings.remarks().size(), 1U);
  EXPECT_THAT(settings.remarks()[0],
              AllOf(HasSubstr("no user 'an'"), HasSubstr("[projects.vision]")));
  EXPECT_THAT(ErrorOf("[projects.vision]\nshare = 5\nusers = [\"ann\"]"),
              AllOf(HasSubstr("sharewell.toml: line 2:"), HasSubstr("write share = 0.05")));
}

TEST(SettingsTest, AFileThatNobodyNamedMayBeAbsent) {
  const platform::TestFolder folder;
  EXPECT_TRUE(ReadSettings(folder.Path("sharewell.toml"), false));
  EXPECT_FALSE(ReadSettings(folder.Path("sharewell.toml"), true));
}

}  // namespace
}  // namespace sharewell::server
