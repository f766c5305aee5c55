#include "json/writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/numbers/random.h"

namespace sharewell::json {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void WriteAll(Writer& writer) {
  writer.Object([&] {
    writer.Field("flag", true);
    writer.Field("count", 3);
    writer.Field("large", std::uint64_t{18446744073709551615U});
    writer.Field("number", 3.0);
    writer.Field("small", 1e-7);
    writer.Field("text", "a \"b\"");
    writer.Field("seconds", core::Seconds(1.5));
    writer.Field("unknown", std::optional<double>());
    writer.Field("endless", kInfinity);
    writer.Field("names", std::vector<std::string>{"x", "y"});
    writer.Field("none", std::vector<int>());
    writer.Field("pairs", std::vector<std::pair<double, double>>{{1, 0.5}});
    writer.Object("empty", [] {});
    writer.List("objects", std::vector<int>{1, 2},
                [&](int n) { writer.Object([&] { writer.Field("n", n); }); });
    writer.TextOrNull("word", "");
    writer.Key("raw");
    writer.Raw("[1,2]");
  });
}

TEST(JsonWriter, WritesOnOneLine) {
  std::string out = "before ";
  Writer writer(out);
  WriteAll(writer);
  EXPECT_EQ(out, R"(before {"flag":true,"count":3,"large":18446744073709551615,"number":3,)"
                 R"("small":1e-07,"text":"a \"b\"","seconds":1.5,"unknown":null,"endless":null,)"
                 R"("names":["x","y"],"none":[],"pairs":[[1,0.5]],"empty":{},"objects":[{"n":1},)"
                 R"({"n":2}],"word":null,"raw":[1,2]})");
}

TEST(JsonWriter, LeavesOutWhatSaysNothing) {
  std::string out;
  Writer writer(out, Style::kBrief);
  WriteAll(writer);
  EXPECT_EQ(out, R"({"flag":true,"count":3,"large":18446744073709551615,"number":3,"small":1e-07,)"
                 R"("text":"a \"b\"","seconds":1.5,"endless":null,"names":["x","y"],)"
                 R"("pairs":[[1,0.5]],"empty":{},"objects":[{"n":1},{"n":2}],"raw":[1,2]})");
}

// Reports were first written by this library: what older programs wrote can be compared with.
TEST(JsonWriter, WritesReportsAsTheLibraryDid) {
  std::string line, report;
  Writer of_line(line, Style::kFile), of_report(report, Style::kReport);
  for (Writer* writer : {&of_line, &of_report}) {
    writer->Object([&] {
      writer->Field("number", 3.0);
      writer->Field("none", std::vector<int>());
      writer->Object("empty", [] {});
      writer->Field("list", std::vector<double>{1, 0.1, 1e15, 1e16, 1e-5, -0.0});
      writer->Object("inner", [&] { writer->Field("text", "\xc3\xa9"); });
    });
  }
  const auto json = nlohmann::ordered_json::parse(line);
  EXPECT_EQ(line, json.dump());
  EXPECT_EQ(report, json.dump(2));
}

TEST(JsonWriter, WritesNumbersAsTheLibraryDid) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const double size = std::pow(10.0, 40 * core::Uniform(core::HashOf({seed, 1})) - 20);
    const double number = (core::Uniform(core::HashOf({seed, 2})) - 0.5) * size;
    std::string out;
    Writer(out, Style::kFile).Value(number);
    ASSERT_EQ(out, nlohmann::json(number).dump());
  }
}

TEST(JsonWriter, WhatWasParsedIsWrittenAsItWas) {
  const std::string text =
      R"({"a":[1,-2,2.5,"x",true,null,{}],"b":{"c":[]},"n":18446744073709551615,"f":3.0})";
  const auto parsed = Document::Parse(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->root().Line(), text);
}

TEST(JsonWriter, BytesComeBack) {
  EXPECT_EQ(Write(Style::kLine,
                  [](Writer& writer) {
                    writer.List([&] {
                      writer.Bytes("a");
                      writer.Bytes("\xff");
                    });
                  }),
            "[\"a\",{\"bytes\":\"/w==\"}]\n");
}

TEST(JsonWriter, WritesAnObjectOnALine) {
  EXPECT_EQ(ObjectLine([](Writer& out) {
              out.Field("a", "b\"c\n");
              out.Object("d", [&] { out.Field("e", 1); });
            }),
            R"({"a":"b\"c\n","d":{"e":1}})");
}

}  // namespace
}  // namespace sharewell::json
