#include "predict/learn/json_parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "predict/learn/json_reading.h"

namespace sharewell::predict::learn {
namespace {

using nlohmann::json;

void ExpectSame(const std::string& text) {
  const json fast = ParseFast(text);
  const json plain = json::parse(text, nullptr, false);
  ASSERT_EQ(fast.is_discarded(), plain.is_discarded()) << text;
  if (plain.is_discarded()) return;
  EXPECT_EQ(fast, plain) << text;
  EXPECT_EQ(fast.dump(), plain.dump()) << text;
}

TEST(ParseFast, GivesTheValueThatTheOtherParserGives) {
  for (const char* text : {"{}",
                           "[]",
                           "null",
                           "true",
                           "\"a\\u00e9\\n\"",
                           "0",
                           "-0",
                           "-0.0",
                           "7",
                           "-7",
                           "1e-320",
                           "2.2250738585072011e-308",
                           "0.1",
                           "-4.28803566651725",
                           "9223372036854775807",
                           "9223372036854775808",
                           "18446744073709551615",
                           "-9223372036854775808",
                           R"({"a": [1, 2.5, null, {"b": false}], "c": {"d": "e"}})",
                           R"({"a": 1, "a": 2})",
                           " [1,\n2] "}) {
    ExpectSame(text);
  }
}

TEST(ParseFast, TakesAndRefusesWhatTheOtherParserDoes) {
  const std::string deep(3000, '[');
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1,]"), std::string("nul"),
        std::string("1e400"), std::string("NaN"), std::string("01"), std::string("[1] 2"),
        std::string("\"\xff\""), std::string("123456789012345678901234567890"),
        std::string("-9223372036854775809"), std::string("\xef\xbb\xbf[1]"), deep,
        deep + std::string(3000, ']'), std::string("[1\0]", 4)}) {
    ExpectSame(text);
  }
}

TEST(ParsePacked, KeepsLongListsOfNumbersAsTheirBytesAndAllElseAsItIs) {
  const json numbers = ParsePacked("[0.1,1,2,3,4,5,6,7,8,9,10,-11.5]");
  ASSERT_TRUE(numbers.is_binary());
  EXPECT_EQ(numbers.get_binary().size(), 12 * sizeof(double));
  EXPECT_EQ(Reader("list").Numbers(json{{"a", numbers}}, "a").back(), -11.5);
  EXPECT_EQ(Reader("list").Numbers(json{{"a", numbers}}, "a").front(), 0.1);
  Reader small("list");
  EXPECT_TRUE(small.Numbers(json{{"a", numbers}}, "a", 12, 0, 20).empty());
  EXPECT_TRUE(small.failed());
  Reader more("list");
  EXPECT_TRUE(more.Numbers(json{{"a", numbers}}, "a", 13, -20, 20).empty());
  EXPECT_TRUE(more.failed());
  for (const char* text : {"[1,2,3]", "[0,1,2,3,4,5,6,7,8,9,10,null]", R"({"a":[[]]})"}) {
    EXPECT_EQ(ParsePacked(text), json::parse(text)) << text;
  }
}

TEST(ParseFast, KeepsTheSignOfNought) {
  EXPECT_TRUE(std::signbit(ParseFast("-0.0").get<double>()));
}

}  // namespace
}  // namespace sharewell::predict::learn
