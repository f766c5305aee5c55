#include "advice/prediction.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "advice/measured_groups.h"
#include "advice/model_file.h"
#include "advice/told_ask.h"
#include "catalogue/builtin_measurements.h"
#include "core/result.h"
#include "core/text/suggest.h"
#include "graph/flow.h"
#include "platform/files/csv.h"
#include "platform/files/embedded.h"
#include "platform/files/mapped_file.h"
#include "predict/needs.h"

namespace sharewell::advice {
namespace {

using predict::Figure;

constexpr std::int64_t kMostBatch = 1 << 24;
constexpr int kMostWorkers = 1024;
constexpr int kMostGpus = 4096;
// A second of gradients: cards of server boards are linked (NVLink), others go over PCIe. Assumed:
// the catalogue does not know the link.
constexpr double kLinkBytes = 2e11;
constexpr double kPcieBytes = 1.2e10;
constexpr double kServerWatts = 350;
constexpr double kServerBandwidth = 1.5e12;
// Gradients travel while the backward pass still runs: about two thirds of the busy time.
constexpr double kHidden = 0.66;

core::Error At(core::Error error, const PredictionAsk& ask) {
  return ask.where.empty() ? error : std::move(error).Within(ask.where);
}

double AllReduce(double params, int gpus, const core::GpuModel& gpu, double busy_seconds) {
  if (gpus < 2) return 0;
  const bool server = gpu.bandwidth.value >= kServerBandwidth && gpu.power_limit &&
                      gpu.power_limit->value >= kServerWatts;
  const double share = 2.0 * (gpus - 1) / gpus;
  const double seconds = share * 4 * params / (server ? kLinkBytes : kPcieBytes);
  return std::max(0.0, seconds - kHidden * busy_seconds);
}

core::Result<const core::Profile*> FindProfile(const PredictionAsk& ask,
                                               const std::vector<core::Profile>& profiles) {
  std::vector<std::string> names;
  const core::Profile* same_name = nullptr;
  for (const core::Profile& profile : profiles) {
    const core::Workload& workload = profile.workload;
    names.push_back(workload.name);
    if (workload.name != ask.profile) continue;
    same_name = &profile;
    if (workload.batch == ask.batch && workload.precision == ask.precision &&
        workload.workers == ask.workers) {
      return &profile;
    }
  }
  if (same_name != nullptr) {
    return core::UsageError(
        "profile '{}' was measured, but not with batch {}, {} and {} workers; one that was: batch "
        "{}, {}, {} workers. Name the model instead and it is predicted",
        ask.profile, ask.batch, ask.precision, ask.workers, same_name->workload.batch,
        same_name->workload.precision, same_name->workload.workers);
  }
  return core::UsageError("there is no profile '{}'{}", ask.profile,
                          core::DidYouMean(ask.profile, names));
}

struct Candidate {
  predict::Resident resident;
  core::Bytes memory_upper;
  core::Bytes gpu_memory;
  std::string gpu;
};

}  // namespace

core::Estimated<> PredictionRow::StepSeconds() const {
  return core::Changed(prediction[Figure::kStepSeconds],
                       [this](double seconds) { return seconds + all_reduce; });
}

core::Result<predict::Trained> BuiltinModel() {
  return predict::ReadTrained(platform::EmbeddedModel());
}

core::Result<predict::Trained> ReadTrainedFile(const std::string& path) {
  const auto mapped = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(mapped);
  auto trained = predict::ReadTrained(mapped->text());
  if (!trained) return tl::unexpected(std::move(trained.error()).Within(path));
  return trained;
}

core::Result<predict::Trained> TrainedOrBuiltin(const std::string& path) {
  return path.empty() ? BuiltinModel() : ReadTrainedFile(path);
}

core::Result<predict::Predictor> PredictorOrBuiltin(const std::string& path) {
  if (path.empty()) return predict::ReadPredictor(platform::EmbeddedModel());
  const auto mapped = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(mapped);
  auto predictor = predict::ReadPredictor(mapped->text());
  if (!predictor) return tl::unexpected(std::move(predictor.error()).Within(path));
  return predictor;
}

core::Result<PredictionRow> PredictOne(const PredictionAsk& ask,
                                       const predict::Predictor& predictor,
                                       const catalogue::GpuCatalogue& catalogue) {
  PredictionRow row;
  row.ask = ask;
  if (auto heeded = HeedTold(row.ask); !heeded) return tl::unexpected(At(heeded.error(), ask));
  const auto gpu = catalogue.Find(ask.gpu);
  if (!gpu) return tl::unexpected(At(gpu.error(), ask));
  row.ask.gpu = gpu->name;
  predict::Query query;
  const auto precision = graph::ParsePrecision(row.ask.precision);
  if (!precision) return tl::unexpected(At(precision.error(), ask));
  const auto optimizer = graph::ParseOptimizer(row.ask.optimizer);
  if (!optimizer) return tl::unexpected(At(optimizer.error(), ask));
  query.run.precision = *precision;
  query.run.optimizer = *optimizer;
  query.workers = row.ask.workers;
  query.host_time = ask.host.time;
  query.gpu = &*gpu;
  const auto graph = ReadModel(ask.model, {.batch = row.ask.batch, .named = ask.bind}, ask.shown);
  if (!graph) return tl::unexpected(At(graph.error(), ask));
  query.graph = &*graph;
  row.prediction = predictor.Predict(query);
  row.gpu_memory = gpu->memory;
  for (const graph::Op& op : graph->ops) {
    row.uncosted += op.kind == graph::Kind::kUnknown && !op.told ? 1 : 0;
  }
  row.all_reduce =
      AllReduce(graph::Params(*graph), ask.gpus, *gpu, row.prediction[Figure::kBusySeconds].median);
  return row;
}

predict::Resident ResidentOf(const PredictionRow& row) {
  predict::Resident out = ResidentOf(predict::NeedsOf(row.prediction).profile);
  out.step = core::Seconds(row.prediction[Figure::kStepSeconds].median);
  out.predicted = true;
  out.workload.workers = row.ask.workers;
  out.workload.batch = static_cast<int>(row.ask.batch);
  out.workload.precision = row.ask.precision;
  return out;
}

core::Result<std::vector<PredictionAsk>> ReadManifest(const std::string& path,
                                                      const PredictionAsk& defaults) {
  const auto mapped = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(mapped);
  platform::CsvReader csv(mapped->text(), path);
  const auto profile = csv.Find("profile");
  const auto model = profile ? csv.Find("model") : csv.Require("model");
  const auto batch = csv.Find("batch");
  const auto precision = csv.Find("precision");
  const auto workers = csv.Find("workers");
  const auto gpu = csv.Find("gpu");
  const auto optimizer = csv.Find("optimizer");
  const auto gpus = csv.Find("gpus");
  const auto group = csv.Find("group");
  const auto sm_share = csv.Find("sm_share");
  std::vector<PredictionAsk> asks;
  while (csv.Next()) {
    PredictionAsk ask = defaults;
    ask.model = std::string(csv.Text(model));
    ask.profile = std::string(csv.Text(profile));
    if (ask.model.empty() && ask.profile.empty()) {
      csv.FailRow("names neither a model nor a profile; give one of them");
    }
    ask.batch = csv.OptionalInteger(batch, 1, kMostBatch).value_or(defaults.batch);
    ask.workers =
        static_cast<int>(csv.OptionalInteger(workers, 0, kMostWorkers).value_or(defaults.workers));
    ask.gpus = static_cast<int>(csv.OptionalInteger(gpus, 1, kMostGpus).value_or(defaults.gpus));
    if (!csv.Text(precision).empty()) ask.precision = std::string(csv.Text(precision));
    ask.given.batch = ask.given.batch || !csv.Text(batch).empty();
    ask.given.precision = ask.given.precision || !csv.Text(precision).empty();
    ask.given.optimizer = ask.given.optimizer || !csv.Text(optimizer).empty();
    ask.given.workers = ask.given.workers || !csv.Text(workers).empty();
    if (!csv.Text(gpu).empty()) ask.gpu = std::string(csv.Text(gpu));
    if (!csv.Text(optimizer).empty()) ask.optimizer = std::string(csv.Text(optimizer));
    ask.group = std::string(csv.Text(group));
    ask.sm_share = csv.OptionalNumber(sm_share, {0, 1, true}).value_or(defaults.sm_share);
    ask.where = fmt::format("{}: line {}", path, csv.line());
    std::error_code ignored;
    namespace fs = std::filesystem;
    const fs::path beside = fs::path(path).parent_path() / ask.model;
    if (!ask.model.empty() && !fs::exists(ask.model, ignored) && fs::exists(beside, ignored)) {
      ask.model = beside.string();
    }
    asks.push_back(std::move(ask));
  }
  if (!csv.ok()) return csv.error();
  if (asks.empty()) return core::UsageError("{}: has no rows below its header", path);
  return asks;
}

core::Result<std::vector<SpeedRow>> PredictColocated(const std::vector<PredictionAsk>& asks,
                                                     const predict::Trained& trained,
                                                     const catalogue::GpuCatalogue& catalogue) {
  if (!trained.together) {
    return core::UsageError(
        "this model was trained without pairs, so it knows nothing of jobs together; train it with "
        "--pairs FILE");
  }
  const std::vector<core::Profile> profiles = catalogue::BuiltinMeasurements().profiles;
  std::map<std::string, std::vector<std::size_t>> groups;
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    groups[asks[i].group].push_back(i);
    Candidate candidate;
    const auto gpu = catalogue.Find(asks[i].gpu);
    if (!gpu) return tl::unexpected(At(gpu.error(), asks[i]));
    candidate.gpu = gpu->name;
    candidate.gpu_memory = gpu->memory;
    if (!asks[i].profile.empty()) {
      const auto profile = FindProfile(asks[i], profiles);
      if (!profile) return tl::unexpected(At(profile.error(), asks[i]));
      const auto measured_on = catalogue.Find((*profile)->gpu);
      if (!measured_on) return tl::unexpected(At(measured_on.error(), asks[i]));
      if (measured_on->name != gpu->name) {
        return tl::unexpected(
            At(core::Error{core::ErrorKind::kUsage,
                           fmt::format("profile '{}' was measured on {}, not on {}; name the model "
                                       "instead and it is predicted",
                                       asks[i].profile, measured_on->name, gpu->name)},
               asks[i]));
      }
      candidate.resident = ResidentOf(**profile);
      candidate.memory_upper = candidate.resident.demand.gpu_memory;
    } else {
      const auto row = PredictOne(asks[i], trained.predictor, catalogue);
      RETURN_IF_ERROR(row);
      candidate.resident = ResidentOf(*row);
      candidate.memory_upper = core::Bytes(row->prediction[Figure::kMemory].high);
    }
    candidates.push_back(std::move(candidate));
  }
  std::vector<SpeedRow> out(asks.size());
  for (const auto& [name, members] : groups) {
    std::vector<predict::Resident> residents;
    core::Bytes memory;
    for (const std::size_t i : members) {
      if (candidates[i].gpu != candidates[members[0]].gpu) {
        const std::string who =
            name.empty() ? "these rows are" : fmt::format("group '{}' is", name);
        return tl::unexpected(At(
            core::Error{
                core::ErrorKind::kUsage,
                fmt::format("{} on {} and {}; jobs together are on one GPU, so give each GPU's "
                            "rows a name of their own in a column `group`",
                            who, candidates[members[0]].gpu, candidates[i].gpu)},
            asks[i]));
      }
      residents.push_back(candidates[i].resident);
      residents.back().sm_share = asks[i].sm_share;
      memory += candidates[i].memory_upper;
    }
    const std::vector<predict::ColocationModel::Speed> speeds = trained.together->Speeds(residents);
    for (std::size_t k = 0; k < members.size(); ++k) {
      SpeedRow& row = out[members[k]];
      row.ask = asks[members[k]];
      row.ask.gpu = candidates[members[k]].gpu;
      row.speed = speeds[k];
      row.demand_measured = !residents[k].predicted;
      row.fits = memory <= candidates[members[k]].gpu_memory;
    }
  }
  return out;
}

}  // namespace sharewell::advice
