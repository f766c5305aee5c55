#include "platform/process/user_account.h"

#include <gmock/gmock.h>

namespace sharewell::platform {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

// Accounts and groups that every Debian has.
TEST(UserAccount, IsFoundByNameAndByNumber) {
  const auto root = UserNamed("root");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->uid, 0U);
  EXPECT_EQ(root->home, "/root");
  ASSERT_TRUE(UserWithUid(1));
  EXPECT_EQ(UserWithUid(1)->name, "daemon");
  EXPECT_FALSE(UserNamed("no such user"));
  EXPECT_FALSE(UserWithUid(3'999'999'999));
}

TEST(UserAccount, AUidWithoutAnAccountIsShownAsItsNumber) {
  EXPECT_EQ(UserName(1), "daemon");
  EXPECT_EQ(UserName(3'999'999'999), "3999999999");
}

TEST(UserAccount, GroupsHaveNamesAndMembers) {
  EXPECT_THAT(GroupNamed("daemon"), Optional(Eq(1U)));
  EXPECT_THAT(GroupName(1), Optional(Eq("daemon")));
  EXPECT_FALSE(GroupNamed("no such group"));
  EXPECT_FALSE(GroupName(3'999'999'999));
  EXPECT_THAT(GroupsOfUser("daemon", 1), Contains(1U));
  EXPECT_THAT(GroupsOfUser("no such user", 77), ElementsAre(77U));
}

}  // namespace
}  // namespace sharewell::platform
