#include "study/prediction/predicted_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/text/quoted.h"

namespace sharewell::study {
namespace {

using predict::Figure;

// No GPU is near it: what is beyond is as far beyond every GPU as this.
constexpr double kMostBytes = 1e15;

core::Needs NeedsFrom(const PredictionRow& row) {
  const predict::Prediction& p = row.prediction;
  const std::filesystem::path file(row.ask.model);
  core::Needs needs;
  needs.source = core::Source::kPredicted;
  needs.from = fmt::format("{} at batch {}, {}", core::Quoted(file.filename().string()),
                           row.ask.batch, row.ask.precision);
  core::Profile& profile = needs.profile;
  profile.workload.name = file.stem().string();
  profile.workload.batch =
      static_cast<int>(std::min<std::int64_t>(row.ask.batch, std::numeric_limits<int>::max()));
  profile.workload.precision = row.ask.precision;
  profile.workload.workers = row.ask.workers;
  profile.gpu = row.ask.gpu;
  const double step = row.StepSeconds().p50;
  if (step > 0) profile.steps_per_second = 1 / step;
  profile.busy = p[Figure::kBusy].p50;
  profile.sm = std::min(p[Figure::kSm].p50, p[Figure::kBusy].p50);
  profile.dram = p[Figure::kDram].p50;
  profile.gpu_memory = core::Bytes(std::min(p[Figure::kMemory].p50, kMostBytes));
  profile.pcie = core::BytesPerSecond(p[Figure::kPcie].p50);
  profile.cpu_cores = p[Figure::kCores].p50;
  profile.host_memory = core::Bytes(p[Figure::kHostMemory].p50);
  profile.host_bandwidth = core::BytesPerSecond(p.host_bandwidth.p50);
  profile.power = core::Watts(p[Figure::kPower].p50);
  if (p.kernels > 0) {
    profile.kernel_time = p.KernelTime();
    profile.kernels = p.kernels;
  }
  // Autotuning takes more for a moment than training does later, and must fit as well.
  needs.gpu_memory_upper =
      core::Bytes(std::min(std::max(p[Figure::kMemory].p95, p[Figure::kReserved].p95), kMostBytes));
  if (p[Figure::kMemory].p05 > row.gpu_memory.value) {
    needs.from += fmt::format(", more GPU memory than {} has: expect it to run out", row.ask.gpu);
  }
  needs.cores_upper = p[Figure::kCores].p95;
  return needs;
}

}  // namespace

core::Result<core::Needs> PredictNeeds(const PredictionAsk& ask,
                                       const catalogue::GpuCatalogue& catalogue,
                                       const std::optional<std::string>& name) {
  const auto trained = BuiltinModel();
  RETURN_IF_ERROR(trained);
  return PredictNeedsBy(trained->predictor, ask, catalogue, name);
}

core::Result<core::Needs> PredictNeedsBy(const predict::Predictor& predictor,
                                         const PredictionAsk& ask,
                                         const catalogue::GpuCatalogue& catalogue,
                                         const std::optional<std::string>& name) {
  auto row = PredictOne(ask, predictor, catalogue);
  if (!row) {
    core::Error error = std::move(row.error());
    const auto at = name ? error.message.find(ask.model) : std::string::npos;
    if (at != std::string::npos) error.message.replace(at, ask.model.size(), core::Quoted(*name));
    return tl::unexpected(std::move(error));
  }
  if (name) row->ask.model = *name;
  return NeedsFrom(*row);
}

}  // namespace sharewell::study
