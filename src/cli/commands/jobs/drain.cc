#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "report/jobs/job_tables.h"

namespace sharewell::cli {
namespace {

class DrainCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("gpu", gpu_, "index of the GPU, as `sharewell top` shows it, or its UUID")
        ->type_name("GPU")
        ->required();
    app.add_flag("--undo", undo_, "give it new jobs again")->disable_flag_override();
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    if (gpu_.empty()) return core::UsageError("drain: no GPU is given; `sharewell top` lists them");
    const auto body =
        client->Post(fmt::format("/gpus/{}/{}", QueryText(gpu_), undo_ ? "undrain" : "drain"), "");
    RETURN_IF_ERROR(body);
    if (flags_.json) return PrintOut(JsonText(*body));
    const auto gpus = client->Gpus();
    RETURN_IF_ERROR(gpus);
    std::string rest;
    for (const report::GpuNow& gpu : *gpus) {
      if (std::to_string(gpu.gpu.index) != gpu_ && gpu.gpu.uuid != gpu_) continue;
      if (!undo_ && !gpu.jobs.empty()) {
        rest = fmt::format("; job{} {} run{} on to the end", gpu.jobs.size() == 1 ? "" : "s",
                           fmt::join(gpu.jobs, ", "), gpu.jobs.size() == 1 ? "s" : "");
      }
      return PrintOut(fmt::format("{} {}{}\n", report::GpusInWords({gpu.gpu}),
                                  undo_ ? "takes jobs again" : "takes no new jobs", rest));
    }
    return kOk;
  }

 private:
  std::string gpu_;
  bool undo_ = false;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewDrainCommand() { return std::make_unique<DrainCommand>(); }

}  // namespace sharewell::cli
