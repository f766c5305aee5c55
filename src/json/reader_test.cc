#include "json/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sharewell::json {
namespace {

using ::testing::ElementsAre;

class ReaderTest : public ::testing::Test {
 protected:
  // What `read` makes of the text; the error is empty where all is well.
  template <class F>
  std::string ErrorOf(const std::string& text, F&& read, Trust trust = Trust::kSent,
                      const std::string& place = "") {
    const auto parsed = Document::Parse(text);
    EXPECT_TRUE(parsed) << text;
    if (!parsed) return "no JSON";
    std::string error;
    Reader reader(parsed->root(), place, trust, error);
    read(reader);
    return error;
  }
};

TEST_F(ReaderTest, WhatIsThereIsTakenAndAllElseStaysAsItWas) {
  std::string name = "as it was", other = "as it was";
  int whole = 1;
  std::optional<int> maybe, absent;
  double number = 1;
  std::optional<core::Seconds> seconds;
  bool flag = false;
  std::vector<std::string> texts;
  EXPECT_EQ(ErrorOf(R"({"name":"x","other":null,"whole":-3,"maybe":4,"number":2,"seconds":1.5,)"
                    R"("flag":true,"texts":["a","b"]})",
                    [&](Reader& reader) {
                      reader.Text("name", name);
                      reader.Text("other", other);
                      reader.Whole("whole", whole);
                      reader.Whole("maybe", maybe);
                      reader.Whole("absent", absent);
                      reader.Number("number", number);
                      reader.Number("seconds", seconds);
                      reader.Flag("flag", flag);
                      reader.Texts("texts", texts, 2);
                      reader.RefuseOthers();
                    }),
            "");
  EXPECT_EQ(name, "x");
  EXPECT_EQ(other, "as it was");
  EXPECT_EQ(whole, -3);
  EXPECT_EQ(maybe, 4);
  EXPECT_EQ(absent, std::nullopt);
  EXPECT_EQ(number, 2);
  EXPECT_EQ(seconds, core::Seconds(1.5));
  EXPECT_TRUE(flag);
  EXPECT_THAT(texts, ElementsAre("a", "b"));
}

TEST_F(ReaderTest, TheFirstThingThatIsWrongIsKept) {
  int whole = 7;
  std::string text = "as it was";
  EXPECT_EQ(ErrorOf(R"({"a":"x","b":true,"c":"text"})",
                    [&](Reader& reader) {
                      reader.Whole("a", whole);
                      reader.Whole("b", whole);
                      reader.Text("c", text);
                      reader.RefuseOthers();
                    }),
            "a: 'x' is no whole number");
  EXPECT_EQ(whole, 7);
  EXPECT_EQ(text, "as it was") << "nothing is taken after an error";
}

TEST_F(ReaderTest, SaysWhatIsWrongAndWhere) {
  double number = 0;
  std::uint8_t small = 0;
  std::string text;
  bool flag = false;
  const std::pair<const char*, std::string> expected[] = {
      {R"({"a":1.5})", "a: 1.5 is no whole number"},
      {R"({"a":256})", "a: 256 is not from 0 to 255"},
      {R"({"a":-1})", "a: -1 is not from 0 to 255"},
      {R"({"a":18446744073709551615})", "a: 18446744073709551615 is not from 0 to 255"},
      {R"({"n":"x"})", "n: 'x' is no number"},
      {R"({"n":2})", "n: 2 is not from 0 to 1"},
      {R"({"t":3})", "t: 3 is no text"},
      {R"({"t":"a\nb"})", "t: 'a?b' has a control character in it"},
      {R"({"t":"abcd"})", "t: 'abcd' has 4 characters, and 3 is the most"},
      {R"({"f":1})", "f: 1 is neither true nor false"},
      {R"({"l":{}})", "l: an object is no list"},
      {R"({"l":[1,2,3]})", "l: has 3 entries, and 2 is the most"},
      {R"({"tt":1})", "'tt' is no key that is known here; did you mean 't'?"},
      {R"([])", "a list is no object"}};
  for (const auto& [json, error] : expected) {
    EXPECT_EQ(ErrorOf(json,
                      [&](Reader& reader) {
                        reader.Whole("a", small);
                        reader.Number("n", number, {0, 1});
                        reader.Text("t", text, 3);
                        reader.Flag("f", flag);
                        reader.Each("l", 2, [](Value) {});
                        reader.RefuseOthers();
                      }),
              error);
  }
  EXPECT_EQ(ErrorOf(R"({"n":2})",
                    [&](Reader& reader) {
                      reader.Number("n", number, {0, 1});
                    },
                    Trust::kSent, "net.json: layers[3]: "),
            "net.json: layers[3]: n: 2 is not from 0 to 1");
  EXPECT_EQ(ErrorOf(
                "3", [](Reader&) {}, Trust::kSent, "needs."),
            "needs: 3 is no object");
}

TEST_F(ReaderTest, WhatWeStoredIsHeldToItsTypesAlone) {
  double number = 0;
  std::string text;
  int whole = 0;
  EXPECT_EQ(ErrorOf(R"({"n":2,"t":"a\nb","w":9,"newer":[1]})",
                    [&](Reader& reader) {
                      reader.Number("n", number, {0, 1});
                      reader.Text("t", text, 1);
                      reader.Whole("w", whole, {0, 1});
                      reader.RefuseOthers();
                    },
                    Trust::kStored),
            "");
  EXPECT_EQ(number, 2);
  EXPECT_EQ(text, "a\nb");
  EXPECT_EQ(whole, 9);
}

TEST_F(ReaderTest, WhatIsNeededMustBeThere) {
  EXPECT_EQ(ErrorOf("{}",
                    [](Reader& reader) {
                      EXPECT_EQ(reader.NeedWhole("n", {2, 9}), 2);
                    }),
            "n: is missing; give a whole number from 2 to 9");
  EXPECT_EQ(ErrorOf("{}", [](Reader& reader) { EXPECT_EQ(reader.NeedText("t"), ""); }),
            "t: is missing");
  EXPECT_EQ(ErrorOf(R"({"n":null})",
                    [](Reader& reader) {
                      EXPECT_EQ(reader.NeedNumber("n", {0, 1}), 1);
                    }),
            "n: is missing");
  EXPECT_EQ(ErrorOf(R"({"l":[1,2]})",
                    [](Reader& reader) {
                      EXPECT_THAT(reader.NeedNumbers("l", 2, {0, 2}), ElementsAre(1, 2));
                      EXPECT_TRUE(reader.NeedNumbers("l", 3, {0, 2}).empty());
                    }),
            "l: has 2 entries, and needs 3");
  EXPECT_EQ(ErrorOf(R"({"l":[1,"x"]})",
                    [](Reader& reader) { EXPECT_TRUE(reader.NeedNumbers("l").empty()); }),
            "l: has 'x' in it, which is no number from -1e+300 to 1e+300");
  EXPECT_EQ(ErrorOf(R"({"part":{"n":"x"}})",
                    [](Reader& reader) {
                      double number = 0;
                      reader.Part("part").Number("n", number);
                    }),
            "part.n: 'x' is no number");
  EXPECT_EQ(ErrorOf("{}", [](Reader& reader) { reader.Part("part"); }), "part: is missing");
}

TEST_F(ReaderTest, ManyMembersAreFoundToo) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += fmt::format("\"k{}\":{},", i, i);
  text += "\"k3\":7}";
  EXPECT_EQ(ErrorOf(text,
                    [](Reader& reader) {
                      for (const char* key : {"k0", "k42", "k99"}) {
                        int value = -1;
                        reader.Whole(key, value);
                        EXPECT_EQ(fmt::format("k{}", value), key);
                      }
                      EXPECT_EQ(reader.WholeOr("k3", 0, {}), 3) << "of equal keys the first";
                      EXPECT_EQ(reader.WholeOr("k100", 5, {}), 5);
                    }),
            "");
}

