#include "cli/client/server_flags.h"
#include "cli/client/sign_in_link.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace sharewell::cli {
namespace {

class DashboardCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override { flags_.Add(app); }

  core::Result<ExitCode> Run() override {
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    const auto made = AskSignInLink(*client);
    RETURN_IF_ERROR(made);
    if (flags_.json) return PrintOut(JsonText(made->answer));
    RETURN_IF_ERROR(WriteOut(made->link + "\n"));
    SayLine("this link " + made->Note());
    return kOk;
  }

 private:
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewDashboardCommand() { return std::make_unique<DashboardCommand>(); }

}  // namespace sharewell::cli
