#include <fmt/format.h>

#include "cli/args/completion.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/suggest.h"
#include "platform/files/text.h"

namespace sharewell::cli {
namespace {

class CompletionCommand : public Command {
 public:
  explicit CompletionCommand(const Program& program) : program_(program) {}

  void AddFlags(CLI::App& app) override {
    app.add_option("shell", shell_, "the shell that it is for")
        ->type_name(fmt::format("{}", fmt::join(Shells(), "|")))
        ->required();
  }

  core::Result<ExitCode> Run() override {
    const auto script = CompletionScript(program_, shell_);
    if (!script) {
      const auto shells = Shells();
      return core::UsageError("completion: {} is not allowed; give bash, zsh or fish{}",
                              platform::Quoted(shell_), core::DidYouMean(shell_, shells));
    }
    RETURN_IF_ERROR(WriteOut(*script));
    return kOk;
  }

 private:
  const Program& program_;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> NewCompletionOf(const Program& program) {
  return std::make_unique<CompletionCommand>(program);
}

}  // namespace sharewell::cli
