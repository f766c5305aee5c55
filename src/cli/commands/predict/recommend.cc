#include "advice/recommend/recommend.h"

#include <optional>
#include <string>
#include <vector>

#include "advice/prediction.h"
#include "cli/args/model_flags.h"
#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "report/prediction/recommendation.h"

namespace sharewell::cli {
namespace {

using advice::recommend::RecommendAsk;

constexpr std::uint64_t kMostRecommended = 1024;  // cores, and loader workers
constexpr double kMostPrice = 1e6;

class RecommendCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("model", model_,
                   "a model file as `predict` takes it, or the name of a workload of data/h200")
        ->type_name("MODEL")
        ->required();
    app.add_option("--for", goal_,
                   "what it should be best for: samples a second, money, energy, or two such jobs "
                   "on one GPU")
        ->type_name("throughput|cost|energy|sharing")
        ->capture_default_str();
    List(app, "--gpu", gpus_, "GPU models to choose from (default all; see `sharewell gpus`)",
         "GPU,...");
    List(app, "--price", prices_, "price of an hour of a GPU, in any unit, as H200=3.5",
         "GPU=PRICE,...");
    app.add_option("--core-price", core_price_, "price of an hour of a CPU core, in the same unit")
        ->type_name("PRICE");
    app.add_option("--batch", batch_, "keep this batch instead of searching one")->type_name("N");
    app.add_option("--precision", precision_, "keep this precision")
        ->type_name("fp32|tf32|bf16|fp16");
    app.add_option("--workers", workers_, "keep this number of loader workers")->type_name("N");
    app.add_option("--cpus", cpus_, "most CPU cores that the job may get")
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--optimizer", optimizer_, "optimizer that updates the weights (default sgd)")
        ->type_name("sgd|plain-sgd|adamw");
    app.add_option("--bind", bind_,
                   "set a dimension that the file leaves open, as in seq=128; may be repeated")
        ->type_name("NAME=N");
    List(app, "--measured", measured_,
         "what was measured of it: cells.csv of `sharewell sweep`, or profiles; comes before "
         "predictions",
         "FILE,...");
    app.add_option("--workload", workload_,
                   "its name among what was measured (default: the one its file is named after)")
        ->type_name("NAME");
    app.add_flag("--predicted", predicted_, "ignore what was measured of it")
        ->disable_flag_override();
    app.add_option("--trained", trained_, "use a model of your own, made by `sharewell-lab train`")
        ->type_name("FILE");
    app.add_option("--gpu-catalogue", catalogue_, "GPU models of your own, added to ours")
        ->type_name("FILE");
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  core::Result<ExitCode> Run() override {
    const auto ask = Ask();
    RETURN_IF_ERROR(ask);
    const auto catalogue = CatalogueWith(catalogue_);
    RETURN_IF_ERROR(catalogue);
    const auto trained = advice::TrainedOrBuiltin(trained_);
    RETURN_IF_ERROR(trained);
    const auto answer = advice::recommend::Recommend(*ask, *trained, *catalogue);
    RETURN_IF_ERROR(answer);
    RETURN_IF_ERROR(json_ ? WriteOut(report::RecommendationJson(*answer))
                          : WriteText(report::RecommendationText(*answer, TextWidth())));
    return kOk;
  }

 private:
  static void List(CLI::App& app, const std::string& flag, std::vector<std::string>& into,
                   const std::string& help, const std::string& type) {
    app.add_option(flag, into, help)->type_name(type)->delimiter(',')->allow_extra_args(false);
  }

  core::Result<RecommendAsk> Ask() const {
    RecommendAsk ask;
    ask.model = model_;
    const auto goal = advice::recommend::ParseGoal(goal_);
    if (!goal) return tl::unexpected(core::Error(goal.error()).Within("--for"));
    ask.goal = *goal;
    ask.gpus = gpus_;
    RETURN_IF_ERROR(AddPrices(ask));
    RETURN_IF_ERROR(AddNumbers(ask));
    if (!precision_.empty()) ask.precision = precision_;
    ask.optimizer = optimizer_;
    if (predicted_ && (!measured_.empty() || !workload_.empty())) {
      return core::UsageError(
          "--predicted ignores what was measured; leave out --measured and "
          "--workload, or --predicted");
    }
    ask.measured = measured_;
    ask.workload = workload_;
    ask.predicted_only = predicted_;
    return ask;
  }

  core::Result<void> AddPrices(RecommendAsk& ask) const {
    for (const std::string& pair : prices_) {
      const std::size_t equals = pair.rfind('=');
      if (equals == std::string::npos || equals == 0) {
        return core::UsageError(
            "--price: {} is not allowed; give a GPU model and the price of its hour, as H200=3.5",
            core::Quoted(pair));
      }
      const std::string gpu = pair.substr(0, equals);
      const auto price = ParseNumber("--price " + gpu, pair.substr(equals + 1), 0, kMostPrice);
      RETURN_IF_ERROR(price);
      if (!(*price > 0)) {
        return core::UsageError("--price {}: a price must be above 0", core::Quoted(gpu));
      }
      ask.prices.gpu[gpu] = *price;
    }
    if (!core_price_.empty()) {
      const auto price = ParseNumber("--core-price", core_price_, 0, kMostPrice);
      RETURN_IF_ERROR(price);
      ask.prices.core = *price;
    }
    return {};
  }

  core::Result<void> AddNumbers(RecommendAsk& ask) const {
    const auto cores = ParseWhole("--cpus", cpus_, 1, kMostRecommended);
    RETURN_IF_ERROR(cores);
    ask.most_cores = static_cast<int>(*cores);
    // --batch and --bind as `predict` reads them.
    ModelFlags flags;
    if (!batch_.empty()) flags.batch = batch_;
    flags.bind = bind_;
    const auto binding = flags.Binding();
    RETURN_IF_ERROR(binding);
    ask.bind = binding->named;
    if (!batch_.empty()) ask.batch = binding->batch;
    if (!workers_.empty()) {
      const auto workers = ParseWhole("--workers", workers_, 0, kMostRecommended);
      RETURN_IF_ERROR(workers);
      ask.workers = static_cast<int>(*workers);
    }
    return {};
  }

  std::string model_;
  std::string goal_ = "throughput";
  std::vector<std::string> gpus_, prices_, bind_, measured_;
  std::string core_price_, batch_, precision_, workers_;
  std::string cpus_ = "16";
  std::string optimizer_ = "sgd";
  std::string workload_, trained_, catalogue_;
  bool predicted_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewRecommendCommand() { return std::make_unique<RecommendCommand>(); }

}  // namespace sharewell::cli
