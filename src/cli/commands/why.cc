#include "cli/commands/why.h"

#include "cli/server_flags.h"
#include "cli/terminal.h"
#include "cli/when.h"
#include "report/job_tables.h"
#include "report/table.h"

namespace sharewell::cli {
namespace {

constexpr std::size_t kWhyWidth = 100;

class WhyCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    AddJobFlag(app, job_);
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const auto asked = FindJob(job_, flags_);
    if (!asked) return tl::unexpected(asked.error());
    const auto& [number, client] = *asked;
    const auto body = client.Get(fmt::format("/jobs/{}/why", number));
    if (!body) return tl::unexpected(body.error());
    if (flags_.json) return PrintOut(JsonText(*body));
    auto why = WhyFromAnswer(*body);
    if (!why) return tl::unexpected(why.error());
    if (why->expected_start) {
      why->sentences.push_back("it " + report::StartInWords(*why->expected_start, UnixNow()));
    }
    const std::size_t width = std::min(OutWidth().value_or(kWhyWidth), kWhyWidth);
    std::string text;
    for (const std::string& sentence : why->sentences) {
      text += report::Wrapped(report::PlainText(sentence), width, 2) + "\n";
    }
    return PrintOut(text);
  }

 private:
  std::string job_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewWhyCommand() { return std::make_unique<WhyCommand>(); }

}  // namespace sharewell::cli
