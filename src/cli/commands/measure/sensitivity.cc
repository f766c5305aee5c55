#include "report/measure/sensitivity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/args/out_folder.h"
#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "measure/sensitivity/sensitivity.h"
#include "platform/files/text.h"
#include "platform/machine/cpu_topology.h"
#include "platform/process/cpu_set.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;
using stress::PressureKind;

constexpr int kMostHours = 1;

// The script, not its interpreter.
std::string NameAfter(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const std::filesystem::path path(word);
    if (path.extension() == ".py" || path.extension() == ".sh") return path.stem().string();
  }
  const std::string program = std::filesystem::path(command.front()).filename().string();
  return program.empty() ? "job" : program;
}

class SensitivityCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--pressures", pressures_, "pressures to apply, in this order (default all)")
        ->type_name("membw,llc,cpu,pcie,disk");
    app.add_option("--levels", levels_, "levels of each, in % of what this machine can do")
        ->type_name("25,50,75,100");
    app.add_option("--phase", phase_, "how long to hold each level")
        ->type_name("TIME")
        ->capture_default_str();
    app.add_option("--warmup", warmup_, "time at the start that is not measured")
        ->type_name("auto|TIME")
        ->capture_default_str();
    app.add_option("--cpus", cpus_,
                   "give the job this many CPUs of its own, or these (0-3,8); membw, llc, pcie and "
                   "disk press from the others")
        ->type_name("N|LIST");
    app.add_option("--progress-regex", regex_,
                   "find the steps in the job's output: group 1 is the step counter")
        ->type_name("REGEX");
    app.add_option("--disk-path", disk_path_, "folder on the disk to press on")
        ->type_name("DIR")
        ->capture_default_str();
    app.add_option("--gpu", gpu_, "GPU whose PCIe to press on")
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--name", name_, "name of the job (default: the command)")->type_name("NAME");
    app.add_option("--out", out_, "write sensitivity.csv and sensitivity.svg into DIR")
        ->type_name("DIR");
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  std::vector<std::string>* CommandLine() override { return &command_; }

  Result<ExitCode> Run() override {
    auto options = Options();
    RETURN_IF_ERROR(options);
    if (!out_.empty()) {
      RETURN_IF_ERROR(CheckOutFolder(out_));
    }
    ProgressBar bar;
    options->progress = [&](const measure::SensitivityProgress& progress) {
      bar.Show(progress.what, progress.done, progress.of);
    };
    const auto result = measure::Sensitivity(*options);
    bar.Clear();
    RETURN_IF_ERROR(result);
    if (!out_.empty()) {
      const std::vector<OutFile> files = {{"sensitivity.csv", report::SensitivityCsv(*result)},
                                          {"sensitivity.svg", report::SensitivitySvg(*result)}};
      RETURN_IF_ERROR(WriteFiles(out_, files));
    }
    const std::string text =
        json_ ? report::SensitivityJson(*result) : report::SensitivityTable(*result);
    RETURN_IF_ERROR(WriteOut(text));
    return result->interrupted ? kInterrupted : kOk;
  }

 private:
  Result<measure::SensitivityOptions> Options() const {
    if (command_.empty()) {
      return UsageError(
          "sensitivity: no command is given; write it after --, as in\n"
          "sharewell sensitivity -- python3 train.py");
    }
    measure::SensitivityOptions options;
    options.watch = measure::WatchHere();
    options.watch.interval = core::Seconds(0.5);
    options.watch.at_most = core::Seconds(120);
    const auto phase = ParseTime("--phase", phase_, kMostHours);
    RETURN_IF_ERROR(phase);
    if (phase->value < 0.5)
      return UsageError("--phase: {} is too short; give 0.5s or more", phase_);
    options.phase = *phase;
    if (warmup_ != "auto") {
      const auto warmup = ParseTime("--warmup", warmup_, kMostHours);
      RETURN_IF_ERROR(warmup);
      options.watch.warmup = *warmup;
    }
    options.run.name = name_.empty() ? NameAfter(command_) : name_;
    options.run.command = command_;
    if (!regex_.empty()) {
      options.run.throughput = {measure::ThroughputSource::Kind::kSteps, regex_};
      if (auto ok = measure::CheckExpression(options.run.throughput); !ok) {
        return tl::unexpected(core::Error(ok.error()).Within("--progress-regex"));
      }
    }
    // stdout is ours: what the job prints would stand in the middle of it.
    options.run.out.to = platform::ChildOutput::To::kNull;
    if (const int stderr_again = ::open("/dev/stderr", O_WRONLY | O_APPEND | O_CLOEXEC);
        stderr_again >= 0) {
      ::close(stderr_again);
      options.run.out = {.to = platform::ChildOutput::To::kFile, .file = "/dev/stderr"};
    }
    RETURN_IF_ERROR(AddPressures(options));
    return options;
  }

  Result<std::vector<int>> JobCpus(const std::vector<int>& allowed) const {
    if (cpus_.find_first_not_of("0123456789") == std::string::npos) {
      const auto count = ParseWhole("--cpus", cpus_, 1, allowed.size());
      RETURN_IF_ERROR(count);
      auto cpus = platform::PickCpus(platform::CpuPlaces(allowed), static_cast<int>(*count));
      std::sort(cpus.begin(), cpus.end());
      return cpus;
    }
    auto cpus = platform::ParseCpus(cpus_);
    if (!cpus) return tl::unexpected(core::Error(cpus.error()).Within("--cpus"));
    for (const int cpu : *cpus) {
      if (!std::binary_search(allowed.begin(), allowed.end(), cpu)) {
        return UsageError("--cpus: CPU {} is not among {}, which this process may use", cpu,
                          platform::FormatCpus(allowed));
      }
    }
    return cpus;
  }

  Result<std::vector<core::Ratio>> Shares(PressureKind kind) const {
    if (levels_.empty()) return measure::UsualShares(kind);
    std::vector<core::Ratio> shares;
    for (std::string_view text : platform::SplitList(levels_, ',')) {
      if (text.ends_with('%')) text.remove_suffix(1);
      const auto percent = ParseNumber("--levels", text, 1, 100);
      RETURN_IF_ERROR(percent);
      shares.push_back(*percent / 100);
    }
    if (shares.empty()) return UsageError("--levels: no level is given; write 50,100");
    return shares;
  }

  Result<void> AddPressures(measure::SensitivityOptions& options) const {
    std::vector<int> own, others;
    if (!cpus_.empty()) {
      const auto allowed = platform::AllowedCpus();
      auto cpus = JobCpus(allowed);
      RETURN_IF_ERROR(cpus);
      own = *std::move(cpus);
      options.run.cpus = own;
      std::set_difference(allowed.begin(), allowed.end(), own.begin(), own.end(),
                          std::back_inserter(others));
    }
    const auto gpu = ParseWhole("--gpu", gpu_, 0, 1023);
    RETURN_IF_ERROR(gpu);
    for (const std::string_view name : platform::SplitList(pressures_, ',')) {
      const auto kind = stress::KindOf(name);
      if (!kind) return tl::unexpected(core::Error(kind.error()).Within("--pressures"));
      const auto shares = Shares(*kind);
      RETURN_IF_ERROR(shares);
      measure::WantedPressure wanted;
      wanted.spec.kind = *kind;
      // Threads that press on memory should not also take the job's cores; those that press on the
      // CPU should.
      wanted.spec.cpus = *kind == PressureKind::kCpu ? own : others;
      wanted.spec.gpu = static_cast<int>(*gpu);
      wanted.spec.disk_path = disk_path_;
      if (const char* library = std::getenv("SHAREWELL_LIBCUDA")) {
        wanted.spec.cuda_library = library;
      }
      wanted.shares = *shares;
      options.pressures.push_back(std::move(wanted));
    }
    if (options.pressures.empty())
      return UsageError("--pressures: no pressure is given; write membw,cpu");
    return {};
  }

  std::string pressures_ = "membw,llc,cpu,pcie,disk", levels_, phase_ = "10s", warmup_ = "auto";
  std::string cpus_, regex_, disk_path_ = ".", gpu_ = "0", name_, out_;
  bool json_ = false;
  std::vector<std::string> command_;
};

}  // namespace

std::unique_ptr<Command> NewSensitivityCommand() { return std::make_unique<SensitivityCommand>(); }

}  // namespace sharewell::cli
