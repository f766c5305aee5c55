#include "json/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace sharewell::json {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::string ErrorOf(std::string_view text, std::size_t deepest = Document::kDeepest) {
  const auto parsed = Document::Parse(text, deepest);
  return parsed ? "read" : parsed.error().message;
}

TEST(JsonValue, EachKindAnswersForItselfAlone) {
  const auto parsed = Document::Parse(
      R"({"flag":true,"whole":-3,"large":18446744073709551615,"half":0.5,"text":"a\u00e9","list":[1,null],"object":{},"null":null})");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Value root = parsed->root();
  EXPECT_TRUE(root.is_object());
  EXPECT_EQ(root.size(), 8u);
  EXPECT_EQ(root["flag"].Bool(), true);
  EXPECT_EQ(root["whole"].Whole(), -3);
  EXPECT_EQ(root["whole"].Number(), -3.0);
  EXPECT_EQ(root["whole"].Unsigned(), std::nullopt);
  EXPECT_EQ(root["large"].Whole(), std::nullopt);
  EXPECT_EQ(root["large"].Unsigned(), 18446744073709551615u);
  EXPECT_EQ(root["half"].Number(), 0.5);
  EXPECT_EQ(root["half"].Whole(), std::nullopt);
  EXPECT_EQ(root["text"].Text(), "a\xc3\xa9");
  EXPECT_EQ(root["text"].Number(), std::nullopt);
  EXPECT_EQ(root["list"].size(), 2u);
  EXPECT_TRUE(root["object"].empty());
  EXPECT_TRUE(root["null"].is_null());
  EXPECT_TRUE(root.Has("null"));
  EXPECT_FALSE(root.Has("nil"));
}

TEST(JsonValue, WhatIsNotThereIsNullHoweverDeep) {
  const auto parsed = Document::Parse(R"({"a":{"b":[{"c":7}]}})");
  ASSERT_TRUE(parsed);
  const Value root = parsed->root();
  EXPECT_EQ(root["a"]["b"].At(0)["c"].Whole(), 7);
  EXPECT_TRUE(root["x"]["y"].At(3)["z"].is_null());
  EXPECT_TRUE(root["a"]["b"]["c"].is_null()) << "a list has no keys";
  EXPECT_TRUE(root["a"].At(0).is_null()) << "an object has no entries";
  EXPECT_TRUE(Value().is_null());
  EXPECT_EQ(Value()["a"].Text(), std::nullopt);
  EXPECT_EQ(Value().size(), 0u);
}

TEST(JsonValue, ListsAndObjectsAreWalkedInTheirOrder) {
  const auto parsed = Document::Parse(R"({"b":[1,[2,{"x":3}],4],"a":"z","b":5})");
  ASSERT_TRUE(parsed);
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [key, value] : parsed->root().members()) members.emplace_back(key, value.Line());
  EXPECT_THAT(members,
              ElementsAre(Pair("b", "[1,[2,{\"x\":3}],4]"), Pair("a", "\"z\""), Pair("b", "5")));
  std::vector<std::string> items;
  for (const Value item : parsed->root()["b"].items()) items.push_back(item.Line());
  EXPECT_THAT(items, ElementsAre("1", "[2,{\"x\":3}]", "4")) << "of equal keys the first counts";
  for (const Value item : parsed->root()["a"].items()) ADD_FAILURE() << item.Line();
}

TEST(JsonValue, NumbersComeAtOnce) {
  const auto parsed = Document::Parse(R"([1,2.5,-3e2,"x",null])");
  ASSERT_TRUE(parsed);
  const auto numbers = parsed->root().Numbers();
  ASSERT_TRUE(numbers);
  ASSERT_EQ(numbers->size(), 5u);
  EXPECT_EQ((*numbers)[1], 2.5);
  EXPECT_EQ((*numbers)[2], -300);
  EXPECT_TRUE(std::isnan((*numbers)[3]) && std::isnan((*numbers)[4]));
  EXPECT_EQ(Value().Numbers(), std::nullopt);
}

TEST(JsonValue, IsQuotedAsMessagesHaveIt) {
  const auto parsed = Document::Parse(R"(["a\nb",3,3.0,true,null,[],{}])");
  ASSERT_TRUE(parsed);
  std::vector<std::string> quoted;
  for (const Value item : parsed->root().items()) quoted.push_back(item.Quoted());
  EXPECT_THAT(quoted, ElementsAre("'a?b'", "3", "3.0", "true", "null", "a list", "an object"));
}

