#include "platform/files/csv.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <chrono>

namespace sharewell::platform {
namespace {

using core::ErrorKind;
using testing::ElementsAre;
using testing::HasSubstr;

// All fields of all rows, or the error's message.
std::vector<std::string> Rows(std::string_view text) {
  CsvReader csv(text, "f.csv");
  std::vector<std::string> rows;
  while (csv.Next()) {
    std::string row;
    for (int i = 0; i < static_cast<int>(csv.header().size()); ++i) {
      row += '[' + std::string(csv.Text({i})) + ']';
    }
    rows.push_back(row);
  }
  if (!csv.ok()) rows.push_back(csv.error().value().message);
  return rows;
}

// The message of reading column "x" of one row as a number within the range.
std::string NumberError(std::string_view field, Range range = kAnyNumber) {
  const std::string text = "x,y\n" + std::string(field) + ",1\n";
  CsvReader csv(text, "f.csv");
  const auto x = csv.Require("x");
  EXPECT_TRUE(csv.Next());
  csv.Number(x, range);
  return csv.ok() ? "" : csv.error().value().message;
}

std::string IntegerError(std::string_view field) {
  const std::string text = "x,y\n" + std::string(field) + ",1\n";
  CsvReader csv(text, "f.csv");
  const auto x = csv.Require("x");
  EXPECT_TRUE(csv.Next());
  csv.Integer(x, 0, 100);
  return csv.ok() ? "" : csv.error().value().message;
}

TEST(Csv, ReadsRowsByColumnNameInAnyOrder) {
  CsvReader csv("b,extra,a\n2,?,1\n4,?,3", "f.csv");
  const auto a = csv.Require("a");
  const auto b = csv.Require("b");
  EXPECT_FALSE(csv.Find("c"));
  ASSERT_TRUE(csv.Next());
  EXPECT_EQ(csv.Text(a), "1");
  EXPECT_EQ(csv.line(), 2U);
  ASSERT_TRUE(csv.Next());
  EXPECT_EQ(csv.Integer(a, 0, 9), 3);
  EXPECT_EQ(csv.Number(b), 4.0);
  EXPECT_FALSE(csv.Next());
  EXPECT_TRUE(csv.ok());
}

TEST(Csv, AcceptsBomCrlfBlankLinesSpacesAndCommentsAheadOfTheHeader) {
  EXPECT_THAT(Rows("\xef\xbb\xbf# made by hand\r\n\r\na, b\r\n 1 ,2\r\n\r\n3,\r\n"),
              ElementsAre("[1][2]", "[3][]"));
}

TEST(Csv, AcceptsRfc4180Quotes) {
  EXPECT_THAT(Rows("a,\"b\"\n\"x,1\",\"say \"\"hi\"\"\"\n\"two\nlines\",\n\"\",\"\"\r\n"),
              ElementsAre("[x,1][say \"hi\"]", "[two\nlines][]", "[][]"));
}

TEST(Csv, CountsLinesInsideQuotes) {
  EXPECT_THAT(Rows("a\n\"1\n2\n3\"\n4,5\n"),
              ElementsAre("[1\n2\n3]", HasSubstr("f.csv: line 5: has 2 fields")));
}

TEST(Csv, AnEmptyFileHasNoHeader) {
  EXPECT_THAT(Rows(""), ElementsAre(HasSubstr("f.csv: is empty")));
  EXPECT_THAT(Rows("\r\n \n"), ElementsAre(HasSubstr("is empty")));
  EXPECT_THAT(CsvHeader(""), testing::IsEmpty());
}

TEST(Csv, AHeaderAloneHasNoRows) { EXPECT_THAT(Rows("a,b\n"), testing::IsEmpty()); }

TEST(Csv, RefusesRaggedRows) {
  EXPECT_THAT(Rows("a,b\n1,2\n3\n"),
              ElementsAre("[1][2]", HasSubstr("line 3: has 1 fields where 2")));
  EXPECT_THAT(Rows("a,b\n1,2,3\n"), ElementsAre(HasSubstr("line 2: has 3 fields where 2")));
}

TEST(Csv, RefusesTwoColumnsOfOneName) {
  EXPECT_THAT(Rows("a,b,a\n1,2,3\n"), ElementsAre(HasSubstr("two columns are named 'a'")));
  EXPECT_THAT(Rows("a,,\n1,2,3\n"), ElementsAre("[1][2][3]")) << "nameless ones cannot be meant";
}

TEST(Csv, RefusesNulBytes) {
  EXPECT_THAT(Rows(std::string_view("a,b\n1,\0\n", 8)),
              ElementsAre(HasSubstr("line 2: contains a NUL")));
  EXPECT_THAT(Rows(std::string_view("a\n\"\0\"\n", 6)), ElementsAre(HasSubstr("contains a NUL")));
  EXPECT_THAT(Rows(std::string_view("a\0,\0b\0\n\0", 8)), ElementsAre(HasSubstr("UTF-16")));
}

TEST(Csv, RefusesBrokenQuotes) {
  EXPECT_THAT(Rows("a,b\n\"1,2\n3,4\n"), ElementsAre(HasSubstr("line 2: opens a quote")));
  EXPECT_THAT(Rows("a,b\n\"1\"2,3\n"), ElementsAre(HasSubstr("behind a closing quote")));
}

TEST(Csv, RefusesLongLinesAndLongQuotedFields) {
  const std::string long_field(std::size_t{1} << 20, 'x');
  EXPECT_THAT(Rows("a\n" + long_field + "\n"), ElementsAre('[' + long_field + ']'))
      << "1 MiB is allowed";
  EXPECT_THAT(Rows("a\n" + long_field + "x\n"),
              ElementsAre(HasSubstr("line 2: is longer than 1 MiB")));
  EXPECT_THAT(Rows("a\n\"" + long_field + "x\"\n"), ElementsAre(HasSubstr("1 MiB")));
  std::string lines = "a\n\"";
  while (lines.size() < (std::size_t{3} << 20)) lines += "line\n";
  EXPECT_THAT(Rows(lines), ElementsAre(HasSubstr("within 1 MiB")));
}

TEST(Csv, ALineOfAGigabyteFailsFastAndIsNotRead) {
  constexpr std::size_t kSize = std::size_t{1} << 30;
  void* memory =
      ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(Rows({static_cast<const char*>(memory), kSize}),
              ElementsAre(HasSubstr("longer than 1 MiB")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
  ::munmap(memory, kSize);
}

TEST(Csv, AMissingColumnIsNamedWithTheNearest) {
  CsvReader csv("id,submit_second\n", "f.csv");
  csv.Require("submit_seconds");
  ASSERT_FALSE(csv.ok());
  EXPECT_EQ(csv.error().value().kind, ErrorKind::kUsage);
  EXPECT_EQ(csv.error().value().message,
            "f.csv: has no column 'submit_seconds', which is required; is it the one named "
            "'submit_second'?");
}

TEST(Csv, NumbersAreFiniteAndInRange) {
  EXPECT_EQ(NumberError("1.5e3"), "");
  EXPECT_EQ(NumberError("+2"), "");
  EXPECT_EQ(NumberError("-0.5"), "");
  EXPECT_EQ(NumberError("12x"), "f.csv: line 2, column x: '12x' is not a number");
  EXPECT_THAT(NumberError(""), HasSubstr("column x: an empty field is not a number"));
  for (const char* bad :
       {"nan", "NaN", "inf", "-inf", "1e400", "0x10", "1,5e", "1 2", "--1", "+-1", "e5"}) {
    EXPECT_NE(NumberError(bad[1] == ',' ? "1;5" : bad), "") << bad;
  }
  EXPECT_THAT(NumberError("-1", kNonNegative), HasSubstr("'-1' is not a number of at least 0"));
  EXPECT_THAT(NumberError("1e300", {0, 1e10}),
              HasSubstr("'1e300' is not a number from 0 to 10000000000"));
  EXPECT_THAT(NumberError("0", {0, 5, true}),
              HasSubstr("'0' is not a number above 0 and at most 5"));
}

TEST(Csv, IntegersAreWholeAndInRange) {
  EXPECT_EQ(IntegerError("7"), "");
  EXPECT_EQ(IntegerError("7.0"), "") << "pandas writes so where a column has gaps";
  for (const char* bad :
       {"7.5", "-1", "101", "99999999999", "99999999999999999999", "1e300", "seven", "", "nan"}) {
    EXPECT_THAT(IntegerError(bad), HasSubstr("is not a whole number from 0 to 100")) << bad;
  }
}

TEST(Csv, FlagsAndOptionalFields) {
  CsvReader csv("f,n\n1,\nTRUE,2\n0,\nfalse,\n,\nyes,\n", "f.csv");
  const auto f = csv.Require("f");
  const auto n = csv.Require("n");
  ASSERT_TRUE(csv.Next());
  EXPECT_TRUE(csv.Flag(f, false));
  EXPECT_EQ(csv.OptionalNumber(n), std::nullopt);
  EXPECT_EQ(csv.OptionalInteger({}, 0, 1), std::nullopt) << "a column that is not there is empty";
  ASSERT_TRUE(csv.Next());
  EXPECT_TRUE(csv.Flag(f, false));
  EXPECT_EQ(csv.OptionalInteger(n, 0, 5), 2);
  ASSERT_TRUE(csv.Next());
  EXPECT_FALSE(csv.Flag(f, true));
  ASSERT_TRUE(csv.Next());
  EXPECT_FALSE(csv.Flag(f, true));
  ASSERT_TRUE(csv.Next());
  EXPECT_TRUE(csv.Flag(f, true));
  ASSERT_TRUE(csv.Next());
  csv.Flag(f, true);
  EXPECT_THAT(csv.error().value().message, HasSubstr("'yes' is not 0, 1, true or false"));
}

TEST(Csv, TheFirstErrorStays) {
  CsvReader csv("x,y\na,b\n", "f.csv");
  ASSERT_TRUE(csv.Next());
  EXPECT_EQ(csv.Number({0}), 0);
  EXPECT_EQ(csv.Number({1}), 0);
  EXPECT_EQ(csv.Text({1}), "") << "accessors are quiet after an error";
  EXPECT_THAT(csv.error().value().message, HasSubstr("column x"));
  EXPECT_FALSE(csv.Next());
}

TEST(Csv, ShowsOnlyTheBeginningOfALongValue) {
  EXPECT_LT(NumberError(std::string(100000, 'z')).size(), 120U);
}

TEST(Csv, ReadsAFileWithoutHeaderBetweenTabs) {
  CsvReader csv("it\"s\t1\n\t2\n", "f", {'\t', false, {"a", "b"}});
  ASSERT_TRUE(csv.Next());
  EXPECT_EQ(csv.Text(csv.Find("a")), "it\"s");
  ASSERT_TRUE(csv.Next());
  EXPECT_EQ(csv.Text(csv.Find("a")), "");
  EXPECT_EQ(csv.Text(csv.Find("b")), "2");
}

TEST(Csv, ApproximatesTheNumberOfRows) {
  EXPECT_EQ(CsvReader("a\n", "f").ApproximateRows(), 0U);
  std::string text = "a\n";
  for (int i = 0; i < 100000; ++i) text += "1234567\n";
  EXPECT_NEAR(static_cast<double>(CsvReader(text, "f").ApproximateRows()), 100000, 1000);
}

}  // namespace
}  // namespace sharewell::platform
