#include "json/text_scan.h"

#include <gtest/gtest.h>

namespace sharewell::json {
namespace {

TEST(JsonTextScan, FindsWhereValuesEnd) {
  TextScan scan(R"( {"a]\"": [1, {"b": "}"}]} , "x\\" ,-2.5e3,true])");
  std::string_view value;
  ASSERT_TRUE(scan.SkipValue(value));
  EXPECT_EQ(value, R"({"a]\"": [1, {"b": "}"}]})");
  EXPECT_TRUE(scan.Take(','));
  ASSERT_TRUE(scan.SkipString(value));
  EXPECT_EQ(value, R"(x\\)");
  EXPECT_TRUE(scan.Take(','));
  ASSERT_TRUE(scan.SkipValue(value));
  EXPECT_EQ(value, "-2.5e3");
  EXPECT_TRUE(scan.Take(','));
  ASSERT_TRUE(scan.SkipValue(value));
  EXPECT_EQ(value, "true");
  EXPECT_EQ(scan.Peek(), ']');
}

TEST(JsonTextScan, StaysWhereAValueBeganThatTheTextEndsIn) {
  for (const char* text : {"  {\"a\": [1", "  \"abc", "  12", "  [\"a]"}) {
    TextScan scan(text);
    std::string_view value;
    EXPECT_FALSE(scan.SkipValue(value)) << text;
    EXPECT_EQ(scan.at(), 2u) << text;
  }
  TextScan empty("");
  EXPECT_EQ(empty.Peek(), '\0');
  EXPECT_TRUE(empty.done());
}

}  // namespace
}  // namespace sharewell::json
