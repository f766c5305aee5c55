#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <vector>

#include "advice/measured_groups.h"
#include "advice/prediction.h"
#include "cli/args/model_flags.h"
#include "cli/args/out_folder.h"
#include "cli/args/values.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "research/commands/commands.h"
#include "research/evaluate/beside_yeung.h"
#include "research/evaluate/evaluate_pairs.h"
#include "research/evaluate/evaluation.h"
#include "research/evaluate/judge.h"
#include "research/evaluate/measured_slowdowns.h"
#include "research/evaluate/timm.h"
#include "research/evaluate/worth.h"
#include "research/pages/beside_yeung.h"
#include "research/pages/evaluation.h"
#include "research/pages/judged_sweeps.h"
#include "research/pages/pair_evaluation.h"
#include "research/pages/retraining.h"
#include "research/pages/timm.h"
#include "research/pages/worth.h"
#include "research/pages/yeung_charts.h"
#include "research/train/operator_file.h"
#include "research/train/retraining.h"
#include "research/train/training_rows.h"

namespace sharewell::research {
namespace {

using core::Result;

constexpr std::uint64_t kMostFolds = 1000;
// Gavel has several times as many pairs as we: a fifth of them is plenty to judge by.
constexpr std::size_t kGavelFolds = 5;

class EvaluateCommand : public cli::Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("profiles", profiles_, "files of measured workloads, each row with its graph")
        ->type_name("PROFILES");
    app.add_option("--split", split_,
                   "what is held out: whole families, a fifth of the rows, a GPU model")
        ->type_name("family|random|gpu")
        ->capture_default_str();
    app.add_option("--folds", folds_, "number of folds, or how often a fifth is drawn")
        ->type_name("K")
        ->capture_default_str();
    app.add_option("--learner", learners_,
                   fmt::format("learners to compare (default all): {}",
                               fmt::join(EvaluatedLearners(), ", ")))
        ->type_name("LEARNER,...")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_flag(
           "--search", search_,
           "choose each learner's options by cross-validation in every fold; ten times as slow")
        ->disable_flag_override();
    app.add_flag("--refit", refit_, "fit the base's rates in every fold anew")
        ->disable_flag_override();
    app.add_option("--operators", operators_,
                   "a table of operators measured one by one; the base goes by it, and --refit "
                   "holds; may be "
                   "repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app.add_flag("--worth", worth_,
                 "what the operator table, the host probe and the learned residual are worth")
        ->disable_flag_override();
    app.add_option("--gpu-catalogue", catalogue_, "GPU models of your own, added to ours")
        ->type_name("FILE");
    app.add_flag(
           "--yeung", yeung_,
           "compare with the predictor of Yeung et al.: RMSLE of utilisation by learner, rows "
           "held out at random and by family")
        ->disable_flag_override();
    app.add_option("--timm", timm_,
                   "instead of profiles: step times of timm's public training benchmark, whose CSV "
                   "files lie in DIR")
        ->type_name("DIR");
    app.add_flag("--pairs", pairs_,
                 "instead of profiles: predicted speeds beside another job, on our measured pairs")
        ->disable_flag_override();
    app.add_option("--recommend", sweeps_,
                   "with profiles: what `recommend` chooses among the cells of these sweeps and of "
                   "the profiles, beside the best")
        ->type_name("SWEEP,...")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--gavel", gavel_, "with --pairs: Gavel's pairs too, as CSV")->type_name("FILE");
    app.add_option("--trained", trained_,
                   "how far this model is off on the profiles as it is, beside the shipped one; "
                   "with --pairs: predict demands by it")
        ->type_name("FILE");
    app.add_option("--out", out_, "also write JSON, predictions as CSV, and charts as SVG into DIR")
        ->type_name("DIR");
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  Result<cli::ExitCode> Run() override {
    const int asked = (timm_ ? 1 : 0) + (pairs_ ? 1 : 0) + (profiles_.empty() ? 0 : 1);
    if (asked > 1) {
      return core::UsageError(
          "evaluate: profiles, --pairs and --timm are separate evaluations; give one of them");
    }
    if (yeung_ && profiles_.empty()) {
      return core::UsageError("evaluate: --yeung needs profiles with graphs to learn from");
    }
    if (!sweeps_.empty() && profiles_.empty()) {
      return core::UsageError(
          "evaluate: --recommend needs profiles with graphs to predict from, for instance "
          "data/h200/profiles.csv");
    }
    if ((worth_ || refit_ || !operators_.empty()) && profiles_.empty()) {
      return core::UsageError(
          "evaluate: --worth, --refit and --operators need profiles with graphs to learn from");
    }
    if (gavel_ && !pairs_) return core::UsageError("evaluate: --gavel needs --pairs");
    if (asked == 0) {
      return core::UsageError(
          "evaluate: nothing to evaluate; give profiles with graphs, for instance "
          "data/h200/profiles.csv");
    }
    auto options = Options();
    RETURN_IF_ERROR(options);
    if (out_) {
      RETURN_IF_ERROR(cli::CheckOutFolder(*out_));
    }
    if (pairs_) return Pairs(options->folds);
    if (!trained_.empty()) return Given();
    if (!sweeps_.empty()) return Recommended();
    return timm_ ? Timm() : Profiles(std::move(*options));
  }

