#include "core/text/quoted.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(Quoted, QuotesAValue) { EXPECT_EQ(Quoted("abc"), "'abc'"); }

TEST(Quoted, CutsAfterFortyCharacters) {
  EXPECT_EQ(Quoted(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
  EXPECT_EQ(Quoted(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  const std::string path = "/home/ann/" + std::string(100, 'x') + "/model.onnx";
  EXPECT_EQ(Quoted(path), "'" + path + "'");
  EXPECT_EQ(Quoted("/" + std::string(300, 'x')), "'/" + std::string(254, 'x') + "...'");
}

TEST(Quoted, HidesWhatATerminalWouldObey) {
  EXPECT_EQ(Quoted("a\x1b[31m\n\x7f"), "'a?[31m?\?'");
  EXPECT_EQ(Quoted("\xc2\x9b"), "'?\?'") << "C1 control";
}

TEST(Quoted, KeepsWellFormedUtf8AndReplacesTheRest) {
  EXPECT_EQ(Quoted("J\xc3\xbcrg"), "'J\xc3\xbcrg'");
  EXPECT_EQ(Quoted("J\xfcrg"), "'J?rg'");
  EXPECT_EQ(Quoted("\xe2\x82"), "'?\?'") << "cut in the middle";
}

TEST(QuotedEnd, CutsBeforeTheLastCharacters) {
  EXPECT_EQ(QuotedEnd("abc"), "'abc'");
  EXPECT_EQ(QuotedEnd(std::string(120, 'x')), "'" + std::string(120, 'x') + "'");
  EXPECT_EQ(QuotedEnd("begin " + std::string(114, 'x') + " end"),
            "'..." + ("begin " + std::string(114, 'x') + " end").substr(4) + "'");
  EXPECT_EQ(QuotedEnd(std::string(10000, 'x') + "end"), "'..." + std::string(117, 'x') + "end'");
}

TEST(QuotedEnd, HidesWhatATerminalWouldObeyAndCutsNoCharacterInTwo) {
  EXPECT_EQ(QuotedEnd("a\x1b[31m\n\x7f\xfc"), "'a?[31m??\?'");
  std::string emoji;
  for (int i = 0; i < 1000; ++i) emoji += "\xf0\x9f\x98\x80";
  for (const std::string end : {"", "x", "xx", "xxx"}) {
    EXPECT_EQ(QuotedEnd(emoji + end), "'..." + emoji.substr(0, 4 * (120 - end.size())) + end + "'");
  }
}

}  // namespace
}  // namespace sharewell::core
