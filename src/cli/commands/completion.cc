#include "cli/commands/completion.h"

#include <fmt/format.h>

#include "cli/completion.h"
#include "cli/terminal.h"
#include "core/suggest.h"
#include "platform/files/text.h"

namespace sharewell::cli {
namespace {

class CompletionCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("shell", shell_, "the shell that it is for")
        ->type_name(fmt::format("{}", fmt::join(Shells(), "|")))
        ->required();
  }

  core::Result<ExitCode> Run() override {
    const auto script = CompletionScript(shell_);
    if (!script) {
      const auto shells = Shells();
      return core::UsageError("completion: {} is not allowed; give bash, zsh or fish{}",
                              platform::Shown(shell_), core::DidYouMean(shell_, shells));
    }
    if (auto ok = WriteOut(*script); !ok) return tl::unexpected(ok.error());
    return kOk;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> NewCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace sharewell::cli
