#include "cli/commands/whatif.h"

#include "cli/server_flags.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "platform/files/text.h"
#include "report/json.h"
#include "report/whatif.h"

namespace sharewell::cli {
namespace {

constexpr double kMostHistory = 3650;

class WhatIfCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--policy", policies_, "which to play; `sharewell policies` lists them")
        ->type_name("POLICY,...")
        ->capture_default_str();
    app.add_option("--days", days_, "how far back the history goes")
        ->type_name("DAYS")
        ->capture_default_str();
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const auto days = ParseNumber("--days", days_, 0.001, kMostHistory);
    if (!days) return tl::unexpected(days.error());
    report::Json names = report::Json::array();
    for (const auto name : platform::SplitList(policies_, ',')) names.push_back(std::string(name));
    if (names.empty()) return core::UsageError("--policy: give at least one");
    const auto client = flags_.Find();
    if (!client) return tl::unexpected(client.error());
    const auto body =
        client->Post("/simulations", report::Document({{"policies", names}, {"days", *days}}));
    if (!body) return tl::unexpected(body.error());
    if (flags_.json) return PrintOut(JsonText(*body));
    const auto result = WhatIfFromAnswer(*body);
    if (!result) return tl::unexpected(result.error());
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
