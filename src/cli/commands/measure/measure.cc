#include <csignal>
#include <string>
#include <vector>

#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "platform/files/embedded.h"
#include "platform/files/short_folder.h"
#include "platform/files/write_file.h"
#include "platform/process/child.h"
#include "platform/process/passed_signals.h"
#include "platform/process/python_script.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr double kLeastMeasured = 0.1;    // seconds
constexpr double kMostMeasured = 86'400;  // seconds
constexpr std::uint64_t kMostGpuIndex = 1023;
// A kernel search of cuDNN cannot be interrupted; most take less.
constexpr core::Seconds kMeasureGrace{15};

class MeasureCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("what", what_, "what to measure")->type_name("operators");
    app.add_option("--out", out_, "the table; a second run goes on where it ends")
        ->type_name("FILE")
        ->capture_default_str();
    app.add_option("--cells", cells_, "operators with their shapes (default: those of data/h200)")
        ->type_name("FILE");
    app.add_option("--seconds", seconds_, "stop after so many (default 600)")->type_name("N");
    app.add_option("--gpu", gpu_,
                   "number of the GPU, as nvidia-smi has it (default: the first that PyTorch sees)")
        ->type_name("N");
  }

  Result<ExitCode> Run() override {
    if (what_ != "operators") {
      const std::vector<std::string> known = {"operators"};
      if (what_.empty()) {
        return UsageError("say what to measure: `sharewell measure operators`");
      }
      return UsageError("{} cannot be measured by this command{}", core::Quoted(what_),
                        core::DidYouMean(what_, known));
    }
    const auto seconds = ParseNumber("--seconds", seconds_, kLeastMeasured, kMostMeasured);
    RETURN_IF_ERROR(seconds);
    platform::ChildOptions options;
    if (!gpu_.empty()) {
      const auto gpu = ParseWhole("--gpu", gpu_, 0, kMostGpuIndex);
      RETURN_IF_ERROR(gpu);
      options.environment = {{"CUDA_VISIBLE_DEVICES", std::to_string(*gpu)},
                             {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
    }
    const platform::ShortFolder folder;
    auto command = platform::PythonCommand(
        folder.path(), {{"operators.py", platform::EmbeddedOperators()},
                        {"operator_runs.py", platform::EmbeddedOperatorRuns()},
                        {"operator_clock.py", platform::EmbeddedOperatorClock()}});
    RETURN_IF_ERROR(command);
    options.command = *std::move(command);
    std::string cells = cells_;
    if (cells.empty()) {
      cells = folder.path() + "/cells.csv";
      RETURN_IF_ERROR(platform::WriteFile(cells, platform::EmbeddedH200Operators()));
    }
    for (const std::string& word : {std::string("--cells"), cells, std::string("--out"), out_,
                                    std::string("--seconds"), fmt::format("{}", *seconds)}) {
      options.command.push_back(word);
    }
    return Follow(options);
  }

 private:
  // Until it ends. A signal goes to it, and it says what is kept; what it says goes to our stderr.
  static Result<ExitCode> Follow(const platform::ChildOptions& options) {
    platform::PassedSignals signals;
    auto child = platform::Child::Start(options);
    RETURN_IF_ERROR(child);
    platform::Child* const one = child->get();
    bool interrupted = false;
    while (!one->Ended()) {
      platform::WaitForChildren({&one, 1}, core::Seconds{1});
      const auto next = signals.Next();
      if (!next || next->number == SIGWINCH) continue;
      interrupted = true;
      one->Stop(kMeasureGrace);
    }
    const int code = one->Ended()->code;
    if (interrupted) return kInterrupted;
    if (code == kOk || code == kFailed || code == kUsage || code == kAbsent) {
      return static_cast<ExitCode>(code);  // it has said why
    }
    return core::FailedError(
        "Python ended with exit code {} while operators were measured; what was measured before is "
        "kept, and the same command goes on from there",
        code);
  }

  std::string what_;
  std::string out_ = "operators.csv";
  std::string seconds_ = "600";
  std::string cells_, gpu_;
};

}  // namespace

std::unique_ptr<Command> NewMeasureCommand() { return std::make_unique<MeasureCommand>(); }

}  // namespace sharewell::cli
