// What can go wrong with a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/postgres/postgres_place.h"
#include "store/store.h"
#include "store/test_batches.h"

namespace sharewell::store {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(PostgresFaults, AServerThatGoesAndComesLosesNothing) {
  const auto place = NewTestPlace();
  auto opened = Open(place->where());
  ASSERT_TRUE(opened) << opened.error().message;
  Store& store = **opened;
  int sample = 0, failed = 0;
  const auto run = [&](int seconds) {
    for (int i = 0; i < seconds; ++i, ++sample) {
      ASSERT_TRUE(store.Append("n1", BatchOf(kStart + sample * 1000, sample)));
      if (sample % 5 != 0) continue;
      if (const auto done = store.Sync(); !done) {
        ++failed;
        EXPECT_EQ(done.error().kind, core::ErrorKind::kAbsent) << done.error().message;
        EXPECT_THAT(done.error().message, HasSubstr(SharedServer().url()));
      }
    }
  };
  for (const int how : {SIGINT, SIGQUIT}) {
    run(100);
    SharedServer().Stop(how);
    failed = 0;
    run(50);
    EXPECT_EQ(failed, 10);
    EXPECT_FALSE(store.Read(KeyOf("n1"), {}));
    EXPECT_FALSE(store.Save({}));
    EXPECT_FALSE(Open(place->where()));
    SharedServer().Restart();
    ASSERT_TRUE(SharedServer().running()) << SharedServer().log();
    failed = 0;
    run(100);
    EXPECT_EQ(failed, 0);
  }
  ASSERT_TRUE(store.Sync());
  auto again = Open(place->where());
  ASSERT_TRUE(again);
  const auto points = (*again)->Read(KeyOf("n1"), {});
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_THAT(*points, SizeIs(500));
  for (int i = 0; i < 500; ++i) EXPECT_EQ((*points)[static_cast<std::size_t>(i)].value, i);
}

TEST(PostgresFaults, AUserWithoutRightsIsToldWhatToGrant) {
  const auto place = NewTestPlace();
  place->Run("DROP ROLE IF EXISTS guest");
  place->Run("CREATE ROLE guest LOGIN");
  place->Run("REVOKE CREATE ON DATABASE postgres FROM PUBLIC");
  std::string url = place->where();
  url.replace(url.find("sharewell@"), 9, "guest");
  const auto opened = Open(url);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("GRANT CREATE ON DATABASE"));
}

TEST(PostgresFaults, ADatabaseInAnotherEncodingIsRefused) {
  const auto place = NewTestPlace();
  place->Run("DROP DATABASE IF EXISTS latin");
  place->Run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
  std::string url = place->where();
  url.replace(url.find("/postgres?"), 9, "/latin");
  const auto opened = Open(url);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("encoding is LATIN1 and must be UTF8"));
}

}  // namespace
}  // namespace sharewell::store
