#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "cli/args/store_flag.h"
#include "cli/commands/commands.h"
#include "cli/commands/security/installation.h"
#include "cli/commands/security/security_checks.h"
#include "cli/terminal.h"
#include "collect/gpu/gpus.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "measure/doctor/host_speed.h"
#include "measure/doctor/machine_checks.h"
#include "platform/clock/wall_clock.h"
#include "report/measure/health.h"

namespace sharewell::cli {
namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class DoctorCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--store", store_, "a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("FILE");
    app.add_option("--state", state_, "the server's folder for jobs and logs, as `serve` has it")
        ->type_name("DIR");
    app.add_flag("--calibrate", calibrate_,
                 "first measure what the host's memory moves (a few seconds, on all CPUs) and how "
                 "fast it "
                 "feeds a GPU (through python3), and keep both")
        ->disable_flag_override();
    app.add_flag("--security", security_,
                 "check instead what others could read, change or use up: files, units, limits, "
                 "tokens, TLS and agents; exit code 1 where something is wrong")
        ->disable_flag_override()
        ->excludes("--calibrate");
    app.add_option("--root", root_,
                   "with --security: the installation below this folder (an image, a chroot)")
        ->type_name("DIR");
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  core::Result<ExitCode> Run() override {
    if (security_) return RunSecurity();
    if (!root_.empty()) return core::UsageError("--root: only --security looks below a folder");
    const std::string store = StorePlace(store_);
    const std::string state = StatePlace(state_, store);
    if (calibrate_) {
      const auto speed = measure::MeasureHostSpeed();
      RETURN_IF_ERROR(speed);
      RETURN_IF_ERROR(measure::KeepHostSpeed(state, measure::MachineKey(), *speed));
      // It needs Python, which not every host of a server has: what else is known is still shown.
      if (const auto probe = measure::RunHostProbe()) {
        RETURN_IF_ERROR(measure::KeepHostProbe(state, measure::MachineKey(), *probe));
      } else {
        SayLine(probe.error().message);
      }
    }
    const auto rows = measure::Examine({.path = FromEnvironment("PATH"),
                                        .nvml_library = collect::GivenNvmlLibrary(),
                                        .state = state,
                                        .dcgm_library = collect::GivenDcgmLibrary()},
                                       store);
    RETURN_IF_ERROR(json_ ? WriteOut(report::HealthJson(rows))
                          : WriteText(report::HealthText(rows, TextWidth())));
    return kOk;
  }

 private:
  core::Result<ExitCode> RunSecurity() const {
    std::error_code error;
    if (!root_.empty() && !std::filesystem::is_directory(root_, error)) {
      return core::UsageError("--root: {} is no folder", core::Quoted(root_));
    }
    const auto rows = ExamineSecurity(
        FindInstallation({.root = root_, .store = store_, .state = state_}), platform::UnixNow());
    RETURN_IF_ERROR(json_ ? WriteOut(report::SecurityJson(rows))
                          : WriteText(report::SecurityText(rows, TextWidth())));
    const bool wrong = std::any_of(rows.begin(), rows.end(), [](const measure::SecurityRow& row) {
      return row.standing == measure::Standing::kWrong;
    });
    return wrong ? kFailed : kOk;
  }

  std::string store_, state_, root_;
  bool calibrate_ = false, security_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace sharewell::cli
