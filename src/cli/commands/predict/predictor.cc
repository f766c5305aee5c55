#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <vector>

#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "json/value.h"
#include "report/measure/series.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using core::Result;
using json::Value;

std::string Words(Value from, const char* key) {
  return std::string(from[key].Text().value_or(""));
}

std::uint64_t Whole(Value from, const char* key) { return from[key].Unsigned().value_or(0); }

// A mean of logarithms as people say it.
std::string Error(Value from, const char* key) {
  const auto error = from[key].Number();
  return error ? fmt::format("{:.1f} %", 100 * std::expm1(*error)) : report::kUnknown;
}

std::string Time(Value from) {
  const auto time = from["time_ms"].Whole();
  return time ? report::UtcTime(*time) : report::kUnknown;
}

std::string FiguresTable(Value training) {
  report::Table table({{"figure", report::Align::kLeft},
                       {"shipped", report::Align::kRight},
                       {"before", report::Align::kRight},
                       {"retrained", report::Align::kRight},
                       {"judged on", report::Align::kRight},
                       {"verdict", report::Align::kLeft},
                       {"why", report::Align::kLeft}});
  if (!training["figures"].is_list()) return {};
  for (const Value figure : training["figures"].items()) {
    if (!figure.is_object()) continue;
    table.Row({Words(figure, "figure"), Error(figure, "shipped_error"),
               Error(figure, "in_use_error"), Error(figure, "retrained_error"),
               fmt::format("{}", Whole(figure, "workloads")), Words(figure, "verdict"),
               Words(figure, "why")});
  }
  return table.Text();
}

std::string TrainingWords(Value training) {
  return fmt::format("trained {} on {} of {}, judged on the {} after them", Time(training),
                     core::Count(Whole(training, "runs"), "run"),
                     core::Count(Whole(training, "workloads"), "workload"),
                     Whole(training, "held_out"));
}

std::string TaughtBy(Value training) {
  std::vector<std::string> names;
  if (!training["taught_by"].is_list()) return {};
  for (const Value name : training["taught_by"].items()) {
    names.emplace_back(name.Text().value_or(""));
  }
  return names.empty() ? "" : fmt::format(", taught by {}", fmt::join(names, ", "));
}

// What counts for each user's own jobs, and for others where several users agree.
std::string UsersTable(Value users) {
  if (!users.is_list() || users.empty()) return {};
  report::Table table({{"taught by", report::Align::kLeft},
                       {"workloads", report::Align::kRight},
                       {"runs kept", report::Align::kRight},
                       {"compared", report::Align::kRight},
                       {"busy", report::Align::kRight},
                       {"GPU memory", report::Align::kRight},
                       {"cores", report::Align::kRight}});
  const auto factor = [](Value user, const char* key) {
    const auto value = user[key].Number();
    return value ? fmt::format("x{:.2f}", *value) : report::kUnknown;
  };
  for (const Value user : users.items()) {
    if (!user.is_object()) continue;
    const std::string name = Words(user, "user");
    table.Row({name.empty() ? "(before users were kept)" : name,
               fmt::format("{}", Whole(user, "workloads")),
               fmt::format("{}", Whole(user, "runs_kept")),
               fmt::format("{}", Whole(user, "compared")), factor(user, "busy_factor"),
               factor(user, "gpu_memory_factor"), factor(user, "cores_factor")});
  }
  return "\n" + table.Text() +
         "x: what that user's jobs were seen to need over what was predicted\n";
}

class PredictorCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--use", use_, "use this predictor from now on (for admins)")
        ->type_name("shipped|retrained");
    app.add_option("--forget", forget_, "forget what this user's jobs taught (for admins)")
        ->type_name("USER");
    flags_.Add(app);
  }

  Result<ExitCode> Run() override {
    if (!use_.empty() && !forget_.empty()) {
      return core::UsageError("predictor: give --use or --forget, not both");
    }
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
    if (!forget_.empty()) {
      RETURN_IF_ERROR(client->Post("/predictor?forget=" + QueryText(forget_), ""));
      return PrintOut(fmt::format(
          "the server forgets what jobs of {} taught: profiles, pairs, and runs to learn from\n",
          core::Quoted(forget_)));
    }
    const auto body = client->Get("/predictor");
    RETURN_IF_ERROR(body);
    if (flags_.json) return PrintOut(JsonText(*body));
    const auto parsed = json::Document::Parse(*body);
    if (!json::RootOf(parsed).Has("in_use")) {
      return core::FailedError("the server's answer tells no predictor; check --server");
    }
    return PrintOut(AsText(parsed->root()));
  }

 private:
  static std::string AsText(Value told) {
    std::string out = fmt::format("in use: {}", Words(told, "in_use"));
    const Value trained = told["trained"];
    if (trained.is_object()) out += ", " + TrainingWords(trained) + TaughtBy(trained);
    if (told["pinned"].Bool().value_or(false)) {
      out += " (chosen by hand; nothing is trained until `sharewell predictor --use retrained`)";
    }
    const bool trains = told["trains_at"].is_number();
    out += fmt::format(
        "\nkept to learn from: {} and {}; {}\n", core::Count(Whole(told, "runs_kept"), "run"),
        core::Count(Whole(told, "graphs_kept"), "graph"),
        trains ? fmt::format("{} new, it trains at {}", Whole(told, "new_runs"),
                             Whole(told, "trains_at"))
               : "nothing is trained, because the model given has learnt from runs already");
    if (const std::string drift = Words(told, "drift"); !drift.empty()) {
      out += "warning: " + drift + "\n";
    }
    out += UsersTable(told["users"]);
    if (trained.is_object()) out += "\n" + FiguresTable(trained);
    const Value history = told["history"];
    if (!history.is_list() || history.empty()) return out;
    report::Table table({{"when", report::Align::kLeft},
                         {"outcome", report::Align::kLeft},
                         {"why", report::Align::kLeft}});
    for (const Value entry : history.items()) {
      if (!entry.is_object()) continue;
      const std::string chosen = Words(entry, "chosen");
      table.Row({Time(entry), chosen.empty() ? Words(entry, "outcome") : "chose " + chosen,
                 Words(entry, "why")});
    }
    out += "\n" + table.Text();
    // What the newest training was refused for, figure by figure.
    if (Words(history.At(0), "outcome") == "refused") {
      out +=
          "\nthe last one, " + TrainingWords(history.At(0)) + ":\n\n" + FiguresTable(history.At(0));
    }
    out += "\nerrors: the mean of how far the logarithm of a prediction is off, as a percentage\n";
    return out;
  }

  std::string use_, forget_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewPredictorCommand() { return std::make_unique<PredictorCommand>(); }

}  // namespace sharewell::cli
