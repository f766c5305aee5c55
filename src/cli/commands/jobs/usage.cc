#include <fmt/format.h>

#include <string>
#include <utility>

#include "cli/args/when.h"
#include "cli/client/server_answers.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/usage_rows.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

class UsageCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--by", by_, "one row for each user, project or GPU model (default user)")
        ->type_name(fmt::format("{}", fmt::join(report::UsageKinds(), "|")));
    app.add_option("--from", from_,
                   "from when: 12h or 30d ago, or 2026-11-15T08:00 (UTC) (default 7d)")
        ->type_name("TIME");
    app.add_option("--to", to_, "until when, in the same way (default now)")->type_name("TIME");
    app.add_flag("--csv", csv_, "print CSV")->disable_flag_override();
    flags_.Add(app);
  }

  Result<ExitCode> Run() override {
    if (csv_ && flags_.json) return UsageError("usage: give --csv or --json, not both");
    const core::UnixMillis now = platform::UnixNow();
    const auto from = ParseWhen("--from", from_, now);
    RETURN_IF_ERROR(from);
    const auto to = ParseWhen("--to", to_, now);
    RETURN_IF_ERROR(to);
    if (*from >= *to) {
      return UsageError("--from: {} is not before --to {}", core::Quoted(from_), core::Quoted(to_));
    }
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    auto body = client->Get(fmt::format("/usage?by={}&from={}&to={}&format={}", QueryText(by_),
                                        *from, *to, csv_ ? "csv" : "json"));
    RETURN_IF_ERROR(body);
    if (csv_) return PrintOut(std::move(*body));
    if (flags_.json) return PrintOut(JsonText(*body));
    const auto table = UsageTableFromAnswer(*body);
    RETURN_IF_ERROR(table);
    return PrintOut(report::UsageTableText(*table));
  }

 private:
  ServerFlags flags_;
  std::string by_ = "user", from_ = "7d", to_ = "now";
  bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> NewUsageCommand() { return std::make_unique<UsageCommand>(); }

}  // namespace sharewell::cli
