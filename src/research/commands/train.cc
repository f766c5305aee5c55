#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "advice/prediction.h"
#include "catalogue/gpu_catalogue.h"
#include "cli/args/model_flags.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/words.h"
#include "platform/files/text.h"
#include "platform/files/write_file.h"
#include "research/commands/commands.h"
#include "research/pages/pair_evaluation.h"
#include "research/pages/retraining.h"
#include "research/train/retraining.h"
#include "research/train/train_model.h"

namespace sharewell::research {
namespace {

class TrainCommand : public cli::Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("profiles", profiles_, "measured workloads, each row with its graph")
        ->type_name("PROFILES")
        ->required();
    app.add_option("--pairs", pairs_, "workloads measured together; may be repeated")
        ->type_name("FILE");
    app.add_option("--out", out_, "where the model goes")->type_name("FILE")->required();
    app.add_option("--onto", onto_,
                   "correct a model by the profiles, and keep only what is better: \"shipped\", or "
                   "a model file")
        ->type_name("MODEL");
    app.add_option("--next", next_, "with --onto: later profiles to judge it by; may be repeated")
        ->type_name("FILE");
    app.add_option("--operators", operators_,
                   "a table of operators measured one by one; the base goes by it; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app.add_flag("--refit", refit_, "fit the base's rates to the profiles, too")
        ->disable_flag_override();
    app.add_option("--gpu-catalogue", catalogue_, "GPU models of your own, added to ours")
        ->type_name("FILE");
  }

  core::Result<cli::ExitCode> Run() override {
    // Said before the training, not after it.
    const auto folder = std::filesystem::absolute(out_).parent_path();
    if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored)) {
      return core::UsageError("--out: the folder of {} does not exist; create it first",
                              platform::Quoted(out_));
    }
    const auto catalogue = cli::CatalogueWith(catalogue_);
    RETURN_IF_ERROR(catalogue);
    if (!onto_.empty() && (refit_ || !operators_.empty())) {
      return core::UsageError(
          "--onto keeps the base of the model that it corrects; leave --refit and --operators out");
    }
    if (!onto_.empty()) return Onto(*catalogue);
    if (!next_.empty()) {
      return core::UsageError("--next judges what --onto MODEL is corrected to; give that too");
    }
    cli::ProgressBar progress;
    TrainAsk ask{profiles_, pairs_,
                 [&](std::size_t done, std::size_t of) { progress.Show("training", done, of); },
                 refit_, operators_};
    const auto report = TrainModel(ask, *catalogue);
    progress.Clear();
    RETURN_IF_ERROR(report);
    const std::string text = predict::Write(report->trained);
    RETURN_IF_ERROR(platform::WriteFile(out_, text));
    std::string said = fmt::format("learnt from {} of {}", core::Count(report->rows, "workload"),
                                   core::Count(report->families, "family", "families"));
    if (report->groups > 0)
      said += fmt::format(" and {} of co-located jobs", core::Count(report->groups, "measurement"));
    said += fmt::format("; written to {} ({} kB)\n", out_, text.size() / 1000);
    if (report->without_graph > 0) {
      said += fmt::format("{} no graph (column model or onnx) and taught nothing\n",
                          core::Count(report->without_graph, "row names", "rows name"));
    }
    if (report->groups_left_out > 0) {
      said +=
          fmt::format("{} a workload without a profile and taught nothing\n",
                      core::Count(report->groups_left_out, "co-location has", "co-locations have"));
    }
    if (report->speeds) {
      const auto& c = report->trained.together->state().coefficients;
      said += fmt::format(
          "\ninterference model: host {:g}, neighbour {:g}, dram {:g}, wait {:g}, length {:g}, "
          "narrow {:g}, room {:g}; residual {:g}, of three {:g}\n\n{}\n",
          c.host, c.neighbour, c.dram, c.wait, c.length, c.narrow, c.room, c.residual,
          c.residual_of_three, PairEvaluationText(*report->speeds, std::nullopt));
    }
    said += fmt::format("use it: sharewell predict MODEL --batch N --trained {}\n", out_);
    RETURN_IF_ERROR(cli::WriteOut(said));
    return cli::kOk;
  }

 private:
  // As a server does it with its own runs.
  core::Result<cli::ExitCode> Onto(const catalogue::GpuCatalogue& catalogue) {
    if (!pairs_.empty()) {
      return core::UsageError(
          "--pairs: what is learnt onto a model is about jobs alone; leave it "
          "out, or leave --onto out");
    }
    const auto model = advice::TrainedOrBuiltin(onto_ == "shipped" ? "" : onto_);
    RETURN_IF_ERROR(model);
    const auto report = RetrainModel({profiles_, next_}, *model, catalogue);
    RETURN_IF_ERROR(report);
    RETURN_IF_ERROR(platform::WriteFile(out_, predict::Write(report->trained)));
    RETURN_IF_ERROR(
        cli::WriteOut(RetrainText(*report) +
                      fmt::format("written to {}; use it with --trained {}\n", out_, out_)));
    return cli::kOk;
  }

  std::vector<std::string> profiles_, pairs_, next_;
  std::string out_, catalogue_, onto_;
  std::vector<std::string> operators_;
  bool refit_ = false;
};

}  // namespace

std::unique_ptr<cli::Command> NewTrainCommand() { return std::make_unique<TrainCommand>(); }

}  // namespace sharewell::research