 private:
  Result<EvaluationOptions> Options() const {
    EvaluationOptions options;
    const auto split = ParseHoldBack(split_);
    if (!split) return tl::unexpected(core::Error(split.error()).Within("--split"));
    options.split = *split;
    const auto folds = cli::ParseWhole("--folds", folds_, 2, kMostFolds);
    RETURN_IF_ERROR(folds);
    options.folds = *folds;
    options.learners = learners_;
    options.search = search_;
    return options;
  }

  Result<cli::ExitCode> Profiles(EvaluationOptions options) const {
    const auto catalogue = cli::CatalogueWith(catalogue_);
    RETURN_IF_ERROR(catalogue);
    auto set = ReadTrainingSet(profiles_, *catalogue);
    RETURN_IF_ERROR(set);
    MergeRepeats(*set);
    cli::ProgressBar bar;
    if (yeung_) return BesideYeung(*set, options.folds, bar);
    std::optional<predict::OperatorTable> operators;
    if (!operators_.empty()) {
      auto read = ReadOperatorFiles(operators_, *catalogue);
      RETURN_IF_ERROR(read);
      operators = std::move(*read);
      options.operators = &*operators;
    }
    options.refit = refit_ || operators.has_value();
    if (worth_) return Worth(*set, options, bar);
    options.progress = [&](std::string_view learner, std::size_t done, std::size_t of) {
      bar.Show(learner, done, of);
    };
    const auto evaluation = Evaluate(*set, options);
    bar.Clear();
    if (!evaluation) return tl::unexpected(core::Error(evaluation.error()).Within("evaluate"));
    const std::string json = EvaluationJson(*evaluation, profiles_);
    std::vector<cli::OutFile> files = {{"evaluation.json", json},
                                       {"predictions.csv", PredictionsCsv(*evaluation)},
                                       {"utilisation.svg", UtilisationSvg(*evaluation)}};
    if (!evaluation->importance.empty()) {
      files.push_back({"importance.svg", ImportanceSvg(*evaluation)});
    }
    return Finish(json_ ? json : EvaluationTable(*evaluation), files);
  }

  Result<cli::ExitCode> Worth(const TrainingSet& set, const EvaluationOptions& options,
                              cli::ProgressBar& bar) const {
    const auto worth =
        WorthOf(set, options.operators, options.folds,
                [&](std::size_t done, std::size_t of) { bar.Show("leaving out", done, of); });
    bar.Clear();
    if (!worth) return tl::unexpected(core::Error(worth.error()).Within("--worth"));
    const std::string json = WorthJson(*worth, profiles_);
    return Finish(json_ ? json : WorthText(*worth), {{"evaluation.json", json}});
  }

  Result<cli::ExitCode> BesideYeung(const TrainingSet& set, std::size_t folds,
                                    cli::ProgressBar& bar) const {
    BesideYeungOptions options;
    options.folds = folds;
    options.progress = [&](std::string_view learner, std::size_t done, std::size_t of) {
      bar.Show(learner, done, of);
    };
    const auto compared = CompareWithYeung(set, options);
    bar.Clear();
    if (!compared) return tl::unexpected(core::Error(compared.error()).Within("--yeung"));
    const std::string json = BesideYeungJson(*compared, profiles_);
    return Finish(
        json_ ? json : BesideYeungTable(*compared),
        {{"evaluation.json", json}, {"flops-utilisation.svg", FlopsUtilisationSvg(*compared)}});
  }

