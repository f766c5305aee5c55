#include "server/learner_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace sharewell::server {
namespace {

using Json = nlohmann::ordered_json;
using predict::FigureJudgement;

Json Number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json Figures(const TrainingReport& report) {
  Json out = Json::array();
  for (std::size_t f = 0; f < predict::kFigures; ++f) {
    const FigureJudgement& figure = report.figures[f];
    out.push_back({{"figure", predict::kFigureNames[f]},
                   {"workloads", figure.workloads},
                   {"shipped_error", Number(figure.shipped)},
                   {"in_use_error", Number(figure.in_use)},
                   {"retrained_error", Number(figure.retrained)},
                   {"verdict", predict::NameOf(figure.verdict)},
                   {"why", figure.why}});
  }
  return out;
}

Json ReportJson(const TrainingReport& report) {
  Json out = {{"outcome", report.outcome}, {"why", report.why}};
  if (!report.chosen.empty()) {
    out["chosen"] = report.chosen;
    return out;
  }
  out["runs"] = report.runs;
  out["workloads"] = report.workloads;
  out["held_out"] = report.held_out;
  out["given"] = report.given;
  out["figures"] = Figures(report);
  return out;
}

Json TimedReport(const TrainingReport& report) {
  Json out = {{"id", report.id}, {"time_ms", report.time}};
  out.update(ReportJson(report));
  return out;
}

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string ReportToJson(const TrainingReport& report) { return Text(ReportJson(report)); }

core::Result<TrainingReport> ReportFromJson(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return core::FailedError("a training's report is no JSON object");
  TrainingReport report;
  const auto words = [&](const nlohmann::json& from, const char* key) {
    const auto found = from.find(key);
    return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto count = [&](const nlohmann::json& from, const char* key) -> std::size_t {
    const auto found = from.find(key);
    return found != from.end() && found->is_number_unsigned() ? found->get<std::size_t>() : 0;
  };
  const auto number = [&](const nlohmann::json& from, const char* key) -> std::optional<double> {
    const auto found = from.find(key);
    if (found == from.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  };
  report.outcome = words(json, "outcome");
  report.why = words(json, "why");
  report.chosen = words(json, "chosen");
  report.runs = count(json, "runs");
  report.workloads = count(json, "workloads");
  report.held_out = count(json, "held_out");
  if (const std::string given = words(json, "given"); !given.empty()) report.given = given;
  const auto figures = json.find("figures");
  if (figures == json.end() || !figures->is_array()) return report;
  for (const auto& item : *figures) {
    if (!item.is_object()) continue;
    for (std::size_t f = 0; f < predict::kFigures; ++f) {
      if (words(item, "figure") != predict::kFigureNames[f]) continue;
      FigureJudgement& figure = report.figures[f];
      figure.workloads = count(item, "workloads");
      figure.shipped = number(item, "shipped_error");
      figure.in_use = number(item, "in_use_error");
      figure.retrained = number(item, "retrained_error");
      figure.why = words(item, "why");
      for (const auto verdict :
           {FigureJudgement::Verdict::kTaken, FigureJudgement::Verdict::kReverted}) {
        if (words(item, "verdict") == predict::NameOf(verdict)) figure.verdict = verdict;
      }
    }
  }
  return report;
}

std::string LearnerJson(const LearnerState& state) {
  Json out = {
      {"schema", 1}, {"in_use", state.in_use}, {"given", state.given}, {"pinned", state.pinned}};
  out["trained"] = state.trained ? TimedReport(*state.trained) : Json(nullptr);
  out["runs_kept"] = state.runs;
  out["graphs_kept"] = state.graphs;
  out["new_runs"] = state.new_runs;
  out["trains_at"] = state.next_after > 0 ? Json(state.next_after) : Json(nullptr);
  out["drift"] = state.drift.empty() ? Json(nullptr) : Json(state.drift);
  out["history"] = Json::array();
  for (const TrainingReport& report : state.history) out["history"].push_back(TimedReport(report));
  return Text(out);
}

std::string LearnerMetrics(const LearnerState& state) {
  std::string out =
      "# HELP sharewell_predictor_retrained Whether a predictor that was trained here is in use.\n"
      "# TYPE sharewell_predictor_retrained gauge\n";
  out += fmt::format("sharewell_predictor_retrained {}\n", state.trained ? 1 : 0);
  out +=
      "# HELP sharewell_predictor_trainings_total Trainings since the server started, by what came "
      "of them.\n"
      "# TYPE sharewell_predictor_trainings_total counter\n";
  const std::pair<const char*, std::size_t> outcomes[] = {
      {"taken", state.taken}, {"refused", state.refused}, {"failed", state.failed}};
  for (const auto& [outcome, count] : outcomes) {
    out +=
        fmt::format("sharewell_predictor_trainings_total{{outcome=\"{}\"}} {}\n", outcome, count);
  }
  out += fmt::format(
      "# HELP sharewell_predictor_runs Runs of jobs that are kept to learn from.\n"
      "# TYPE sharewell_predictor_runs gauge\n"
      "sharewell_predictor_runs {}\n"
      "# HELP sharewell_predictor_drifts Whether the newest runs err half again as much as when "
      "the "
      "predictor was judged.\n"
      "# TYPE sharewell_predictor_drifts gauge\n"
      "sharewell_predictor_drifts {}\n",
      state.runs, state.drift.empty() ? 0 : 1);
  if (!state.trained) return out;
  out +=
      "# HELP sharewell_predictor_error Mean error of the logarithm on runs that were held out.\n"
      "# TYPE sharewell_predictor_error gauge\n";
  for (std::size_t f = 0; f < predict::kFigures; ++f) {
    const FigureJudgement& figure = state.trained->figures[f];
    const auto used = figure.verdict == FigureJudgement::Verdict::kTaken      ? figure.retrained
                      : figure.verdict == FigureJudgement::Verdict::kReverted ? figure.shipped
                                                                              : figure.in_use;
    const std::pair<const char*, std::optional<double>> errors[] = {{"shipped", figure.shipped},
                                                                    {"in_use", used}};
    for (const auto& [model, error] : errors) {
      if (!error) continue;
      out += fmt::format("sharewell_predictor_error{{figure=\"{}\",model=\"{}\"}} {:.6g}\n",
                         predict::kFigureNames[f], model, *error);
    }
  }
  return out;
}

}  // namespace sharewell::server
