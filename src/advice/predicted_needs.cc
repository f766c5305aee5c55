#include "advice/predicted_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/text/quoted.h"
#include "predict/needs.h"

namespace sharewell::advice {

core::Needs NeedsFrom(const PredictionRow& row) {
  const std::filesystem::path file(row.ask.model);
  core::Needs needs = predict::NeedsOf(row.prediction, core::Seconds(row.all_reduce));
  needs.from = fmt::format("{} at batch {}, {}", core::Quoted(file.filename().string()),
                           row.ask.batch, row.ask.precision);
  if (row.prediction[predict::Figure::kMemory].low > row.gpu_memory.value) {
    needs.from += fmt::format(", more GPU memory than {} has: expect it to run out", row.ask.gpu);
  }
  core::Workload& workload = needs.profile.workload;
  workload.name = file.stem().string();
  workload.batch =
      static_cast<int>(std::min<std::int64_t>(row.ask.batch, std::numeric_limits<int>::max()));
  workload.precision = row.ask.precision;
  workload.workers = row.ask.workers;
  needs.profile.gpu = row.ask.gpu;
  return needs;
}

core::Result<core::Needs> PredictNeedsBy(const predict::Predictor& predictor,
                                         const PredictionAsk& ask,
                                         const catalogue::GpuCatalogue& catalogue,
                                         const std::optional<std::string>& name) {
  PredictionAsk named = ask;
  if (name) named.shown = core::Quoted(*name);
  auto row = PredictOne(named, predictor, catalogue);
  RETURN_IF_ERROR(row);
  if (name) row->ask.model = *name;
  return NeedsFrom(*row);
}

}  // namespace sharewell::advice
