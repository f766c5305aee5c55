#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "advice/watch_step.h"
#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "platform/files/write_file.h"
#include "report/prediction/told_step.h"

namespace sharewell::cli {
namespace {

constexpr std::uint64_t kMostSteps = 1'000'000'000;
constexpr int kMostDaysWatched = 30;

class WatchCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    auto* steps = app.add_option("--steps", steps_,
                                 "end the command once it has told its step and made N (default 2)")
                      ->type_name("N");
    app.add_option("--out", out_, "write the told step into FILE (default step.json)")
        ->type_name("FILE");
    auto* limit = app.add_option("--limit", limit_,
                                 "end the command, with an error, when it has told nothing by then "
                                 "(default 10m)")
                      ->type_name("TIME");
    app.add_flag("--run-on", run_on_,
                 "let the command run to its end; the exit code is the command's")
        ->disable_flag_override()
        ->excludes(steps)
        ->excludes(limit);
    app.add_flag("--json", json_, "print JSON; what the command prints then goes to stderr")
        ->disable_flag_override();
  }

  std::vector<std::string>* CommandLine() override { return &command_; }

  core::Result<ExitCode> Run() override {
    advice::StepWatch watch;
    if (command_.empty()) {
      return core::UsageError(
          "watch: no command is given; write it after --: sharewell watch -- python3 train.py");
    }
    const auto steps = ParseWhole("--steps", steps_, 1, kMostSteps);
    RETURN_IF_ERROR(steps);
    const auto limit = ParseTime("--limit", limit_, kMostDaysWatched);
    RETURN_IF_ERROR(limit);
    std::error_code ignored;
    if (std::filesystem::is_directory(out_, ignored)) {
      return core::UsageError("--out: {} is a folder; name a file in it", out_);
    }
    watch.command = command_;
    watch.steps = static_cast<std::int64_t>(*steps);
    watch.limit = *limit;
    watch.run_on = run_on_;
    watch.output_to_stderr = json_;
    const auto watched = advice::WatchStep(watch);
    RETURN_IF_ERROR(watched);
    const HoldInterrupts until_it_is_kept;
    RETURN_IF_ERROR(platform::WriteFile(out_, watched->document + "\n"));
    if (json_) {
      RETURN_IF_ERROR(WriteOut(report::WatchedStepJson(*watched, out_)));
    } else {
      WriteErr(report::WatchedStepText(*watched, out_));
    }
    // The command's own where it ended by itself, as a shell has it: 0..255.
    return watched->exit_code ? static_cast<ExitCode>(*watched->exit_code) : kOk;
  }

 private:
  std::vector<std::string> command_;
  std::string steps_ = "2", out_ = "step.json", limit_ = "10m";
  bool run_on_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewWatchCommand() { return std::make_unique<WatchCommand>(); }

}  // namespace sharewell::cli
