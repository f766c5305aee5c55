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

}  // namespace
}  // namespace sharewell::core
