#include "core/text/utf8.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(CharacterLength, CountsTheBytesOfOneCharacter) {
  EXPECT_EQ(CharacterLength("ab"), 1U);
  EXPECT_EQ(CharacterLength("\n"), 1U);
  EXPECT_EQ(CharacterLength("\xc3\xa4x"), 2U);
  EXPECT_EQ(CharacterLength("\xe2\x82\xac"), 3U);
  EXPECT_EQ(CharacterLength("\xf0\x9f\x98\x80"), 4U);
  EXPECT_EQ(CharacterLength("\xf4\x8f\xbf\xbf"), 4U);
}

TEST(CharacterLength, IsNoneForWhatIsNotWellFormed) {
  for (const char* text : {"\x80", "\xc1\x81", "\xc3", "\xc3(", "\xe2\x82", "\xe0\x80\x80",
                           "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_EQ(CharacterLength(text), 0U);
  }
}

}  // namespace
}  // namespace sharewell::core
