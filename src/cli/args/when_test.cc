#include "cli/args/when.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::cli {
namespace {

constexpr core::UnixMillis kNow = 1'700'000'000'000;

TEST(When, AgoAndByTheCalendar) {
  EXPECT_EQ(ParseWhen("--from", "now", kNow), kNow);
  EXPECT_EQ(ParseWhen("--from", "15m", kNow), kNow - 900'000);
  EXPECT_EQ(ParseWhen("--from", "0", kNow), kNow);
  EXPECT_EQ(ParseWhen("--from", "1970-01-02", kNow), 86'400'000);
  EXPECT_EQ(ParseWhen("--from", "2023-11-14T22:13:20Z", kNow), kNow);
  EXPECT_EQ(ParseWhen("--from", "2023-11-14 22:13", kNow), kNow - 20'000);
}

TEST(When, EverythingElseIsRefused) {
  for (const char* wrong :
       {"", "yesterday", "2023-13-01", "2023-02-29", "2023-11-14T", "2023-11-14T24:00",
        "2023-11-14T10:60", "2023-11-14T10:00:0", "2023-11-14x10:00", "2023-11-1", "-5m", "Z",
        "2023-11-14T10:00:00ZZ", "99999999d"}) {
    const auto when = ParseWhen("--from", wrong, kNow);
    ASSERT_FALSE(when) << wrong;
    EXPECT_EQ(when.error().kind, core::ErrorKind::kUsage);
    EXPECT_THAT(when.error().message, ::testing::StartsWith("--from: '"));
  }
}

}  // namespace
}  // namespace sharewell::cli
