#include "advice/prediction.h"
#include "cli/args/model_flags.h"
#include "cli/args/store_flag.h"
#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "measure/doctor/host_speed.h"
#include "report/prediction/prediction.h"

namespace sharewell::cli {
namespace {

constexpr std::uint64_t kMostWorkers = 1024;
constexpr std::uint64_t kMostGpus = 4096;

class PredictCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("model", model_,
                   "an ONNX file, a .pt2 archive, a config.json, a layer list or a told step")
        ->type_name("MODEL");
    flags_.Add(app);
    app.add_option("--gpu", gpu_, "GPU model (default H200); `sharewell gpus` lists them")
        ->type_name("GPU");
    workers_option_ =
        app.add_option("--workers", workers_, "data-loader processes (default 4)")->type_name("N");
    app.add_option("--gpus", gpus_,
                   "number of GPUs that train it together, each with the batch (default 1)")
        ->type_name("N");
    app.add_option("--price", price_, "price of a GPU for an hour; adds the cost of 1,000 steps")
        ->type_name("PRICE");
    auto* manifest =
        app.add_option("--manifest", manifest_,
                       "predict many: a CSV with model, batch, precision, workers, gpu")
            ->type_name("FILE");
    app.add_option("--together", together_,
                   "predict how fast the rows of this CSV run together on one GPU (or one for each "
                   "`group`)")
        ->type_name("FILE")
        ->excludes(manifest);
    app.add_option("--trained", trained_, "use a model of your own, made by `sharewell-lab train`")
        ->type_name("FILE");
    app.add_option("--gpu-catalogue", catalogue_, "GPU models of your own, added to ours")
        ->type_name("FILE");
    app.add_option("--state", state_,
                   "where `sharewell doctor --calibrate` has kept the speed of this host")
        ->type_name("DIR");
    auto* json = app.add_flag("--json", json_, "print JSON")->disable_flag_override();
    app.add_flag("--csv", csv_, "print CSV")->disable_flag_override()->excludes(json);
  }

  core::Result<ExitCode> Run() override {
    auto text = Text();
    RETURN_IF_ERROR(text);
    RETURN_IF_ERROR(json_ || csv_ ? WriteOut(*text) : WriteText(*text));
    return kOk;
  }

 private:
  core::Result<advice::PredictionAsk> Ask() const {
    advice::PredictionAsk ask;
    const auto binding = flags_.Binding();
    RETURN_IF_ERROR(binding);
    RETURN_IF_ERROR(flags_.Run());
    const auto workers = ParseWhole("--workers", workers_, 0, kMostWorkers);
    RETURN_IF_ERROR(workers);
    const auto gpus = ParseWhole("--gpus", gpus_, 1, kMostGpus);
    RETURN_IF_ERROR(gpus);
    ask.model = model_;
    ask.batch = binding->batch;
    ask.bind = binding->named;
    ask.precision = flags_.precision;
    ask.optimizer = flags_.optimizer;
    ask.workers = static_cast<int>(*workers);
    ask.gpus = static_cast<int>(*gpus);
    ask.gpu = gpu_;
    ask.host = Host();
    ask.given = flags_.Given();
    ask.given.workers = workers_option_->count() > 0;
    return ask;
  }

  // This machine where it was probed with a GPU in it, else the one that was learnt on.
  advice::PredictedHost Host() const {
    advice::PredictedHost host;
    host.reference_launches = measure::ReferenceProbe().launches.value_or(0);
    const auto probe =
        measure::KeptHostProbe(StatePlace(state_, StorePlace("")), measure::MachineKey());
    const auto time = probe ? measure::HostTime(*probe) : std::nullopt;
    if (!time) return host;
    host.here = true;
    host.time = *time;
    host.launches = probe->launches;
    return host;
  }

  core::Result<std::string> Text() const {
    const auto ask = Ask();
    RETURN_IF_ERROR(ask);
    const bool one = manifest_.empty() && together_.empty();
    if (one == model_.empty()) {
      return core::UsageError(
          "give a model, or many with --manifest FILE or --together FILE; `sharewell predict "
          "--help` shows how");
    }
    std::optional<double> price;
    if (!price_.empty()) {
      const auto value = ParseNumber("--price", price_, 0, 1e6);
      RETURN_IF_ERROR(value);
      price = *value;
    }
    const auto catalogue = CatalogueWith(catalogue_);
    RETURN_IF_ERROR(catalogue);
    if (!together_.empty()) return ColocationModel(*ask, *catalogue);
    const auto predictor = advice::PredictorOrBuiltin(trained_);
    RETURN_IF_ERROR(predictor);

    std::vector<advice::PredictionAsk> asks = {*ask};
    if (!manifest_.empty()) {
      auto read = advice::ReadManifest(manifest_, *ask);
      RETURN_IF_ERROR(read);
      asks = std::move(*read);
    }
    std::vector<advice::PredictionRow> rows;
    ProgressBar progress;
    for (const advice::PredictionAsk& wanted : asks) {
      if (wanted.model.empty()) {
        return core::UsageError("{}: names a profile and no model; use --together for profiles",
                                wanted.where);
      }
      auto row = advice::PredictOne(wanted, *predictor, *catalogue);
      RETURN_IF_ERROR(row);
      rows.push_back(std::move(*row));
      progress.Show("predicting", rows.size(), asks.size());
    }
    progress.Clear();
    if (json_) return report::PredictionsJson(rows, price);
    if (csv_) return report::PredictionsCsv(rows, price);
    return one ? report::PredictionTable(rows[0], price) : report::PredictionsTable(rows);
  }

  core::Result<std::string> ColocationModel(const advice::PredictionAsk& ask,
                                            const catalogue::GpuCatalogue& catalogue) const {
    const auto trained = advice::TrainedOrBuiltin(trained_);
    RETURN_IF_ERROR(trained);
    const auto asks = advice::ReadManifest(together_, ask);
    RETURN_IF_ERROR(asks);
    const auto rows = advice::PredictColocated(*asks, *trained, catalogue);
    RETURN_IF_ERROR(rows);
    if (json_) return report::SpeedsJson(*rows);
    return csv_ ? report::SpeedsCsv(*rows) : report::SpeedsTable(*rows);
  }

  std::string model_;
  ModelFlags flags_;
  const CLI::Option* workers_option_ = nullptr;
  std::string gpu_ = "H200";
  std::string workers_ = "4";
  std::string gpus_ = "1";
  std::string price_, manifest_, together_, trained_, catalogue_, state_;
  bool json_ = false;
  bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> NewPredictCommand() { return std::make_unique<PredictCommand>(); }

}  // namespace sharewell::cli
