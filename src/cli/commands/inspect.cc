#include "cli/commands/inspect.h"

#include "cli/model_flags.h"
#include "cli/terminal.h"
#include "report/inspection.h"
#include "study/inspection.h"
#include "study/model_file.h"

namespace sharewell::cli {
namespace {

constexpr std::size_t kCostliest = 10;

class InspectCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("model", model_, "an ONNX file, a .pt2 archive, a config.json or a layer list")
        ->type_name("MODEL")
        ->required();
    flags_.Add(app);
    app.add_flag("--inference", inference_, "the forward pass alone")->disable_flag_override();
    app.add_flag("--json", json_, "print JSON, every layer included")->disable_flag_override();
  }

  core::Result<ExitCode> Run() override {
    const auto binding = flags_.Binding();
    if (!binding) return tl::unexpected(binding.error());
    auto run = flags_.Run();
    if (!run) return tl::unexpected(run.error());
    run->training = !inference_;
    const auto graph = study::ReadModel(model_, *binding);
    if (!graph) return tl::unexpected(graph.error());
    const study::Inspection inspection = study::Inspect(*graph, *run, model_);
    const auto written = WriteOut(json_ ? report::InspectionJson(inspection)
                                        : report::InspectionTable(inspection, kCostliest));
    if (!written) return tl::unexpected(written.error());
    return kOk;
  }

 private:
  std::string model_;
  ModelFlags flags_;
  bool inference_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewInspectCommand() { return std::make_unique<InspectCommand>(); }

}  // namespace sharewell::cli
