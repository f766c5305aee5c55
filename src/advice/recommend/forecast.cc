#include "advice/recommend/forecast.h"

#include <algorithm>
#include <array>

#include "advice/model_file.h"
#include "advice/prediction.h"

namespace sharewell::advice::recommend {
namespace {

using predict::Figure;

// What an idle board draws of its limit, where the catalogue does not know: as predict/features.cc.
constexpr double kIdleShare = 0.115;

}  // namespace

Forecaster::Forecaster(std::string model, std::vector<std::pair<std::string, std::int64_t>> bind,
                       graph::Optimizer optimizer, const predict::Predictor& predictor)
    : model_(std::move(model)),
      bind_(std::move(bind)),
      optimizer_(optimizer),
      predictor_(predictor) {}

core::Result<const graph::Graph*> Forecaster::At(std::int64_t batch) {
  auto it = graphs_.find(batch);
  if (it == graphs_.end()) {
    auto graph = ReadModel(model_, {.batch = batch, .named = bind_});
    RETURN_IF_ERROR(graph);
    uncosted_ =
        static_cast<double>(std::count_if(graph->ops.begin(), graph->ops.end(), [](const auto& op) {
          return op.kind == graph::Kind::kUnknown;
        }));
    it = graphs_.emplace(batch, std::move(*graph)).first;
  }
  return &it->second;
}

core::Result<Forecast> Forecaster::Predict(const core::GpuModel& gpu, const std::string& precision,
                                           std::int64_t batch, int workers) {
  const auto graph = At(batch);
  RETURN_IF_ERROR(graph);
  const auto parsed = graph::ParsePrecision(precision);
  RETURN_IF_ERROR(parsed);
  predict::Query query;
  query.graph = *graph;
  query.run.precision = *parsed;
  query.run.optimizer = optimizer_;
  query.workers = workers;
  query.gpu = &gpu;
  Forecast out;
  out.setting = {gpu.name, precision, batch, workers, {}};
  out.prediction = predictor_.Predict(query);
  out.memory_upper = out.prediction[Figure::kMemory].high;
  return out;
}

Cell CellOf(const Forecast& forecast, const core::GpuModel& gpu, std::optional<double> cores) {
  const predict::Prediction& p = forecast.prediction;
  const core::Estimated<>& step = p[Figure::kStepSeconds];
  const double stretch = cores ? p.Stretch(*cores) : 1;
  const auto batch = static_cast<double>(forecast.setting.batch);
  Cell cell;
  cell.setting = forecast.setting;
  cell.setting.cores = cores;
  cell.samples = {{batch / (step.median * stretch), batch / (step.high * stretch),
                   batch / (step.low * stretch)},
                  step.source};
  cell.memory = p[Figure::kMemory];
  // Without a limit in the catalogue the figure would rest on a guess of what the board may draw.
  if (gpu.power_limit) {
    const double idle =
        gpu.idle_power ? gpu.idle_power->value : kIdleShare * gpu.power_limit->value;
    cell.power = core::Changed(p[Figure::kPower], [&](double watts) {
      return watts > idle ? idle + (watts - idle) / stretch : watts;
    });
  }
  cell.cores_used = p[Figure::kCores];
  if (cores) {
    cell.cores_used =
        core::Changed(p[Figure::kCores], [&](double used) { return std::min(used, *cores); });
  }
  cell.from = "the graph";
  return cell;
}

predict::Resident ResidentOf(const Forecast& forecast, const std::string& name) {
  PredictionRow row;
  row.prediction = forecast.prediction;
  row.ask.batch = forecast.setting.batch;
  row.ask.precision = forecast.setting.precision;
  row.ask.workers = forecast.setting.workers;
  predict::Resident resident = advice::ResidentOf(row);
  resident.workload.name = name;
  return resident;
}

core::Estimated<> Together(const predict::ColocationModel& model,
                           const predict::Resident& resident) {
  const std::array<predict::Resident, 2> both = {resident, resident};
  return model.Speeds(both)[0];
}

}  // namespace sharewell::advice::recommend
