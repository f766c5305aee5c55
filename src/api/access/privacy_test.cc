#include "api/access/privacy.h"

#include <gmock/gmock.h>

namespace sharewell::api {
namespace {

using ::testing::HasSubstr;

core::Account AccountOf(std::uint32_t uid, std::string name, bool admin = false) {
  core::Account account;
  account.uid = uid;
  account.name = std::move(name);
  account.admin = admin;
  return account;
}

core::JobRecord JobOf(const core::Account& account) {
  core::JobRecord job;
  job.user = account;
  return job;
}

TEST(Privacy, UsuallyEverybodySeesAll) {
  const Privacy open;
  EXPECT_TRUE(open.SeesAllJobs(std::nullopt));
  EXPECT_TRUE(open.SeesAllUsage(std::nullopt));
  EXPECT_TRUE(open.Sees(std::nullopt, JobOf(AccountOf(1000, "ann"))));
}

TEST(Privacy, HiddenJobsAreSeenByTheirOwnerAndByOperators) {
  Privacy hidden;
  hidden.jobs = true;
  hidden.operators = {"olga"};
  const auto ann = AccountOf(1000, "ann"), ben = AccountOf(1001, "ben");
  EXPECT_TRUE(hidden.Sees(ann, JobOf(ann)));
  EXPECT_FALSE(hidden.Sees(ann, JobOf(ben)));
  EXPECT_FALSE(hidden.Sees(std::nullopt, JobOf(ben)));
  EXPECT_TRUE(hidden.Sees(AccountOf(1002, "olga"), JobOf(ben)));
  EXPECT_TRUE(hidden.Sees(AccountOf(1003, "root", true), JobOf(ben)));
  EXPECT_FALSE(hidden.SeesAllUsage(ann));
}

TEST(Privacy, HiddenUseHidesNoJobs) {
  Privacy hidden;
  hidden.usage = true;
  const auto ann = AccountOf(1000, "ann");
  EXPECT_TRUE(hidden.SeesAllJobs(ann));
  EXPECT_FALSE(hidden.SeesAllUsage(ann));
  EXPECT_TRUE(hidden.SeesAllUsage(AccountOf(1003, "root", true)));
}

TEST(Privacy, ARefusalSaysWhyAndWhatToDo) {
  Privacy hidden;
  hidden.setting = "PrivateData=jobs";
  const Refusal nobody = hidden.ForOperators(std::nullopt);
  EXPECT_EQ(nobody.status, 401);
  EXPECT_THAT(nobody.words, HasSubstr("PrivateData=jobs: say who asks"));
  EXPECT_EQ(hidden.ForOperators(AccountOf(1000, "ann")).status, 403);
}

}  // namespace
}  // namespace sharewell::api
