#include "api/access/sign_ins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::api {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;

const core::Account kAnn{"ann", 1000, 1000, true}, kBob{"bob", 1001, 1001, false};
const SignIns::Time kNow{};

TEST(SignIns, ACodeWorksOnceAndForMinutes) {
  SignIns sign_ins;
  const std::string code = sign_ins.NewCode(kAnn, kNow).value();
  const auto session = sign_ins.Exchange(code, "here", kNow + minutes(9));
  ASSERT_TRUE(session) << session.error().words;
  EXPECT_EQ(session->account.name, "ann");
  EXPECT_FALSE(session->account.admin) << "it never acts as an admin";
  EXPECT_EQ(sign_ins.Find(session->secret, kNow + hours(1))->uid, 1000U);
  EXPECT_FALSE(sign_ins.Find(code, kNow));
  const auto again = sign_ins.Exchange(code, "here", kNow + minutes(9));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().status, 403);
  EXPECT_THAT(again.error().words, HasSubstr("sharewell dashboard"));
  const std::string late = sign_ins.NewCode(kAnn, kNow).value();
  EXPECT_FALSE(sign_ins.Exchange(late, "here", kNow + minutes(10)));
}

TEST(SignIns, ASessionLastsWhileItIsUsed) {
  SignIns sign_ins;
  const auto session = sign_ins.Exchange(sign_ins.NewCode(kAnn, kNow).value(), "here", kNow);
  EXPECT_TRUE(sign_ins.Find(session->secret, kNow + hours(11)));
  EXPECT_TRUE(sign_ins.Find(session->secret, kNow + hours(22)));
  EXPECT_FALSE(sign_ins.Find(session->secret, kNow + hours(35)));
  for (const std::string& wrong :
       {std::string(), session->secret + "0", session->secret.substr(1)}) {
    EXPECT_FALSE(sign_ins.Find(wrong, kNow)) << wrong;
  }
}

TEST(SignIns, WhoSendsManyWrongCodesWaits) {
  SignIns sign_ins;
  const std::string code = sign_ins.NewCode(kAnn, kNow).value();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(sign_ins.Exchange("wrong", "eve", kNow).error().status, 403);
  }
  EXPECT_EQ(sign_ins.Exchange("wrong", "eve", kNow).error().status, 429);
  EXPECT_EQ(sign_ins.Exchange(code, "eve", kNow).error().status, 429);
  EXPECT_EQ(sign_ins.Exchange("wrong", "eve", kNow + minutes(1)).error().status, 403);
  EXPECT_TRUE(sign_ins.Exchange(code, "ann", kNow)) << "others are not kept from signing in";
}

TEST(SignIns, OneUserTakesNoRoomFromAnother) {
  SignIns sign_ins;
  const std::string bobs = sign_ins.NewCode(kBob, kNow).value();
  const std::string first = sign_ins.NewCode(kAnn, kNow).value();
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(sign_ins.NewCode(kAnn, kNow + minutes(1)));
  EXPECT_FALSE(sign_ins.Exchange(first, "ann", kNow + minutes(1))) << "her oldest went";
  EXPECT_TRUE(sign_ins.Exchange(bobs, "bob", kNow + minutes(1)));
}

}  // namespace
}  // namespace sharewell::api
