#include "core/job/limits.h"

#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "json/value.h"
#include "report/jobs/job_tables.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using core::Result;
using json::Value;

// "-": it is not counted. The column of the limit says of seconds that they are those of a minute.
std::string Cell(const core::LimitKey& key, Value value) {
  if (!value.is_number()) return "-";
  const std::string text = core::LimitText(key, *value.Number());
  return text.substr(0, text.find(" a minute"));
}

class LimitsCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--user", user_, "show another user's limits (for admins)")->type_name("USER");
    flags_.Add(app);
  }

  Result<ExitCode> Run() override {
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    const auto body = client->Get("/limits" + (user_.empty() ? "" : "?user=" + QueryText(user_)));
    RETURN_IF_ERROR(body);
    if (flags_.json) return PrintOut(JsonText(*body));
    const auto parsed = json::Document::Parse(*body);
    if (!json::RootOf(parsed)["limits"].is_list()) {
      return core::FailedError("the server's answer has no limits in it; check --server");
    }
    std::string text = AsTable(parsed->root());
    // An older server has no such route.
    if (const auto projects = client->Get("/projects")) text += ProjectsTable(*projects);
    return PrintText(text);
  }

 private:
  // Empty: an older server does not say.
  static std::string UnknownInWords(Value told) {
    const auto start = told["unknown"].Text();
    if (!start) return {};
    return fmt::format("\nA job of which nothing is known {} (unknown = \"{}\", from {}).\n",
                       *start == "alone" ? "waits for an idle GPU"
                                         : "starts on an idle GPU, or beside others as a guest",
                       core::Quoted(*start).substr(1, start->size()),
                       told["unknown_from"].Text().value_or("-"));
  }
  // Empty: there are none.
  static std::string ProjectsTable(const std::string& body) {
    const auto parsed = json::Document::Parse(body);
    const Value projects = json::RootOf(parsed)["projects"];
    report::Table table({{"project", report::Align::kLeft},
                         {"share", report::Align::kRight},
                         {"GPUs of it", report::Align::kRight},
                         {"in use", report::Align::kRight},
                         {"jobs that run", report::Align::kRight},
                         {"that wait", report::Align::kRight},
                         {"yours", report::Align::kLeft}});
    bool any = false;
    const auto cell = [](Value value, double times = 1) {
      return value.is_number() ? fmt::format("{:.3g}", *value.Number() * times) : std::string("-");
    };
    for (const Value row : projects.items()) {
      any = true;
      const std::string name(row["name"].Text().value_or("-"));
      table.Row({report::PlainText(name), cell(row["share"], 100) + " %",
                 cell(row["gpus_of_share"]), cell(row["gpus_in_use"]), cell(row["running"]),
                 cell(row["waiting"]), row["yours"].Bool().value_or(false) ? "yes" : "no"});
    }
    if (!any) return {};
    const bool reclaim = json::RootOf(parsed)["reclaim"].Bool().value_or(false);
    return fmt::format(
               "\nProjects: who is below its share of the GPUs goes first; what is not used is "
               "lent{}.\n\n",
               reclaim
                   ? ", and taken\nback: jobs that ran for 10 minutes or more are stopped for it"
                   : "") +
           table.Text();
  }
  static std::string AsTable(Value told) {
    report::Table table({{"limit", report::Align::kLeft},
                         {"value", report::Align::kRight},
                         {"used", report::Align::kRight},
                         {"left", report::Align::kRight},
                         {"from", report::Align::kLeft},
                         {"of", report::Align::kLeft}});
    for (const core::LimitKey& key : core::LimitKeys()) {
      for (const Value row : told["limits"].items()) {
        if (row["name"].Text() != key.name) continue;
        const auto limit = row["limit"].Number();
        table.Row({std::string(key.name), limit ? core::LimitText(key, *limit) : "none",
                   Cell(key, row["used"]), Cell(key, row["left"]),
                   std::string(row["from"].Text().value_or("-")), std::string(key.what)});
      }
    }
    const auto user = told["user"].Text();
    return fmt::format("Limits of {}. An admin sets them in the server's sharewell.toml.\n\n{}{}",
                       user ? core::Quoted(*user) : "this user", table.Text(),
                       UnknownInWords(told));
  }

  std::string user_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewLimitsCommand() { return std::make_unique<LimitsCommand>(); }

}  // namespace sharewell::cli