TEST_F(ReaderTest, BytesAreTextOrBase64) {
  EXPECT_EQ(ErrorOf(R"({"a":"x","b":{"bytes":"/w=="}})",
                    [](Reader& reader) {
                      EXPECT_EQ(reader.BytesOf("a", reader.Member("a")), "x");
                      EXPECT_EQ(reader.BytesOf("b", reader.Member("b")), "\xff");
                    }),
            "");
  for (const char* wrong : {R"({"a":3})", R"({"a":{"bytes":"!"}})",
                            R"({"a":{"bytes":"/w==","c":1}})", R"({"a":"\u0000"})"}) {
    EXPECT_NE(ErrorOf(wrong, [](Reader& reader) { reader.BytesOf("a", reader.Member("a")); }), "");
  }
}

TEST(Reader, WhatMayBeNullMustBeThereAllTheSame) {
  const auto parsed = Document::Parse(R"({"a": null, "b": 1})");
  ASSERT_TRUE(parsed);
  std::string error;
  Reader reader(parsed->root(), "", Trust::kSent, error);
  EXPECT_TRUE(reader.NeedOrNull("a").is_null());
  EXPECT_EQ(reader.NeedOrNull("b").Whole(), 1);
  EXPECT_EQ(error, "");
  EXPECT_TRUE(reader.NeedOrNull("c").is_null());
  EXPECT_EQ(error, "c: is missing");
}

}  // namespace
}  // namespace sharewell::json
