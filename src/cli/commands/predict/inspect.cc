#include "advice/inspection.h"
#include "advice/model_file.h"
#include "advice/told_ask.h"
#include "cli/args/model_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "report/prediction/inspection.h"

namespace sharewell::cli {
namespace {

constexpr std::size_t kCostliest = 10;

class InspectCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("model", model_,
                   "an ONNX file, a .pt2 archive, a config.json, a layer list or a told step")
        ->type_name("MODEL")
        ->required();
    flags_.Add(app);
    app.add_flag("--inference", inference_, "the forward pass alone")->disable_flag_override();
    app.add_flag("--json", json_, "print JSON, every layer included")->disable_flag_override();
  }

  core::Result<ExitCode> Run() override {
    auto binding = flags_.Binding();
    RETURN_IF_ERROR(binding);
    RETURN_IF_ERROR(flags_.Run());
    advice::PredictionAsk ask;
    ask.model = model_;
    ask.batch = binding->batch;
    ask.precision = flags_.precision;
    ask.optimizer = flags_.optimizer;
    ask.given = flags_.Given();
    RETURN_IF_ERROR(advice::HeedTold(ask));
    binding->batch = ask.batch;
    flags_.precision = ask.precision;
    flags_.optimizer = ask.optimizer;
    auto run = flags_.Run();
    RETURN_IF_ERROR(run);
    run->training = !inference_;
    const auto graph = advice::ReadModel(model_, *binding);
    RETURN_IF_ERROR(graph);
    const advice::Inspection inspection = advice::Inspect(*graph, *run, model_);
    const auto written = WriteOut(json_ ? report::InspectionJson(inspection)
                                        : report::InspectionTable(inspection, kCostliest));
    RETURN_IF_ERROR(written);
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
