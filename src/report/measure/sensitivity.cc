#include "report/measure/sensitivity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/chart/line_chart.h"
#include "report/text/csv.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using measure::PressurePhase;
using measure::SensitivityResult;

std::string RateText(double rate) { return fmt::format("{:.4g}", rate); }

// Speeds above 1 are noise; the raw ones are in the CSV.
std::string SpeedText(const PressurePhase& phase) {
  if (!phase.speed) return std::string(kUnknown);
  return fmt::format("{:.3f}", std::min(1.0, *phase.speed));
}

std::string Sentence(const SensitivityResult& result) {
  std::vector<std::string> losses, calm;
  for (const measure::SensitivityOf& of : result.conclusions) {
    if (!of.loss) continue;
    if (of.sensitive) {
      losses.push_back(fmt::format("{} (loses up to {})", of.title, Percent(*of.loss)));
    } else {
      calm.push_back(of.title);
    }
  }
  std::string text = losses.empty()
                         ? fmt::format("sensitive to nothing that was tried (no loss above {})\n",
                                       Percent(measure::kSensitiveLoss))
                         : fmt::format("sensitive to: {}\n", fmt::join(losses, ", "));
  if (!losses.empty() && !calm.empty()) {
    text += fmt::format("not to: {}\n", fmt::join(calm, ", "));
  }
  return text;
}

}  // namespace

std::string SensitivityTable(const SensitivityResult& result) {
  Table table({{"pressure", Align::kLeft},
               {"target", Align::kRight},
               {"achieved", Align::kRight},
               {"alone", Align::kRight},
               {result.measure, Align::kRight},
               {"speed", Align::kRight},
               {"±", Align::kRight},
               {"", Align::kLeft}});
  std::string before;
  for (const PressurePhase& phase : result.phases) {
    if (phase.pressure != before && !before.empty()) table.Gap();
    before = phase.pressure;
    table.Row({phase.title, fmt::format("{:.0f} %", phase.target_share * 100),
               phase.achieved_text.empty() ? std::string(kUnknown) : phase.achieved_text,
               Or(phase.alone, RateText), Or(phase.rate.mean, RateText), SpeedText(phase),
               Or(phase.uncertainty, [](double v) { return fmt::format("{:.3f}", v); }),
               phase.trouble});
  }
  std::string text = fmt::format("{}, in {}\n\n{}\n", result.name, result.measure, table.Text());
  text += Sentence(result);
  if (result.drift) {
    text += fmt::format("drift without pressure, first to last: {:+.1f} %\n", *result.drift * 100);
  }
  for (const auto& [pressure, why] : result.absent) {
    text += fmt::format("{} was not applied: {}\n", pressure, why);
  }
  for (const std::string& note : result.notes) text += note + "\n";
  return text;
}

std::string SensitivityCsv(const SensitivityResult& result) {
  CsvText csv(
      "pressure,target_percent,achieved_percent,target,achieved,begins_s,rate_before,rate,"
      "rate_after,alone,speed,uncertainty,measure");
  for (const PressurePhase& phase : result.phases) {
    csv.Field(phase.pressure)
        .Field(phase.target_share * 100)
        .Field(phase.achieved_share ? std::optional(*phase.achieved_share * 100) : std::nullopt)
        .Field(phase.target_text)
        .Field(phase.achieved_text)
        .Field(phase.rate.at.value)
        .Field(phase.before.mean)
        .Field(phase.rate.mean)
        .Field(phase.after.mean)
        .Field(phase.alone)
        .Field(phase.speed)
        .Field(phase.uncertainty)
        .Field(result.measure);
    csv.EndRow();
  }
  return std::move(csv).Take();
}

std::string SensitivityJson(const SensitivityResult& result) {
  return JsonReport([&](json::Writer& out) {
    out.Field("name", result.name);
    out.Field("command", result.command);
    out.Field("measure", result.measure);
    out.Field("steps_told", result.steps);
    out.Field("interrupted", result.interrupted);
    out.List("phases", result.phases, [&](const PressurePhase& phase) {
      out.Object([&] {
        out.Field("pressure", phase.pressure);
        out.Field("target_ratio", phase.target_share);
        out.Field("achieved_ratio", phase.achieved_share);
        out.Field("achieved", phase.achieved_text);
        out.Field("rate_before", phase.before.mean);
        out.Field("rate", phase.rate.mean);
        out.Field("rate_after", phase.after.mean);
        out.Field("speed_ratio", phase.speed);
        out.Field("uncertainty_ratio", phase.uncertainty);
      });
    });
    out.List("sensitivities", result.conclusions, [&](const measure::SensitivityOf& of) {
      out.Object([&] {
        out.Field("pressure", of.pressure);
        out.Field("loss_ratio", of.loss);
        out.Field("sensitive", of.sensitive);
      });
    });
    out.Field("drift_ratio", result.drift);
    out.List("absent", result.absent, [&](const auto& absent) {
      out.Object([&] {
        out.Field("pressure", absent.first);
        out.Field("why", absent.second);
      });
    });
    out.Field("notes", result.notes);
  });
}

std::string SensitivitySvg(const SensitivityResult& result) {
  LineChart chart;
  chart.title = result.name + ": speed under pressure";
  chart.subtitle = "of " + result.measure + "; 100 % is what the machine can do";
  double most_x = 100, most_y = 1;
  for (const PressurePhase& phase : result.phases) {
    if (!phase.speed) continue;
    const auto same = std::find_if(chart.lines.begin(), chart.lines.end(),
                                   [&](const ChartLine& line) { return line.name == phase.title; });
    ChartLine& line =
        same != chart.lines.end()
            ? *same
            : chart.lines.emplace_back(ChartLine{phase.title, {{0, 1, 0, "no pressure"}}, {}});
    const double x = phase.achieved_share.value_or(phase.target_share) * 100;
    const double error = phase.uncertainty.value_or(0);
    most_x = std::max(most_x, x);
    most_y = std::max(most_y, *phase.speed + error);
    line.points.push_back(
        {x, *phase.speed, error,
         fmt::format("{}, {}: {:.3f}", phase.title, phase.achieved_text, *phase.speed)});
  }
  for (ChartLine& line : chart.lines) {
    std::stable_sort(line.points.begin(), line.points.end(),
                     [](const LinePoint& a, const LinePoint& b) { return a.x < b.x; });
  }
  chart.x = {"pressure that was achieved, %", 0, most_x};
  chart.y = AxisUpTo("speed: rate over rate without pressure", most_y);
  return LineChartSvg(chart);
}

}  // namespace sharewell::report
