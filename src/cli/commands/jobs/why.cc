#include "cli/args/when.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/job_tables.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

class WhyCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    AddJobFlag(app, job_);
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const auto asked = FindJob(job_, flags_);
    RETURN_IF_ERROR(asked);
    const auto& [number, client] = *asked;
    const auto body = client.Get(fmt::format("/jobs/{}/why", number));
    RETURN_IF_ERROR(body);
    if (flags_.json) return PrintOut(JsonText(*body));
    auto why = WhyFromAnswer(*body);
    RETURN_IF_ERROR(why);
    if (why->expected_start) {
      why->sentences.push_back("it " +
                               report::StartInWords(*why->expected_start, platform::UnixNow()));
    }
    std::string text;
    for (const std::string& sentence : why->sentences) {
      text += report::Wrapped(report::PlainText(sentence), TextWidth(), 2) + "\n";
    }
    return PrintText(text);
  }

 private:
  std::string job_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewWhyCommand() { return std::make_unique<WhyCommand>(); }

}  // namespace sharewell::cli