TEST(JsonDocument, SaysWhereItIsNoJson) {
  EXPECT_EQ(ErrorOf("{\"a\": 1,\n \"b\": }"), "line 2: is no valid JSON here (byte 16)");
  EXPECT_EQ(ErrorOf(""), "line 1: is no valid JSON here (byte 1)");
  EXPECT_EQ(ErrorOf("[1,2"), "line 1: is no valid JSON here (byte 5)");
  EXPECT_EQ(ErrorOf("[\"\xff\"]"), "line 1: is no valid JSON here (byte 3)");
  EXPECT_EQ(ErrorOf("[1e999]"), "cannot be read as JSON: a number in it is out of range");
  EXPECT_EQ(ErrorOf("\xef\xbb\xbf{}"), "read") << "Windows puts a mark before it";
}

// Tokenizers of Hugging Face say 1000000000000000019884624838656 where they mean no bound.
TEST(JsonDocument, ALargeWholeNumberIsANumber) {
  const auto parsed = Document::Parse(
      R"({"a":1000000000000000019884624838656,"b":"\"1000000000000000019884624838656",)"
      R"("c":[18446744073709551616,-9223372036854775809,1e3,18446744073709551615,12345678901234567890.5]})");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Value root = parsed->root();
  EXPECT_EQ(root["a"].Number(), 1e30);
  EXPECT_EQ(root["a"].Whole(), std::nullopt);
  EXPECT_EQ(root["b"].Text(), "\"1000000000000000019884624838656");
  EXPECT_EQ(root["c"].At(0).Number(), 18446744073709551616.0);
  EXPECT_EQ(root["c"].At(1).Number(), -9223372036854775809.0);
  EXPECT_EQ(root["c"].At(3).Unsigned(), 18446744073709551615u);
  EXPECT_EQ(root["c"].At(4).Number(), 12345678901234567890.5);
  EXPECT_EQ(ErrorOf("[1000000000000000019884624838656,1e999]"),
            "cannot be read as JSON: a number in it is out of range");
}

TEST(JsonDocument, IsNestedAsDeeplyAsIsAllowed) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  EXPECT_EQ(ErrorOf(nested(16), 16), "read");
  EXPECT_EQ(ErrorOf(nested(17), 16), "it is nested deeper than 16 levels");
  EXPECT_EQ(ErrorOf(nested(1000)), "read");
  EXPECT_EQ(ErrorOf(nested(100'000)), "it is nested deeper than 1000 levels");
}

// Against the value that another parser made of the same text.
void ExpectSame(Value value, const nlohmann::json& other) {
  EXPECT_EQ(value.is_null(), other.is_null());
  EXPECT_EQ(value.is_object(), other.is_object());
  EXPECT_EQ(value.is_list(), other.is_array());
  ASSERT_EQ(value.Bool().has_value(), other.is_boolean());
  if (other.is_boolean()) {
    EXPECT_EQ(*value.Bool(), other.get<bool>());
  }
  ASSERT_EQ(value.Number().has_value(), other.is_number());
  if (other.is_number()) {
    EXPECT_EQ(*value.Number(), other.get<double>());
    EXPECT_EQ(std::signbit(*value.Number()), std::signbit(other.get<double>()));
  }
  ASSERT_EQ(value.Text().has_value(), other.is_string());
  if (other.is_string()) {
    EXPECT_EQ(*value.Text(), other.get<std::string>());
  }
  ASSERT_EQ(value.size(), other.is_structured() ? other.size() : 0);
  for (std::size_t i = 0; other.is_array() && i < other.size(); ++i) {
    ExpectSame(value.At(i), other[i]);
  }
  for (const auto& [key, member] : value.members()) {
    ASSERT_TRUE(other.contains(key));
    ExpectSame(member, other[std::string(key)]);
  }
}

TEST(JsonDocument, HoldsTheValueThatAnotherParserGives) {
  for (const char* text :
       {"{}", "[]", "null", "true", "\"a\\u00e9\\n\"", "0", "-0.0", "7", "-7", "1e-320",
        "2.2250738585072011e-308", "0.1", "-4.28803566651725", "9223372036854775807",
        "9223372036854775808", "18446744073709551615", "-9223372036854775808",
        R"({"a": [1, 2.5, null, {"b": false}], "c": {"d": "e"}})", " [1,\n2] "}) {
    SCOPED_TRACE(text);
    const auto parsed = Document::Parse(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    ExpectSame(parsed->root(), nlohmann::json::parse(text));
  }
}

TEST(JsonDocument, MovesWithItsValues) {
  auto parsed = Document::Parse("[7]");
  ASSERT_TRUE(parsed);
  const Value root = parsed->root();
  const Document moved = std::move(*parsed);
  EXPECT_EQ(root.At(0).Whole(), 7);
  EXPECT_EQ(moved.root().At(0).Whole(), 7);
}

}  // namespace
}  // namespace sharewell::json
