#include "predict/learn/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "predict/learn/json_reading.h"

namespace sharewell::predict::learn {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Against the value that another parser made of the same text.
void ExpectSame(const JsonValue& value, const json& other) {
  EXPECT_EQ(value.is_null(), other.is_null());
  EXPECT_EQ(value.is_object(), other.is_object());
  EXPECT_EQ(value.is_array(), other.is_array());
  EXPECT_EQ(value.is_string(), other.is_string());
  EXPECT_EQ(value.is_number(), other.is_number());
  EXPECT_EQ(value.is_true(), other == true);
  EXPECT_EQ(value.type_name(), other.type_name());
  ASSERT_EQ(value.Number().has_value(), other.is_number());
  if (other.is_number()) {
    EXPECT_EQ(*value.Number(), other.get<double>());
  }
  ASSERT_EQ(value.Text().has_value(), other.is_string());
  if (other.is_string()) {
    EXPECT_EQ(*value.Text(), other.get<std::string>());
  }
  const auto items = value.Items();
  ASSERT_EQ(items.size(), other.is_array() ? other.size() : 0);
  for (std::size_t i = 0; i < items.size(); ++i) ExpectSame(items[i], other[i]);
  const auto fields = value.Fields();
  ASSERT_EQ(fields.size(), other.is_object() ? other.size() : 0);
  for (const auto& [key, field] : fields) {
    ASSERT_TRUE(other.contains(key));
    ASSERT_TRUE(value.Has(key));
    ExpectSame(*value.Find(key), other[std::string(key)]);
  }
  EXPECT_FALSE(value.Has("nowhere"));
}

TEST(ParsedJson, HoldsTheValueThatAnotherParserGives) {
  for (const char* text : {"{}",
                           "[]",
                           "null",
                           "true",
                           "false",
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
                           " [1,\n2] "}) {
    SCOPED_TRACE(text);
    ExpectSame(ParsedJson(text).value(), json::parse(text));
  }
}

TEST(ParsedJson, IsNullWhereTheTextIsNoJson) {
  const std::string deep(3000, '[');
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1,]"), std::string("nul"),
        std::string("1e400"), std::string("NaN"), std::string("01"), std::string("[1] 2"),
        std::string("\"\xff\""), deep, deep + std::string(3000, ']'), std::string("[1\0]", 4)}) {
    EXPECT_TRUE(ParsedJson(text).value().is_null()) << text;
  }
}

TEST(ParsedJson, OfAKeyThatComesTwiceTheFirstCounts) {
  EXPECT_EQ(ParsedJson(R"({"a": 1, "a": 2})").value().Find("a")->Number(), 1);
}

TEST(ParsedJson, KeepsTheSignOfNought) {
  EXPECT_TRUE(std::signbit(*ParsedJson("-0.0").value().Number()));
}

TEST(Reader, ReadsListsOfNumbersAndSaysWhichEntryIsNone) {
  const ParsedJson parsed(R"({"a": [0.1, 1, -11.5], "b": [1, "x"], "c": [1, null], "d": 3})");
  Reader good("list");
  EXPECT_EQ(good.Numbers(parsed.value(), "a"), (std::vector{0.1, 1.0, -11.5}));
  EXPECT_EQ(good.Numbers(parsed.value(), "a", 3, -20, 20).size(), 3u);
  EXPECT_FALSE(good.failed());
  const auto error = [&](const char* key, std::size_t count) {
    Reader reader("list");
    EXPECT_TRUE(reader.Numbers(parsed.value(), key, count, -1, 20).empty());
    return reader.failed() ? reader.Error().value().message : "no error";
  };
  EXPECT_THAT(error("a", 3), HasSubstr("an entry of its \"a\" is -11.5; it must be from -1 to 20"));
  EXPECT_THAT(error("b", 2), HasSubstr("an entry of its \"b\" is string"));
  EXPECT_THAT(error("c", 2), HasSubstr("an entry of its \"c\" is null"));
  EXPECT_THAT(error("d", 1), HasSubstr("its \"d\" is no list"));
  EXPECT_THAT(error("e", 1), HasSubstr("it has no \"e\""));
  Reader more("list");
  EXPECT_TRUE(more.Numbers(parsed.value(), "a", 4, -20, 20).empty());
  EXPECT_THAT(more.Error().value().message, HasSubstr("has 3 entries; there must be 4"));
}

}  // namespace
}  // namespace sharewell::predict::learn
