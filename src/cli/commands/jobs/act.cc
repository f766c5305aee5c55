#include <algorithm>

#include "cli/args/when.h"
#include "cli/client/job_names.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "json/value.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/job_tables.h"
#include "report/text/json.h"
#include "store/job_store.h"

namespace sharewell::cli {
namespace {

// cancel, hold, release, pause, resume: one word to the server about each job.
class ActCommand : public Command {
 public:
  explicit ActCommand(const char* action) : action_(action) {}

  void AddFlags(CLI::App& app) override {
    app.add_option("jobs", jobs_, "numbers of jobs, ranges (71-370), or names of your own jobs")
        ->type_name("JOB")
        ->required();
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    auto numbers = JobsToActOn(*client, jobs_);
    RETURN_IF_ERROR(numbers);
    std::vector<json::Document> done;
    std::string text;
    std::vector<core::Error> errors;
    // The last first: a job that waits is not to take the place of one that was ended before it.
    std::reverse(numbers->begin(), numbers->end());
    for (const std::int64_t number : *numbers) {
      const auto body = client->Post(fmt::format("/jobs/{}/{}", number, action_), "");
      if (!body) {
        // Without a server the others fare no better.
        if (body.error().kind == core::ErrorKind::kAbsent) return tl::unexpected(body.error());
        core::Error error = body.error();
        // What a server says of a job names it; what it says of itself or of us does not.
        const bool of_the_job =
            error.kind == core::ErrorKind::kUsage || error.cause == core::ErrorCause::kConflict;
        if (!of_the_job) {
          error = std::move(error).Within(fmt::format("job {}", number));
        }
        errors.push_back(std::move(error));
        continue;
      }
      if (auto parsed = json::Document::Parse(*body)) done.push_back(std::move(*parsed));
      if (const auto job = store::JobFromJson(*body)) {
        text +=
            fmt::format("job {} {}: {}\n", number, report::PlainText(core::DisplayName(job->asked)),
                        report::StateInWords(*job, platform::UnixNow()));
      }
    }
    if (!errors.empty() && errors.size() == numbers->size()) {
      for (std::size_t i = 1; i < errors.size(); ++i) WriteError(errors[i - 1].message);
      return tl::unexpected(errors.back());
    }
    if (flags_.json) {
      text = report::JsonReport([&](json::Writer& out) {
        out.List("jobs", done, [&](const json::Document& job) { out.Value(job.root()); });
      });
    }
    RETURN_IF_ERROR(flags_.json ? WriteOut(text) : WriteText(text));
    for (const core::Error& error : errors) WriteError(error.message);
    return errors.empty() ? kOk : kFinishedWithFailures;
  }

 private:
  const char* action_;
  std::vector<std::string> jobs_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewCancelCommand() { return std::make_unique<ActCommand>("cancel"); }
std::unique_ptr<Command> NewHoldCommand() { return std::make_unique<ActCommand>("hold"); }
std::unique_ptr<Command> NewReleaseCommand() { return std::make_unique<ActCommand>("release"); }
std::unique_ptr<Command> NewPauseCommand() { return std::make_unique<ActCommand>("pause"); }
std::unique_ptr<Command> NewResumeCommand() { return std::make_unique<ActCommand>("resume"); }

}  // namespace sharewell::cli
