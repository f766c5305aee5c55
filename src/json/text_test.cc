#include "json/text.h"

#include <gtest/gtest.h>

namespace sharewell::json {
namespace {

std::string Written(std::string_view text) {
  std::string out;
  AppendText(out, text);
  return out;
}
std::string WrittenBytes(std::string_view bytes) {
  std::string out;
  AppendBytes(out, bytes);
  return out;
}

TEST(JsonText, EscapesWhatMustBe) {
  EXPECT_EQ(Written(""), R"("")");
  EXPECT_EQ(Written("a \"b\" \\ /"), R"("a \"b\" \\ /")");
  EXPECT_EQ(Written("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(Written(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(Written("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  EXPECT_EQ(Written("a\xff"), "\"a\xef\xbf\xbd\"");
}

TEST(JsonText, BytesComeBackAsTheyWere) {
  EXPECT_EQ(WrittenBytes("a"), R"("a")");
  EXPECT_EQ(WrittenBytes("\xff\xfe raw"), R"({"bytes":"//4gcmF3"})");
}

TEST(JsonText, Base64IsExact) {
  for (const char* text : {"", "a", "ab", "abc", "abcd", "\xff\xfe\xfd\x80"}) {
    EXPECT_EQ(FromBase64(Base64(text)), text);
  }
  EXPECT_EQ(Base64("light w"), "bGlnaHQgdw==");
  for (const char* wrong : {"=", "a", "ab", "abc", "a===", "ab=c", "QR==", "QQ==QQ==", "Q Q="}) {
    EXPECT_FALSE(FromBase64(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace sharewell::json
