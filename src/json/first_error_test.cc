#include "json/first_error.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace sharewell::json {
namespace {

TEST(FirstError, IsAtTheByteThatCannotStandThere) {
  const std::pair<const char*, std::size_t> wrong[] = {
      {"", 0},           {" ", 1},           {"[1,]", 3},        {"[1 2]", 3},       {"{\"a\"}", 4},
      {"{\"a\":1,}", 7}, {"{a:1}", 1},       {"nul", 3},         {"tru3", 3},        {"01", 1},
      {"-", 1},          {"1.", 2},          {"1e", 2},          {"1e+", 3},         {".5", 0},
      {"\"a", 2},        {"\"\\x\"", 2},     {"\"\\u12g4\"", 5}, {"\"\n\"", 1},      {"[}", 1},
      {"{]", 1},         {"[1}", 2},         {"{}x", 2},         {"\"\\ud800\"", 1}, {"+1", 0},
      {"[[[", 3},        {"\"\xc3\x28\"", 1}};
  for (const auto& [text, at] : wrong) {
    EXPECT_EQ(FirstError(text), std::optional(at)) << text;
    EXPECT_FALSE(nlohmann::json::accept(text)) << text;
  }
  for (const char* right :
       {"0", "-0", "-1.5e-3", "1E9", "\"\"", "\"\\u00e9\\ud83d\\ude00\\/\"", "[]", "{}", " [ ] ",
        "[[],{},[{}]]", "{\"a\":[1,2],\"b\":{\"c\":null}}", "true", "false", "null", "1e999"}) {
    EXPECT_EQ(FirstError(right), std::nullopt) << right;
  }
}

// Whatever is taken out or changed, both say alike whether it is JSON.
TEST(FirstError, AgreesWithAParser) {
  const std::string text =
      "{\"a\":[1,-2.5e3,true,null,\"x\\n\\u00e9\"],\"b\":{\"c\":{},\"d\":[]}, \"e\" : "
      "\"\xc3\xa9\"}";
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const std::string& changed :
         {text.substr(0, i), text.substr(0, i) + text.substr(i + 1),
          text.substr(0, i) + "," + text.substr(i), text.substr(0, i) + "\"" + text.substr(i + 1),
          text.substr(0, i) + "}" + text.substr(i + 1),
          text.substr(0, i) + "0" + text.substr(i + 1)}) {
      EXPECT_EQ(!FirstError(changed), nlohmann::json::accept(changed)) << changed;
    }
  }
}

}  // namespace
}  // namespace sharewell::json
