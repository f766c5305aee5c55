#include "import/prometheus_text.h"

#include <gmock/gmock.h>

#include <cmath>

namespace sharewell::imports {
namespace {

using testing::HasSubstr;

Exposition Read(std::string_view text) {
  auto read = ReadPrometheusText(text, "x");
  if (!read) ADD_FAILURE() << read.error().message;
  return read.value_or(Exposition());
}

std::string Problem(std::string_view text) {
  const auto read = ReadPrometheusText(text, "x");
  if (read) return "it was read";
  EXPECT_EQ(read.error().kind, core::ErrorKind::kUsage);
  return read.error().message;
}

TEST(PrometheusText, NamesLabelsValuesTimes) {
  const auto read = Read(
      "# HELP a_total What\\nit is \\\\.\n# TYPE a_total counter\n"
      "a_total{x=\"1\",y=\"a\\\"b\\\\c\\nd\",} 3e2 1700000000123\r\n"
      "\n# a comment\nb:c 5\n b { x = \"}\" , y=\"\" } +7 \n");
  ASSERT_EQ(read.families.size(), 1u);
  EXPECT_EQ(read.families[0].type, "counter");
  EXPECT_EQ(read.families[0].help, "What\nit is \\.");
  ASSERT_EQ(read.samples.size(), 3u);
  EXPECT_EQ(read.samples[0].name, "a_total");
  EXPECT_EQ(*read.samples[0].Label("y"), "a\"b\\c\nd");
  EXPECT_EQ(read.samples[0].Label("z"), nullptr);
  EXPECT_EQ(read.samples[0].value, 300);
  EXPECT_EQ(read.samples[0].time, 1700000000123);
  EXPECT_EQ(read.samples[0].line, 3u);
  EXPECT_EQ(read.samples[1].name, "b:c");
  EXPECT_EQ(read.samples[1].time, std::nullopt);
  EXPECT_EQ(*read.samples[2].Label("x"), "}");
  EXPECT_EQ(read.samples[2].value, 7);
}

TEST(PrometheusText, NotANumberAndInfinities) {
  const auto read = Read("a NaN\nb +Inf\nc -Inf\nd 1e400\n");
  EXPECT_TRUE(std::isnan(read.samples[0].value));
  EXPECT_EQ(read.samples[1].value, INFINITY);
  EXPECT_EQ(read.samples[2].value, -INFINITY);
  EXPECT_EQ(read.samples[3].value, INFINITY);
}

TEST(PrometheusText, OpenMetrics) {
  const auto read = Read(
      "# TYPE a counter\na_total{x=\"1\"} 5 1700000000.5 # {t=\"1\"} 1.0 2\n"
      "b_bucket{le=\"1\"} 2 # {t=\"2\"} 0.5\nc 1 1700000000\n# EOF\n");
  EXPECT_EQ(read.samples[0].time, 1700000000500);
  EXPECT_EQ(read.samples[1].time, std::nullopt);
  EXPECT_EQ(read.samples[2].time, 1700000000000);
}

TEST(PrometheusText, SaysWhatIsWrong) {
  EXPECT_THAT(Problem("a 1\n<html>\n"), HasSubstr("x: line 2: '<html>' is no sample"));
  EXPECT_THAT(Problem("a\n"), HasSubstr("'' is no number"));
  EXPECT_THAT(Problem("a one\n"), HasSubstr("'one' is no number"));
  EXPECT_THAT(Problem("a{x=1} 2\n"), HasSubstr("not between quotes"));
  EXPECT_THAT(Problem("a{x=\"1} 2\n"), HasSubstr("not between quotes"));
  EXPECT_THAT(Problem("a{x=\"1\\\" 2\n"), HasSubstr("not between quotes"));
  EXPECT_THAT(Problem("a{x=\"1\" y=\"2\"} 2\n"), HasSubstr("behind label x"));
  EXPECT_THAT(Problem("a{\"x\"=\"1\"} 2\n"), HasSubstr("a label is expected"));
  EXPECT_THAT(Problem("a{x=\"1\""), HasSubstr("behind label x"));
  EXPECT_THAT(Problem("a 1 soon\n"), HasSubstr("'soon' is no time"));
  EXPECT_THAT(Problem("a 1 1e30\n"), HasSubstr("is no time"));
  EXPECT_THAT(Problem("a 1 2 3\n"), HasSubstr("behind the time"));
  EXPECT_THAT(Problem(std::string(std::size_t{2} << 20, 'x')), HasSubstr("longer than 1 MiB"));
}

}  // namespace
}  // namespace sharewell::imports
