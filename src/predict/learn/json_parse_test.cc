#include "predict/learn/json_parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

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

TEST(ParseFast, KeepsTheSignOfNought) {
  EXPECT_TRUE(std::signbit(ParseFast("-0.0").get<double>()));
}

}  // namespace
}  // namespace sharewell::predict::learn
