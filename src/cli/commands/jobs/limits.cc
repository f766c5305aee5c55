#include "core/limits.h"

#include "cli/args/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using core::Result;
using report::Json;

// "-": it is not counted. The column of the limit says of seconds that they are those of a minute.
std::string Cell(const core::LimitKey& key, const Json& value) {
  if (!value.is_number()) return "-";
  const std::string text = core::LimitText(key, value.get<double>());
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
    const Json told = Json::parse(*body, nullptr, false);
    if (!told.is_object() || !told.contains("limits") || !told["limits"].is_array()) {
      return core::FailedError("the server's answer has no limits in it; check --server");
    }
    return PrintOut(AsTable(told));
  }

 private:
  static std::string AsTable(const Json& told) {
    report::Table table({{"limit", report::Align::kLeft},
                         {"value", report::Align::kRight},
                         {"used", report::Align::kRight},
                         {"left", report::Align::kRight},
                         {"from", report::Align::kLeft},
                         {"of", report::Align::kLeft}});
    for (const core::LimitKey& key : core::LimitKeys()) {
      for (const Json& row : told["limits"]) {
        if (!row.is_object() || row.value("name", Json(nullptr)) != Json(key.name)) continue;
        const Json limit = row.value("limit", Json(nullptr));
        const Json from = row.value("from", Json(nullptr));
        table.Row({std::string(key.name),
                   limit.is_number() ? core::LimitText(key, limit.get<double>()) : "-",
                   Cell(key, row.value("used", Json(nullptr))),
                   Cell(key, row.value("left", Json(nullptr))),
                   from.is_string() ? from.get<std::string>() : "-", std::string(key.what)});
      }
    }
    const Json user = told.value("user", Json(nullptr));
    return fmt::format("Limits of {}. An admin sets them in the server's sharewell.toml.\n\n{}",
                       user.is_string() ? core::Quoted(user.get<std::string>()) : "this user",
                       table.Text());
  }

  std::string user_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewLimitsCommand() { return std::make_unique<LimitsCommand>(); }

}  // namespace sharewell::cli
