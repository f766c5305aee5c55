#include "server/learn/learner_json.h"

#include <fmt/format.h>

#include <utility>

#include "json/value.h"
#include "json/writer.h"

namespace sharewell::server {
namespace {

using json::Writer;
using predict::FigureJudgement;

void WriteReport(Writer& out, const TrainingReport& report) {
  out.Field("outcome", report.outcome);
  out.Field("why", report.why);
  if (!report.chosen.empty()) return out.Field("chosen", report.chosen);
  out.Field("runs", report.runs);
  out.Field("workloads", report.workloads);
  out.Field("held_out", report.held_out);
  out.Field("given", report.given);
  out.List("taught_by", report.users, [&](const std::string& user) { out.Value(user); });
  out.Key("figures");
  out.List([&] {
    for (std::size_t f = 0; f < predict::kFigures; ++f) {
      const FigureJudgement& figure = report.figures[f];
      out.Object([&] {
        out.Field("figure", predict::kFigureNames[f]);
        out.Field("workloads", figure.workloads);
        out.Field("shipped_error", figure.shipped);
        out.Field("in_use_error", figure.in_use);
        out.Field("retrained_error", figure.retrained);
        out.Field("verdict", predict::NameOf(figure.verdict));
        out.Field("why", figure.why);
      });
    }
  });
}

void WriteTimed(Writer& out, const TrainingReport& report) {
  out.Object([&] {
    out.Field("id", report.id);
    out.Field("time_ms", report.time);
    WriteReport(out, report);
  });
}

// Whose runs taught what: of the predictor, of single workloads, and of what predictions err by.
void WriteUsers(Writer& out, const std::map<std::string, std::int64_t>& runs,
                const std::map<std::string, Lessons>& taught) {
  std::map<std::string, Lessons> all = taught;
  for (const auto& entry : runs) all.try_emplace(entry.first);
  out.Key("users");
  out.List([&] {
    for (const auto& entry : all) {
      const Lessons& lessons = entry.second;
      const auto kept = runs.find(entry.first);
      out.Object([&] {
        out.Field("user", entry.first);
        out.Field("runs_kept", kept == runs.end() ? 0 : kept->second);
        out.Field("workloads", lessons.workloads);
        out.Field("compared", lessons.compared);
        out.Field("busy_factor", lessons.busy);
        out.Field("gpu_memory_factor", lessons.gpu_memory);
        out.Field("cores_factor", lessons.cores);
      });
    }
  });
}

std::string TextAt(json::Value from, const char* key) {
  return std::string(from[key].Text().value_or(""));
}

}  // namespace

std::string ReportToJson(const TrainingReport& report) {
  std::string text;
  Writer out(text, json::Style::kFile);
  out.Object([&] { WriteReport(out, report); });
  return text;
}

core::Result<TrainingReport> ReportFromJson(const std::string& text) {
  const auto parsed = json::Document::Parse(text);
  const json::Value root = json::RootOf(parsed);
  if (!root.is_object()) return core::FailedError("a training's report is no JSON object");
  TrainingReport report;
  report.outcome = TextAt(root, "outcome");
  report.why = TextAt(root, "why");
  report.chosen = TextAt(root, "chosen");
  report.runs = root["runs"].Unsigned().value_or(0);
  report.workloads = root["workloads"].Unsigned().value_or(0);
  report.held_out = root["held_out"].Unsigned().value_or(0);
  if (std::string given = TextAt(root, "given"); !given.empty()) report.given = std::move(given);
  for (const json::Value user : root["taught_by"].items()) {
    if (const auto name = user.Text()) report.users.emplace_back(*name);
  }
  for (const json::Value item : root["figures"].items()) {
    for (std::size_t f = 0; f < predict::kFigures; ++f) {
      if (item["figure"].Text() != predict::kFigureNames[f]) continue;
      FigureJudgement& figure = report.figures[f];
      figure.workloads = item["workloads"].Unsigned().value_or(0);
      figure.shipped = item["shipped_error"].Number();
      figure.in_use = item["in_use_error"].Number();
      figure.retrained = item["retrained_error"].Number();
      figure.why = TextAt(item, "why");
      for (const auto verdict :
           {FigureJudgement::Verdict::kTaken, FigureJudgement::Verdict::kReverted}) {
        if (item["verdict"].Text() == predict::NameOf(verdict)) figure.verdict = verdict;
      }
    }
  }
  return report;
}

std::string LearnerJson(const LearnerState& state, const std::map<std::string, Lessons>& taught) {
  std::string text;
  Writer out(text, json::Style::kFile);
  out.Object([&] {
    out.Field("schema", 1);
    out.Field("in_use", state.in_use);
    out.Field("given", state.given);
    out.Field("pinned", state.pinned);
    out.Key("trained");
    state.trained ? WriteTimed(out, *state.trained) : out.Null();
    out.Field("runs_kept", state.runs);
    out.Field("graphs_kept", state.graphs);
    WriteUsers(out, state.runs_by_user, taught);
    out.Field("new_runs", state.new_runs);
    out.Key("trains_at");
    state.next_after > 0 ? out.Value(state.next_after) : out.Null();
    out.TextOrNull("drift", state.drift);
    out.List("history", state.history,
             [&](const TrainingReport& report) { WriteTimed(out, report); });
  });
  return text;
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
