#include "report/simulation/whatif.h"

#include "cli/args/server_flags.h"
#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "platform/files/text.h"
#include "report/text/json.h"

namespace sharewell::cli {
namespace {

constexpr double kMostHistory = 3650;

class WhatIfCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--policy", policies_, "policies to simulate; `sharewell policies` lists them")
        ->type_name("POLICY,...")
        ->capture_default_str();
    app.add_option("--days", days_, "days of history")->type_name("DAYS")->capture_default_str();
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const auto days = ParseNumber("--days", days_, 0.001, kMostHistory);
    RETURN_IF_ERROR(days);
    report::Json names = report::Json::array();
    for (const auto name : platform::SplitList(policies_, ',')) names.push_back(std::string(name));
    if (names.empty()) return core::UsageError("--policy: give at least one");
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    const auto body =
        client->Post("/whatif", report::Document({{"policies", names}, {"days", *days}}));
    RETURN_IF_ERROR(body);
    if (flags_.json) return PrintOut(JsonText(*body));
    const auto result = WhatIfFromAnswer(*body);
    RETURN_IF_ERROR(result);
    return PrintOut(report::WhatIfTable(*result, OutWidth().value_or(100)));
  }

 private:
  std::string policies_ = "slot,sharewell";
  std::string days_ = "7";
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewWhatIfCommand() { return std::make_unique<WhatIfCommand>(); }

}  // namespace sharewell::cli
