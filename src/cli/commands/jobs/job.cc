#include "cli/args/when.h"
#include "cli/client/server_answers.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/job_tables.h"

namespace sharewell::cli {
namespace {

class JobCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    AddJobFlag(app, job_);
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const auto asked = FindJob(job_, flags_);
    RETURN_IF_ERROR(asked);
    const auto& [number, client] = *asked;
    if (flags_.json) {
      const auto body = client.Get(fmt::format("/jobs/{}", number));
      return PrintOut(body ? JsonText(*body) : body);
    }
    auto job = client.Job(number);
    RETURN_IF_ERROR(job);
    std::vector<core::JobRecord> one = {std::move(*job)};
    const auto gpus = client.Gpus();
    if (gpus) report::PutNeighbours(one, *gpus);
    report::JobSpeed speed;
    if (one[0].attempt > 0) {  // a server of an older version does not know it
      const auto body = client.Get(fmt::format("/jobs/{}/speed", number));
      if (auto told = body ? SpeedFromAnswer(*body) : core::Result<report::JobSpeed>()) {
        speed = std::move(*told);
      }
    }
    return PrintText(report::JobPage(one[0], platform::UnixNow(), TextWidth(), speed.metrics));
  }

 private:
  std::string job_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewJobCommand() { return std::make_unique<JobCommand>(); }

}  // namespace sharewell::cli
