#include <fmt/format.h>

#include <cmath>
#include <string>

#include "cli/args/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/words.h"
#include "report/measure/series.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using core::Result;
using report::Json;

std::string Words(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_string() ? found->get<std::string>() : "";
}

std::uint64_t Whole(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// A mean of logarithms as people say it.
std::string Error(const Json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_number()) return report::kUnknown;
  return fmt::format("{:.1f} %", 100 * std::expm1(found->get<double>()));
}

std::string Time(const Json& from) {
  const auto found = from.find("time_ms");
  if (found == from.end() || !found->is_number_integer()) return report::kUnknown;
  return report::UtcTime(found->get<std::int64_t>());
}

std::string FiguresTable(const Json& training) {
  report::Table table({{"figure", report::Align::kLeft},
                       {"shipped", report::Align::kRight},
                       {"before", report::Align::kRight},
                       {"retrained", report::Align::kRight},
                       {"judged on", report::Align::kRight},
                       {"verdict", report::Align::kLeft},
                       {"why", report::Align::kLeft}});
  const auto figures = training.find("figures");
  if (figures == training.end() || !figures->is_array()) return {};
  for (const Json& figure : *figures) {
    if (!figure.is_object()) continue;
    table.Row({Words(figure, "figure"), Error(figure, "shipped_error"),
               Error(figure, "in_use_error"), Error(figure, "retrained_error"),
               fmt::format("{}", Whole(figure, "workloads")), Words(figure, "verdict"),
               Words(figure, "why")});
  }
  return table.Text();
}

std::string TrainingWords(const Json& training) {
  return fmt::format("trained {} on {} of {}, judged on the {} after them", Time(training),
                     core::Count(Whole(training, "runs"), "run"),
                     core::Count(Whole(training, "workloads"), "workload"),
                     Whole(training, "held_out"));
}

class PredictorCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--use", use_, "use this predictor from now on (for admins)")
        ->type_name("shipped|retrained");
    flags_.Add(app);
  }

  Result<ExitCode> Run() override {
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    if (!use_.empty()) {
      RETURN_IF_ERROR(client->Post("/predictor?use=" + QueryText(use_), ""));
      return PrintOut(use_ == "retrained"
                          ? "the server uses what it trained from now on, where it has trained "
                            "something that is better\n"
                          : "the server uses the predictor that it was started with from now on, "
                            "and trains no other\n");
    }
    const auto body = client->Get("/predictor");
    RETURN_IF_ERROR(body);
    if (flags_.json) return PrintOut(JsonText(*body));
    const Json told = Json::parse(*body, nullptr, false);
    if (!told.is_object() || !told.contains("in_use")) {
      return core::FailedError("the server's answer tells no predictor; check --server");
    }
    return PrintOut(AsText(told));
  }

 private:
  static std::string AsText(const Json& told) {
    std::string out = fmt::format("in use: {}", Words(told, "in_use"));
    const Json trained = told.value("trained", Json(nullptr));
    if (trained.is_object()) out += ", " + TrainingWords(trained);
    if (told.value("pinned", Json(false)) == Json(true)) {
      out += " (chosen by hand; nothing is trained until `sharewell predictor --use retrained`)";
    }
    const bool trains = told.value("trains_at", Json(nullptr)).is_number();
    out += fmt::format(
        "\nkept to learn from: {} and {}; {}\n", core::Count(Whole(told, "runs_kept"), "run"),
        core::Count(Whole(told, "graphs_kept"), "graph"),
        trains ? fmt::format("{} new, it trains at {}", Whole(told, "new_runs"),
                             Whole(told, "trains_at"))
               : "nothing is trained, because the model given has learnt from runs already");
    if (const std::string drift = Words(told, "drift"); !drift.empty()) {
      out += "warning: " + drift + "\n";
    }
    if (trained.is_object()) out += "\n" + FiguresTable(trained);
    const Json history = told.value("history", Json::array());
    if (!history.is_array() || history.empty()) return out;
    report::Table table({{"when", report::Align::kLeft},
                         {"outcome", report::Align::kLeft},
                         {"why", report::Align::kLeft}});
    for (const Json& entry : history) {
      if (!entry.is_object()) continue;
      const std::string chosen = Words(entry, "chosen");
      table.Row({Time(entry), chosen.empty() ? Words(entry, "outcome") : "chose " + chosen,
                 Words(entry, "why")});
    }
    out += "\n" + table.Text();
    // What the newest training was refused for, figure by figure.
    if (Words(history.front(), "outcome") == "refused") {
      out += "\nthe last one, " + TrainingWords(history.front()) + ":\n\n" +
             FiguresTable(history.front());
    }
    out += "\nerrors: the mean of how far the logarithm of a prediction is off, as a percentage\n";
    return out;
  }

  std::string use_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewPredictorCommand() { return std::make_unique<PredictorCommand>(); }

}  // namespace sharewell::cli
