#include "report/html/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "json/value.h"
#include "report/html/page.h"
#include "report/measure/profile_charts.h"
#include "report/measure/profile_compare.h"
#include "report/measure/sample_charts.h"
#include "report/text/format.h"

namespace sharewell::report {
namespace {

using core::ProfileRecord;
using core::Result;
using json::Value;

constexpr std::size_t kMostPairLines = 36, kMostPairFigures = 60, kHeadFigures = 10;

std::string CalledAs(const ProfileRecord& record) {
  return fmt::format("{} ({})", record.name, record.id);
}

// What `profiles compare A B --json` says: one source of these figures.
Result<json::Document> PairOf(const ProfileRecord& a, const ProfileRecord& b) {
  return json::Document::Parse(ProfilePairJson(a, b));
}

std::string TextAt(Value from, const char* key) {
  return std::string(from[key].Text().value_or(""));
}

HtmlTable PairRows(Value pair, const std::string& a, const std::string& b) {
  HtmlTable table{{{"figure (mean)", Align::kLeft},
                   {a, Align::kRight},
                   {b, Align::kRight},
                   {"second over first", Align::kRight}},
                  {}};
  for (const Value figure : pair["figures"].items()) {
    const std::string unit = TextAt(figure, "unit");
    const auto shown = [&](double value) { return InUnit(value, unit); };
    table.rows.push_back({TextAt(figure, "figure"), Or(figure["a"].Number(), shown),
                          Or(figure["b"].Number(), shown), Or(figure["b_over_a"].Number(), Times)});
  }
  return table;
}

HtmlTable FactRows(Value pair, const std::string& a, const std::string& b) {
  HtmlTable table{{{"environment", Align::kLeft}, {a, Align::kLeft}, {b, Align::kLeft}}, {}};
  const auto text = [](Value value) { return std::string(value.Text().value_or(kUnknown)); };
  for (const Value fact : pair["environment"].items()) {
    table.rows.push_back({text(fact["fact"]), text(fact["a"]), text(fact["b"])});
  }
  return table;
}

// The first figures, those that scheduler and predictor read, as ratios.
std::optional<Bars> RatiosOf(Value pair, const std::string& a, const std::string& b) {
  Bars bars;
  bars.title = "the second over the first";
  bars.subtitle = fmt::format("{} over {}", b, a);
  BarPanel panel{"ratio", {}};
  for (const Value figure : pair["figures"].items()) {
    const auto ratio = figure["b_over_a"].Number();
    if (!ratio || *ratio < 0 || panel.bars.size() == kHeadFigures) continue;
    // Metrics by name come behind them, and are in the table.
    const std::string name = TextAt(figure, "figure");
    if (name.find('_') != name.npos) continue;
    panel.bars.push_back({name, *ratio, Times(*ratio)});
  }
  if (panel.bars.empty()) return std::nullopt;
  bars.panels = {std::move(panel)};
  return bars;
}

// The rate of the second over that of the first, and the first figures that both have.
void OpenPair(HtmlPage& page, Value pair, const std::string& a, const std::string& b) {
  std::string sentence = fmt::format("What {} needs, beside what {} needs.", b, a);
  std::vector<PageFigure> figures;
  for (const Value figure : pair["figures"].items()) {
    const auto ratio = figure["b_over_a"].Number();
    if (!ratio || figures.size() == 3) continue;
    const std::string name = TextAt(figure, "figure");
    if (figures.empty()) {
      sentence = fmt::format("{}: {} has {} of what {} has.", name, b, Percent(*ratio), a);
    }
    figures.push_back({Times(*ratio), name});
  }
  page.Opens(sentence, figures);
}

// Both runs in one chart; the axes are those of the longer and the higher one.
LineChart Joined(LineChart first, const LineChart& second, const std::string& a,
                 const std::string& b, const char* title) {
  for (ChartLine& line : first.lines) line.name = a + ": " + line.name;
  for (ChartLine line : second.lines) {
    line.name = b + ": " + line.name;
    first.lines.push_back(std::move(line));
  }
  first.title = title;
  first.subtitle = "both from their start";
  if (first.lines.size() > kMostPairLines) {
    first.subtitle += fmt::format("; the first {} lines", kMostPairLines);
    first.lines.resize(kMostPairLines);
  }
  first.x.unit_millis = 0;  // the two ran on different days
  first.x.most = std::max(first.x.most, second.x.most);
  first.y.most = std::max(first.y.most, second.y.most);
  return first;
}

}  // namespace

std::string ProfilePairPage(const ProfileRecord& a, const ProfileRecord& b,
                            const std::vector<SeriesRead>& series_a,
                            const std::vector<SeriesRead>& series_b, std::string_view made) {
  const std::string first = CalledAs(a), second = CalledAs(b);
  HtmlPage page(fmt::format("{} and {}", first, second), "two profiles side by side", made);
  const auto parsed = PairOf(a, b);
  const Value pair = json::RootOf(parsed);
  OpenPair(page, pair, first, second);
  page.Section("Figures");
  if (const auto ratios = RatiosOf(pair, first, second)) {
    page.Chart("ratios", "Each figure of the second over that of the first.", *ratios);
  }
  page.Rows(PairRows(pair, first, second), kMostPairFigures);
  page.Section("Where they were measured");
  const HtmlTable facts = FactRows(pair, first, second);
  page.Text(facts.rows.empty() ? "Both were measured in the same environment."
                               : "What differs between the two; all else is the same.");
  page.Rows(facts);
  page.Section("The runs over time");
  // On one scale of time, whichever is the longer.
  const auto length = [](const ProfileRecord& record) {
    const auto range = ProfileRange(record);
    return range.to - range.from;
  };
  const core::UnixMillis longest = std::max(length(a), length(b));
  std::vector<std::string> missing;
  for (const auto kinds : {TakayamaCharts(), OtherCharts()}) {
    for (const SampleChartKind& kind : kinds) {
      const auto draw = [&](const ProfileRecord& record, const std::vector<SeriesRead>& series) {
        return DrawSamples({&kind, 1}, record.name, {record.created, record.created + longest},
                           series);
      };
      const auto of_a = draw(a, series_a), of_b = draw(b, series_b);
      if (of_a.charts.empty() || of_b.charts.empty()) {
        missing.emplace_back(kind.title);
        continue;
      }
      page.Chart(kind.name, fmt::format("{} of both.", kind.title),
                 Joined(of_a.charts[0].chart, of_b.charts[0].chart, first, second, kind.title));
    }
  }
  if (!missing.empty()) {
    page.Quiet("Not drawn, as the store has no samples of it from one of the runs or from both:");
    page.Listed(missing);
  }
  return std::move(page).Take();
}

}  // namespace sharewell::report
