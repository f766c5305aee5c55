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

using study::PressurePhase;
using study::SensitivityResult;

std::string RateText(double rate) { return fmt::format("{:.4g}", rate); }

// Speeds above 1 are noise; the raw ones are in the CSV.
std::string SpeedText(const PressurePhase& phase) {
  if (!phase.speed) return std::string(kUnknown);
  return fmt::format("{:.3f}", std::min(1.0, *phase.speed));
}

std::string Sentence(const SensitivityResult& result) {
  std::vector<std::string> losses, calm;
  for (const study::SensitivityOf& of : result.conclusions) {
    if (!of.loss) continue;
    if (of.sensitive) {
      losses.push_back(fmt::format("{} (loses up to {})", of.title, Percent(*of.loss)));
    } else {
      calm.push_back(of.title);
    }
  }
  std::string text = losses.empty()
                         ? fmt::format("sensitive to nothing that was tried (no loss above {})\n",
                                       Percent(study::kSensitiveLoss))
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
  Json json;
  json["schema"] = kSchema;
  json["name"] = result.name;
  json["command"] = result.command;
  json["measure"] = result.measure;
  json["steps_told"] = result.steps;
  json["interrupted"] = result.interrupted;
  json["phases"] = Json::array();
  for (const PressurePhase& phase : result.phases) {
    json["phases"].push_back({{"pressure", phase.pressure},
                              {"target_ratio", phase.target_share},
                              {"achieved_ratio", OrNull(phase.achieved_share)},
                              {"achieved", phase.achieved_text},
                              {"rate_before", OrNull(phase.before.mean)},
                              {"rate", OrNull(phase.rate.mean)},
                              {"rate_after", OrNull(phase.after.mean)},
                              {"speed_ratio", OrNull(phase.speed)},
                              {"uncertainty_ratio", OrNull(phase.uncertainty)}});
  }
  json["sensitivities"] = Json::array();
  for (const study::SensitivityOf& of : result.conclusions) {
    json["sensitivities"].push_back(
        {{"pressure", of.pressure}, {"loss_ratio", OrNull(of.loss)}, {"sensitive", of.sensitive}});
  }
  json["drift_ratio"] = OrNull(result.drift);
  json["absent"] = Json::array();
  for (const auto& [pressure, why] : result.absent) {
    json["absent"].push_back({{"pressure", pressure}, {"why", why}});
  }
  json["notes"] = result.notes;
  return Document(json);
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
