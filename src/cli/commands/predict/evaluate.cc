#include "cli/commands/predict/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "cli/args/out_folder.h"
#include "cli/args/values.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "report/prediction/evaluation.h"
#include "report/prediction/timm.h"
#include "study/prediction/evaluate/evaluation.h"
#include "study/prediction/evaluate/timm.h"
#include "study/prediction/training_rows.h"

namespace sharewell::cli {
namespace {

using core::Result;

constexpr std::uint64_t kMostFolds = 1000;

class EvaluateCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("profiles", profiles_, "measured workloads, each row with its graph")
        ->type_name("PROFILES");
    app.add_option("--split", split_,
                   "what is held out: whole families, a fifth of the rows, a GPU model")
        ->type_name("family|random|gpu")
        ->capture_default_str();
    app.add_option("--folds", folds_, "folds of families, or how often a fifth is drawn")
        ->type_name("K")
        ->capture_default_str();
    app.add_option("--learner", learners_,
                   fmt::format("which to compare, instead of all: {}",
                               fmt::join(study::EvaluatedLearners(), ", ")))
        ->type_name("LEARNER,...")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_flag(
           "--search", search_,
           "choose each learner's options by cross-validation in every fold; ten times as slow")
        ->disable_flag_override();
    app.add_option("--gpu-catalogue", catalogue_, "GPU models of your own, added to ours")
        ->type_name("FILE");
    app.add_option("--timm", timm_,
                   "instead of profiles: step times of timm's public training benchmark, whose CSV "
                   "files lie in DIR")
        ->type_name("DIR");
    app.add_option("--out", out_, "also write JSON, predictions as CSV, and charts as SVG into DIR")
        ->type_name("DIR");
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  Result<ExitCode> Run() override {
    const bool timm = timm_.has_value();
    if (timm && !profiles_.empty()) {
      return core::UsageError(
          "evaluate: profiles and --timm are two evaluations; give one of them");
    }
    if (!timm && profiles_.empty()) {
      return core::UsageError(
          "evaluate: nothing to evaluate; give profiles with graphs, for instance "
          "data/h200/profiles.csv");
    }
    auto options = Options();
    RETURN_IF_ERROR(options);
    if (out_) {
      RETURN_IF_ERROR(CheckOutFolder(*out_));
    }
    return timm ? Timm() : Profiles(std::move(*options));
  }

 private:
  Result<study::EvaluationOptions> Options() const {
    study::EvaluationOptions options;
    const auto split = study::ParseHoldBack(split_);
    if (!split) return tl::unexpected(core::Error(split.error()).Within("--split"));
    options.split = *split;
    const auto folds = ParseWhole("--folds", folds_, 2, kMostFolds);
    RETURN_IF_ERROR(folds);
    options.folds = *folds;
    options.learners = learners_;
    options.search = search_;
    return options;
  }

  Result<ExitCode> Profiles(study::EvaluationOptions options) const {
    auto catalogue = catalogue::GpuCatalogue::Builtin();
    if (catalogue_) {
      RETURN_IF_ERROR(catalogue.Extend(*catalogue_));
    }
    const auto set = study::ReadTrainingSet(profiles_, catalogue);
    RETURN_IF_ERROR(set);
    ProgressBar bar;
    options.progress = [&](std::string_view learner, std::size_t done, std::size_t of) {
      bar.Show(learner, done, of);
    };
    const auto evaluation = study::Evaluate(*set, options);
    bar.Clear();
    if (!evaluation) return tl::unexpected(core::Error(evaluation.error()).Within("evaluate"));
    const std::string json = report::EvaluationJson(*evaluation, profiles_);
    std::vector<OutFile> files = {{"evaluation.json", json},
                                  {"predictions.csv", report::PredictionsCsv(*evaluation)},
                                  {"utilisation.svg", report::UtilisationSvg(*evaluation)}};
    if (!evaluation->importance.empty()) {
      files.push_back({"importance.svg", report::ImportanceSvg(*evaluation)});
    }
    return Finish(json_ ? json : report::EvaluationTable(*evaluation), files);
  }

  Result<ExitCode> Timm() const {
    const auto models = study::ReadTimmFolder(*timm_);
    if (!models) return tl::unexpected(core::Error(models.error()).Within("--timm"));
    const auto errors = study::EvaluateTimm(*models);
    if (!errors) return tl::unexpected(core::Error(errors.error()).Within("--timm"));
    const std::string json = report::TimmJson(*errors);
    return Finish(json_ ? json : report::TimmText(*errors), {{"evaluation.json", json}});
  }

  Result<ExitCode> Finish(const std::string& text, const std::vector<OutFile>& files) const {
    if (out_) {
      RETURN_IF_ERROR(WriteFiles(*out_, files));
    }
    RETURN_IF_ERROR(WriteOut(text));
    return kOk;
  }

  std::vector<std::string> profiles_, learners_;
  std::string split_ = "family";
  std::string folds_ = "10";
  std::optional<std::string> catalogue_, timm_, out_;
  bool search_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewEvaluateCommand() { return std::make_unique<EvaluateCommand>(); }

}  // namespace sharewell::cli
