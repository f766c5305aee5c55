#include "core/text/plain_text.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(PlainText, KeepsWhatSaysSomething) {
  EXPECT_EQ(PlainText(""), "");
  EXPECT_EQ(PlainText("resnet50, b32"), "resnet50, b32");
  EXPECT_EQ(PlainText("J\xc3\xbcrg \xe2\x80\xa6 \xf0\x9f\x98\x80 \xd7\xa9"),
            "J\xc3\xbcrg \xe2\x80\xa6 \xf0\x9f\x98\x80 \xd7\xa9")
      << "letters written from right to left turn nothing";
}

TEST(PlainText, ReplacesControls) {
  EXPECT_EQ(PlainText("a\x1b[31m\r\n\t\x7f"), "a?[31m????");
  EXPECT_EQ(PlainText(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(PlainText("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"), "?\?\?\xc2\xa0") << "C1, one each";
}

TEST(PlainText, ReplacesWhatTurnsTheDirectionOrBreaksALine) {
  for (const char* mark :
       {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa",
        "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xa6",
        "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9"}) {
    EXPECT_EQ(PlainText(std::string("a") + mark + "b"), "a?b");
  }
}

TEST(PlainText, ReplacesBrokenBytesAndWhatIsNoCharacter) {
  EXPECT_EQ(PlainText("J\xfcrg"), "J?rg");
  EXPECT_EQ(PlainText("\xe2\x82"), "?\?") << "cut in the middle: a byte each";
  EXPECT_EQ(PlainText("\xef\xbf\xbe\xf0\x9f\xbf\xbf\xef\xb7\x90"), "?\?\?");
}

TEST(PlainText, KeepsBreaksAndTabsWhereAskedAndReplacesByWhatIsAsked) {
  EXPECT_EQ(PlainText("a\n\tb\x1b\r", "?", "\n\t"), "a\n\tb?\?");
  EXPECT_EQ(PlainText("a\nb\xff", " "), "a b ");
  EXPECT_EQ(PlainText("a\x7f", "\xef\xbf\xbd"), "a\xef\xbf\xbd");
}

TEST(PlainLength, CountsTheBytesOfOneCharacterThatMayBeShown) {
  EXPECT_EQ(PlainLength("ab"), 1U);
  EXPECT_EQ(PlainLength("\xe2\x82\xac!"), 3U);
  EXPECT_EQ(PlainLength("\n"), 0U);
  EXPECT_EQ(PlainLength("\xc2\x9b"), 0U);
  EXPECT_EQ(PlainLength("\xff"), 0U);
}

}  // namespace
}  // namespace sharewell::core