  // Nothing is learnt: the model as it is.
  Result<cli::ExitCode> Given() const {
    if (timm_) {
      return core::UsageError("evaluate: --trained is for profiles and --pairs, not for --timm");
    }
    const auto catalogue = cli::CatalogueWith(catalogue_);
    RETURN_IF_ERROR(catalogue);
    const auto given = advice::ReadTrainedFile(trained_);
    RETURN_IF_ERROR(given);
    const auto shipped = advice::BuiltinModel();
    RETURN_IF_ERROR(shipped);
    const auto errors = ErrorsOfGiven(profiles_, *shipped, *given, *catalogue);
    RETURN_IF_ERROR(errors);
    const std::string json = NextErrorsJson(*errors, trained_);
    return Finish(json_ ? json : NextErrorsText(*errors, trained_), {{"evaluation.json", json}});
  }

  Result<cli::ExitCode> Timm() const {
    const auto models = ReadTimmFolder(*timm_);
    if (!models) return tl::unexpected(core::Error(models.error()).Within("--timm"));
    const auto errors = EvaluateTimm(*models);
    if (!errors) return tl::unexpected(core::Error(errors.error()).Within("--timm"));
    const std::string json = TimmJson(*errors);
    return Finish(json_ ? json : TimmText(*errors), {{"evaluation.json", json}});
  }

  Result<cli::ExitCode> Pairs(std::size_t folds) const {
    const auto trained = advice::TrainedOrBuiltin(trained_);
    RETURN_IF_ERROR(trained);
    const auto groups = advice::BuiltinColocations(&trained->predictor);
    RETURN_IF_ERROR(groups);
    const auto ours = EvaluatePairs(groups->groups, {.folds = folds});
    if (!ours) return tl::unexpected(core::Error(ours.error()).Within("--pairs"));
    std::optional<SpeedErrors> gavel;
    if (gavel_) {
      const auto pairs = ReadNamedPairs(*gavel_);
      RETURN_IF_ERROR(pairs);
      const auto errors = EvaluateNamedPairs(*pairs, {.folds = kGavelFolds});
      if (!errors) return tl::unexpected(core::Error(errors.error()).Within("--gavel"));
      gavel = *errors;
    }
    const std::string json = PairEvaluationJson(*ours, gavel);
    const auto slowdowns = MeasuredSlowdowns();
    RETURN_IF_ERROR(slowdowns);
    return Finish(json_ ? json : PairEvaluationText(*ours, gavel),
                  {{"evaluation.json", json},
                   {"utilisation-slowdown.svg", UtilisationSlowdownSvg(*slowdowns)}});
  }

  Result<cli::ExitCode> Recommended() const {
    const auto catalogue = cli::CatalogueWith(catalogue_);
    RETURN_IF_ERROR(catalogue);
    cli::ProgressBar progress;
    const auto judged = Judge(
        {profiles_, sweeps_,
         [&](std::size_t done, std::size_t of) { progress.Show("judging sweeps", done, of); }},
        *catalogue);
    progress.Clear();
    RETURN_IF_ERROR(judged);
    const std::string json = JudgedSweepsJson(*judged);
    return Finish(json_ ? json : JudgedSweepsText(*judged), {{"evaluation.json", json}});
  }

  Result<cli::ExitCode> Finish(const std::string& text,
                               const std::vector<cli::OutFile>& files) const {
    if (out_) {
      RETURN_IF_ERROR(cli::WriteFiles(*out_, files));
    }
    RETURN_IF_ERROR(cli::WriteOut(text));
    return cli::kOk;
  }

  std::vector<std::string> profiles_, learners_, sweeps_;
  std::string split_ = "family";
  std::string folds_ = "10";
  std::string catalogue_;
  std::optional<std::string> timm_, out_;
  std::optional<std::string> gavel_;
  std::string trained_;
  bool pairs_ = false;
  bool yeung_ = false;
  bool refit_ = false;
  bool worth_ = false;
  std::vector<std::string> operators_;
  bool search_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<cli::Command> NewEvaluateCommand() { return std::make_unique<EvaluateCommand>(); }

}  // namespace sharewell::research
