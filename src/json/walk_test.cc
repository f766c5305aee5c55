#include "json/walk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sharewell::json {
namespace {

// "key=value" of each member, as far as it is text or a number.
std::string Seen(Field& field) {
  const std::string key(field.key());
  if (key == "text") return key + "=" + std::string(field.Text().value_or("none"));
  if (key == "number") {
    const auto number = field.Number();
    return key + "=" + (number ? std::to_string(*number) : "none");
  }
  return key;
}

TEST(JsonWalker, SeesTheMembersInTheirOrder) {
  Walker walker;
  std::vector<std::string> seen;
  EXPECT_TRUE(walker.Object(R"({"a": [1, {"b": 2}], "text": "x\ny", "number": -2.5, "a\"c": 1})",
                            [&](Field& field) {
                              seen.push_back(Seen(field));
                              return true;
                            }));
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "text=x\ny", "number=-2.500000", "a\\"}));
}

TEST(JsonWalker, OfAnotherKindIsAbsentAndTheWalkGoesOn) {
  Walker walker;
  std::vector<std::string> seen;
  EXPECT_TRUE(walker.Object(R"({"text": 3, "number": "N/A", "b": null})", [&](Field& field) {
    if (field.key() == "b") field.Members([](Field&) { return true; });
    seen.push_back(Seen(field));
    return true;
  }));
  EXPECT_EQ(seen, (std::vector<std::string>{"text=none", "number=none", "b"}));
}

TEST(JsonWalker, SkipsTheRestWhereItIsToldTo) {
  Walker walker;
  int members = 0, objects = 0;
  EXPECT_TRUE(walker.Objects(R"({"a": 1, "b": {"c": 2}}, {"a": {"b": 1}, "c": 3})",
                             [&](Field&) { return ++members, false; }, [&] { ++objects; }));
  EXPECT_EQ(members, 2);
  EXPECT_EQ(objects, 2);
}

TEST(JsonWalker, WalksObjectsInside) {
  Walker walker;
  std::vector<std::string> seen;
  EXPECT_TRUE(
      walker.Object(R"({"in": {"text": "x", "more": [1]}, "number": 1})", [&](Field& field) {
        if (field.key() != "in") return seen.push_back(Seen(field)), true;
        field.Members([&](Field& inner) { return seen.push_back(Seen(inner)), true; });
        return true;
      }));
  EXPECT_EQ(seen, (std::vector<std::string>{"text=x", "more", "number=1.000000"}));
}

TEST(JsonWalker, SaysWhereATextStopsBeingJson) {
  Walker walker;
  const auto all = [](Field& field) {
    field.Members([](Field&) { return true; });
    return true;
  };
  for (const char* text : {"", "[1]", "3", "{", R"({"a" 1})", R"({"a": 1 "b": 2})", R"({"a: 1})",
                           R"({"a": {"b" 1}})"}) {
    EXPECT_FALSE(walker.Object(text, all)) << text;
  }
  int objects = 0;
  EXPECT_FALSE(walker.Objects(R"({"a": 1}, {"b": 2}, 3)", all, [&] { ++objects; }));
  EXPECT_EQ(objects, 2);
}

}  // namespace
}  // namespace sharewell::json
