#include "store/postgres/password.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.h"

namespace sharewell::store {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HoldsPassword, TellsAnAddressWithOneFromOneWithout) {
  for (const char* url : {"postgresql://me:x@host/db", "postgresql://host/db?password=x",
                          "postgres://me@host/db?sslpassword=x"}) {
    EXPECT_TRUE(HoldsPassword(url)) << url;
  }
  for (const char* url :
       {"postgresql://me@host:5432/db", "postgresql://me:@host/db", "/a:b@c/store.db", "",
        "postgresql://host/db?password=", "postgresql://host/db?passfile=/root/.pgpass"}) {
    EXPECT_FALSE(HoldsPassword(url)) << url;
  }
}

TEST(WithoutPassword, HidesItInAddresses) {
  EXPECT_EQ(WithoutPassword("postgresql://me@host/db"), "postgresql://me@host/db");
  EXPECT_EQ(WithoutPassword("postgresql://host:5432/db"), "postgresql://host:5432/db");
  EXPECT_EQ(WithoutPassword("postgresql://me:se%40cret@host:1/db"),
            "postgresql://me:***@host:1/db");
  EXPECT_EQ(WithoutPassword("postgresql://me:se@c/r:et@host/db"), "postgresql://me:***@host/db");
  EXPECT_EQ(WithoutPassword("postgresql://host/db?password=x&user=me"),
            "postgresql://host/db?password=***&user=me");
  EXPECT_EQ(WithoutPassword("postgresql://a:b@h/d?password=c@d"), "postgresql://a:***");
}

TEST(WithoutPassword, HidesItInWhatTheLibrarySays) {
  const std::string url = "postgresql://me:se%40cret@host/db?password=other";
  EXPECT_EQ(WithoutPassword("bad: \"" + url + "\"", url),
            "bad: \"postgresql://me:***@host/db?password=***\"");
  EXPECT_EQ(WithoutPassword("se@cret, se%40cret, other", url), "***, ***, ***");
}

TEST(OpenPostgres, SaysWhyWithoutThePassword) {
  for (const char* url :
       {"postgresql://me:hunter2@127.0.0.1:1/db", "postgresql://me:hunter2@host:badport/db",
        "postgresql://me:hunter2@127.0.0.1:1/db?nonsense=1",
        "postgresql://me@127.0.0.1:1/db?password=hunter2", "postgresql://me:hunter2@[::1/db",
        "postgres://me:hun%ter2@127.0.0.1:1/db"}) {
    const auto opened = Open(url);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, core::ErrorKind::kAbsent);
    EXPECT_THAT(opened.error().message, Not(HasSubstr("hunter2")));
    EXPECT_THAT(opened.error().message, Not(HasSubstr("hun%ter2")));
    EXPECT_THAT(opened.error().message, HasSubstr("cannot be reached"));
  }
}

}  // namespace
}  // namespace sharewell::store
