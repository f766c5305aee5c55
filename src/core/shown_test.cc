#include "core/shown.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(Shown, QuotesAValue) { EXPECT_EQ(Shown("abc"), "'abc'"); }

TEST(Shown, CutsAfterFortyCharacters) {
  EXPECT_EQ(Shown(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
  EXPECT_EQ(Shown(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
}

TEST(Shown, HidesWhatATerminalWouldObey) {
  EXPECT_EQ(Shown("a\x1b[31m\n\x7f"), "'a?[31m?\?'");
  EXPECT_EQ(Shown("\xc2\x9b"), "'?\?'") << "C1 control";
}

TEST(Shown, KeepsWellFormedUtf8AndReplacesTheRest) {
  EXPECT_EQ(Shown("J\xc3\xbcrg"), "'J\xc3\xbcrg'");
  EXPECT_EQ(Shown("J\xfcrg"), "'J?rg'");
  EXPECT_EQ(Shown("\xe2\x82"), "'?\?'") << "cut in the middle";
}

TEST(ShownEnd, CutsBeforeTheLastCharacters) {
  EXPECT_EQ(ShownEnd("abc"), "'abc'");
  EXPECT_EQ(ShownEnd(std::string(120, 'x')), "'" + std::string(120, 'x') + "'");
  EXPECT_EQ(ShownEnd("begin " + std::string(114, 'x') + " end"),
            "'..." + ("begin " + std::string(114, 'x') + " end").substr(4) + "'");
  EXPECT_EQ(ShownEnd(std::string(10000, 'x') + "end"), "'..." + std::string(117, 'x') + "end'");
}

TEST(ShownEnd, HidesWhatATerminalWouldObeyAndCutsNoCharacterInTwo) {
  EXPECT_EQ(ShownEnd("a\x1b[31m\n\x7f\xfc"), "'a?[31m??\?'");
  std::string emoji;
  for (int i = 0; i < 1000; ++i) emoji += "\xf0\x9f\x98\x80";
  for (const std::string end : {"", "x", "xx", "xxx"}) {
    EXPECT_EQ(ShownEnd(emoji + end), "'..." + emoji.substr(0, 4 * (120 - end.size())) + end + "'");
  }
}

}  // namespace
}  // namespace sharewell::core
