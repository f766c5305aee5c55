#include "report/html/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html/test_html.h"

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

LineChart SomeChart(const std::string& name) {
  LineChart chart;
  chart.title = chart.subtitle = name;
  chart.x = {name, 0, 10};
  chart.y = {name, 0, 1};
  chart.lines = {{name, {{1, 0.5, 0, name}, {2, 0.7, 0.1, name}}, {}}};
  return chart;
}

TEST(HtmlPage, IsWellFormedWhateverStandsInIt) {
  for (const std::string& bad : testing::Payloads()) {
    HtmlPage page(bad, bad, bad);
    page.Opens(bad, {{bad, bad}});
    page.Section(bad);
    page.Section(bad);
    page.Section(bad);
    page.Text(bad);
    page.Quiet(bad);
    page.Listed({bad, bad});
    page.Verbatim(bad);
    page.Facts({{bad, bad}});
    page.Rows({{{bad, Align::kLeft}, {bad, Align::kRight}}, {{bad, bad}}});
    page.Folded(bad, {{{bad, Align::kLeft}}, {{bad}}});
    page.Chart(bad, bad, SomeChart(bad));
    page.Chart(bad, bad, Bars{bad, bad, {{bad, {{bad, 1, bad}}}}});
    page.Chart(bad, bad, Gantt{bad, bad, {bad, 0, 1}, {{bad, {{0, 1, 0, bad, bad}}}}, {{bad, 1}}});
    const std::string html = std::move(page).Take();
    EXPECT_THAT(testing::HtmlCheck(html).problems(), IsEmpty()) << bad.substr(0, 60);
    EXPECT_THAT(html, Not(HasSubstr("<script")));
    EXPECT_THAT(html, Not(HasSubstr("\xe2\x80\xae"))) << "text is not turned round";
    EXPECT_THAT(html, Not(HasSubstr("\xff")));
  }
}

// The checker must be able to fail.
TEST(HtmlCheck, FindsWhatIsWrong) {
  const auto wrong = [](const std::string& body) {
    return !testing::HtmlCheck("<!DOCTYPE html>\n<html lang=\"en\">" + body + "</html>")
                .problems()
                .empty();
  };
  EXPECT_FALSE(wrong("<body><p>a &lt; b</p></body>"));
  EXPECT_TRUE(wrong("<body><p>a</body>"));
  EXPECT_TRUE(wrong("<p>a</p></p>"));
  EXPECT_TRUE(wrong("<script>x</script>"));
  EXPECT_TRUE(wrong("<p onclick=\"x\">a</p>"));
  EXPECT_TRUE(wrong("<p class=a>a</p>"));
  EXPECT_TRUE(wrong("<p id=\"a\">a</p><p id=\"a\">b</p>"));
  EXPECT_TRUE(wrong("<p>a & b</p>"));
  EXPECT_TRUE(wrong("<a href=\"https://example.org\">a</a>"));
  EXPECT_TRUE(wrong("<a href=\"javascript:x\">a</a>"));
}

TEST(HtmlPage, HoldsTheDataOfEachChart) {
  HtmlPage page("t", "", "made");
  page.Chart("core curve", "Throughput by cores.", SomeChart("l"));
  const std::string html = std::move(page).Take();
  // "line,l,l\nl,1,0.5\nl,2,0.7\n"
  EXPECT_THAT(html, HasSubstr("download=\"core-curve.csv\" href=\"data:text/csv;charset=utf-8;"
                              "base64,bGluZSxsLGwKbCwxLDAuNQpsLDIsMC43Cg==\""));
  EXPECT_THAT(html, HasSubstr("<svg role=\"img\" aria-label=\"Throughput by cores.\" width="));
  EXPECT_THAT(html, Not(HasSubstr("http://")));
}

TEST(HtmlPage, OpensWithAResultAndSetsChartsBesideEachOther) {
  HtmlPage page("t", "", "");
  page.Opens("It <i>pays</i>.", {{"1.5", "times"}});
  page.Section("s");
  page.Chart("a", "A.", SomeChart("a"));
  page.Chart("b", "B.", SomeChart("b"));
  page.Text("between");
  page.Chart("c", "C.", SomeChart("c"));
  const std::string html = std::move(page).Take();
  EXPECT_THAT(testing::HtmlCheck(html).problems(), IsEmpty());
  EXPECT_THAT(html, HasSubstr("<p class=\"r\">It &lt;i&gt;pays&lt;/i&gt;.</p>\n<dl class=\"k\">\n"
                              "<div><dt>times</dt><dd>1.5</dd></div>\n</dl>\n</header>"));
  EXPECT_THAT(html, HasSubstr("</figure>\n<figure>"));
  EXPECT_THAT(html, HasSubstr("</figure>\n</div>\n<p>between</p>\n<div class=\"g\">\n<figure>"));
  EXPECT_THAT(html, HasSubstr("</figure>\n</div>\n</main>"));
}

TEST(HtmlPage, FollowsTheReadersLightAndPrints) {
  const std::string html = HtmlPage("t", "", "").Take();
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(html, HasSubstr("@media print"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_EQ(html, HtmlPage("t", "", "").Take()) << "the same input gives the same bytes";
}

// A colour of the charts that dark pages replace must be one that the charts still have.
TEST(HtmlPage, KnowsTheColoursOfTheCharts) {
  const std::string html = HtmlPage("t", "", "").Take();
  std::string charts = BarsSvg({}) + LineChartSvg(SomeChart("x"));
  for (std::size_t i = 0; i < kChartColours; ++i) charts += ChartColour(i);
  for (auto at = html.find("svg [fill=\"#"); at != html.npos;
       at = html.find("svg [fill=\"#", at + 1)) {
    const std::string colour = html.substr(at + 11, 7);
    EXPECT_THAT(charts, HasSubstr(colour));
  }
}

TEST(HtmlPage, ShowsTheFirstRowsOfManyAndSaysSo) {
  HtmlPage page("t", "", "");
  HtmlTable table{{{"n", Align::kRight}}, {}};
  for (int i = 0; i < 300; ++i) table.rows.push_back({std::to_string(i)});
  page.Rows(table, 10);
  const std::string html = std::move(page).Take();
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">9</td>"));
  EXPECT_THAT(html, Not(HasSubstr("<td class=\"n\">10</td>")));
  EXPECT_THAT(html, HasSubstr("The first 10 of 300 rows."));
}

}  // namespace
}  // namespace sharewell::report
