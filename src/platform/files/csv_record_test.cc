#include "platform/files/csv_record.h"

#include <gmock/gmock.h>

namespace sharewell::platform {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Fault = CsvRecord::Fault;

TEST(CsvRecord, SpacesAroundFieldsGoAndThoseInsideQuotesStay) {
  CsvRecord record;
  EXPECT_EQ(record.Split(R"( a , "b, c " ,,d)"), Fault::kNone);
  EXPECT_THAT(record.fields, ElementsAre("a", "b, c ", "", "d"));
  EXPECT_THAT(record.unquoted, IsEmpty()) << "nothing was copied";
}

TEST(CsvRecord, ADoubledQuoteIsOne) {
  CsvRecord record;
  EXPECT_EQ(record.Split(R"csv("void f<""x"">()","""",x"y)csv"), Fault::kNone);
  EXPECT_THAT(record.fields, ElementsAre(R"csv(void f<"x">())csv", "\"", "x\"y"));
}

TEST(CsvRecord, EndsAtALineBreakOutsideQuotes) {
  CsvRecord record;
  const std::string_view text = "a,\"b\nc\"\r\nd,e\n";
  EXPECT_EQ(record.Split(text), Fault::kNone);
  EXPECT_THAT(record.fields, ElementsAre("a", "b\nc"));
  EXPECT_EQ(text.substr(record.size), "\nd,e\n");
  EXPECT_EQ(record.Split(text.substr(record.size + 1)), Fault::kNone);
  EXPECT_THAT(record.fields, ElementsAre("d", "e"));
}

TEST(CsvRecord, TheLastFieldMayBeEmpty) {
  CsvRecord record;
  EXPECT_EQ(record.Split("a,"), Fault::kNone);
  EXPECT_THAT(record.fields, ElementsAre("a", ""));
  EXPECT_EQ(record.Split(""), Fault::kNone);
  EXPECT_THAT(record.fields, ElementsAre(""));
}

TEST(CsvRecord, ATabThatSeparatesIsNoSpace) {
  CsvRecord record;
  EXPECT_EQ(record.Split("a\t\t \"b\tc\"", '\t'), Fault::kNone);
  EXPECT_THAT(record.fields, ElementsAre("a", "", "b\tc"));
}

TEST(CsvRecord, SaysWhatIsWrong) {
  CsvRecord record;
  EXPECT_EQ(record.Split(R"(a,"b)"), Fault::kOpenQuote);
  EXPECT_EQ(record.Split(R"("a"")"), Fault::kOpenQuote);
  EXPECT_EQ(record.Split(R"("a"b,c)"), Fault::kBehindQuote);
}

}  // namespace
}  // namespace sharewell::platform
