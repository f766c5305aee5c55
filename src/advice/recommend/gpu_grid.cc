#include "advice/recommend/gpu_grid.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

#include "predict/base.h"

namespace sharewell::advice::recommend {
namespace {

constexpr std::int64_t kMostBatch = 65'536;
constexpr int kMostWorkers = 16;  // more were never measured
constexpr double kNear = 0.9;     // of the best, in the first step

}  // namespace

GpuGrid::GpuGrid(const core::GpuModel& gpu, const GridAsk& ask, Forecaster* forecaster,
                 std::vector<Cell> measured)
    : gpu_(gpu), ask_(ask), forecaster_(forecaster), cells_(std::move(measured)) {
  std::erase_if(cells_, [&](const Cell& cell) {
    const Setting& s = cell.setting;
    return s.gpu != gpu_.name || (ask_.batch && s.batch != *ask_.batch) ||
           (ask_.precision && s.precision != *ask_.precision) ||
           (ask_.workers && s.workers != *ask_.workers) || s.cores.value_or(1) > ask_.most_cores;
  });
  measured_ = cells_.size();
}

std::vector<std::string> GpuGrid::Precisions() const {
  if (ask_.precision) return {*ask_.precision};
  // Of tf32 and, beside bf16, fp16 nothing was learnt: they are there when asked for.
  std::vector<std::string> out = {"fp32"};
  if (predict::Computes(gpu_, graph::Precision::kBf16)) {
    out.emplace_back("bf16");
  } else if (predict::Computes(gpu_, graph::Precision::kFp16)) {
    out.emplace_back("fp16");
  }
  return out;
}

std::vector<int> GpuGrid::Workers(int most_cores) const {
  if (ask_.workers) return {*ask_.workers};
  std::vector<int> out;
  for (int workers = 1; workers <= std::min(most_cores, kMostWorkers); workers *= 2) {
    out.push_back(workers);
  }
  return out;
}

std::vector<double> GpuGrid::Cores() const {
  std::vector<double> out;
  for (int cores = 1; cores < ask_.most_cores; cores *= 2) {
    out.push_back(cores);
    if (cores > 1 && cores * 3 / 2 < ask_.most_cores) out.push_back(cores * 1.5);
  }
  out.push_back(ask_.most_cores);
  return out;
}

void GpuGrid::Add(const Forecast& forecast, const std::vector<double>& cores) {
  // Two such jobs must find memory and cores.
  std::optional<core::Estimated<>> together;
  if (ask_.colocation != nullptr && 2 * forecast.memory_upper <= gpu_.memory.value) {
    together = Together(*ask_.colocation, ResidentOf(forecast, ""));
  }
  for (const double count : cores) {
    // Loader processes on fewer cores wait for each other: that was never measured.
    if (!ask_.workers && forecast.setting.workers > count) continue;
    Cell cell = CellOf(forecast, gpu_, count);
    cell.samples = core::Changed(cell.samples, [this](double rate) { return rate * factor_; });
    if (2 * count <= ask_.most_cores) cell.together = together;
    cells_.push_back(std::move(cell));
  }
}

core::Result<void> GpuGrid::Correct() {
  double sum = 0;
  std::map<std::tuple<std::string, std::int64_t, int>, Forecast> known;
  for (std::size_t i = 0; i < measured_; ++i) {
    const Setting& s = cells_[i].setting;
    const auto key = std::tuple(s.precision, s.batch, s.workers);
    auto it = known.find(key);
    if (it == known.end()) {
      auto forecast = forecaster_->Predict(gpu_, s.precision, s.batch, s.workers);
      RETURN_IF_ERROR(forecast);
      it = known.emplace(key, std::move(*forecast)).first;
    }
    const Cell predicted = CellOf(it->second, gpu_, s.cores);
    sum += std::log(cells_[i].samples.median / predicted.samples.median);
    if (ask_.colocation != nullptr && s.cores.value_or(1) * 2 <= ask_.most_cores &&
        2 * it->second.memory_upper <= gpu_.memory.value) {
      cells_[i].together = Together(*ask_.colocation, ResidentOf(it->second, ""));
    }
  }
  if (measured_ > 0) factor_ = std::exp(sum / static_cast<double>(measured_));
  return {};
}

// A batch is like what was learnt from where it is so with some number of loader workers: 1 and 4
// are what most of it had.
core::Result<bool> GpuGrid::Familiar(const Forecast& forecast) {
  if (forecast.prediction.model_known) return true;
  for (const int workers : {1, 4}) {
    const auto other =
        forecaster_->Predict(gpu_, forecast.setting.precision, forecast.setting.batch, workers);
    RETURN_IF_ERROR(other);
    if (other->prediction.model_known) return true;
  }
  return false;
}

core::Result<void> GpuGrid::FillBatches(const std::string& precision) {
  // Of two such jobs each has half of the cores.
  std::vector<int> cores = {ask_.most_cores};
  if (ask_.colocation != nullptr && ask_.most_cores > 1) cores.push_back(ask_.most_cores / 2);
  const std::int64_t first = ask_.batch.value_or(1), last = ask_.batch.value_or(kMostBatch);
  bool familiar = false;  // some batch is like what was learnt from
  for (std::int64_t batch = first; batch <= last; batch *= 2) {
    for (const int count : cores) {
      const auto forecast = forecaster_->Predict(gpu_, precision, batch, Workers(count).back());
      if (!forecast) {
        if (batch == first) return tl::unexpected(forecast.error());
        stopped_ = forecast.error().message;
        return {};
      }
      if (!Fits(*forecast)) {
        if (!too_large_ || too_large_->setting.batch > batch) too_large_ = *forecast;
        return {};
      }
      const auto known = Familiar(*forecast);
      RETURN_IF_ERROR(known);
      if (familiar && !*known) {
        unfamiliar_[precision] = batch;
        return {};
      }
      familiar = familiar || *known;
      Add(*forecast, {static_cast<double>(count)});
    }
  }
  return {};
}

core::Result<void> GpuGrid::Fill() {
  if (forecaster_ == nullptr) return {};
  RETURN_IF_ERROR(Correct());
  for (const std::string& precision : Precisions()) {
    RETURN_IF_ERROR(FillBatches(precision));
  }
  return {};
}

core::Result<void> GpuGrid::Refine(Goal goal, const std::string& precision) {
  std::set<std::int64_t> near;
  double best = 0;
  for (const bool collect : {false, true}) {
    for (std::size_t i = measured_; i < cells_.size(); ++i) {
      if (cells_[i].setting.precision != precision) continue;
      const double merit = Merit(goal, cells_[i], ask_.prices).value_or(0);
      if (!collect) best = std::max(best, merit);
      if (collect && merit > 0 && merit >= kNear * best) near.insert(cells_[i].setting.batch);
    }
  }
  for (const std::int64_t batch : near) {
    if (!whole_.emplace(precision, batch).second) continue;
    for (const int workers : Workers(ask_.most_cores)) {
      const auto forecast = forecaster_->Predict(gpu_, precision, batch, workers);
      RETURN_IF_ERROR(forecast);
      Add(*forecast, Cores());
    }
  }
  return {};
}

core::Result<std::optional<Chosen>> GpuGrid::ChooseFor(Goal goal) {
  const auto rough = Choose(cells_, goal, ask_.prices);
  if (!rough || forecaster_ == nullptr) return rough;
  RETURN_IF_ERROR(Refine(goal, std::string(cells_[rough->at].setting.precision)));
  return Choose(cells_, goal, ask_.prices);
}

core::Result<std::optional<std::int64_t>> GpuGrid::BatchFor(Goal goal,
                                                            const std::string& precision) {
  if (forecaster_ != nullptr) {
    RETURN_IF_ERROR(Refine(goal, precision));
  }
  std::vector<Cell> cells;
  std::copy_if(cells_.begin(), cells_.end(), std::back_inserter(cells),
               [&](const Cell& cell) { return cell.setting.precision == precision; });
  const auto chosen = Choose(cells, goal, ask_.prices);
  std::optional<std::int64_t> batch;
  if (chosen) batch = cells[chosen->at].setting.batch;
  return batch;
}

core::Result<std::optional<Forecast>> GpuGrid::Largest(const std::string& precision) {
  std::optional<Forecast> fits;
  if (forecaster_ == nullptr) return fits;
  std::int64_t too_large = 0;
  for (std::int64_t batch = 1; batch <= kMostBatch; batch *= 2) {
    auto forecast = forecaster_->Predict(gpu_, precision, batch, Workers(ask_.most_cores).back());
    if (!forecast) return fits;  // no larger one can be read
    if (!Fits(*forecast)) {
      too_large = batch;
      break;
    }
    fits = std::move(*forecast);
  }
  if (!fits || too_large == 0) return fits;
  // A sixteenth is near enough: the bound is a bound.
  const std::int64_t step = std::max<std::int64_t>(1, fits->setting.batch / 16);
  std::int64_t low = fits->setting.batch;
  while (too_large - low > step) {
    const std::int64_t middle = low + (too_large - low) / 2 / step * step;
    if (middle == low) break;
    auto forecast = forecaster_->Predict(gpu_, precision, middle, Workers(ask_.most_cores).back());
    if (!forecast) break;
    if (Fits(*forecast)) {
      low = middle;
      fits = std::move(*forecast);
    } else {
      too_large = middle;
    }
  }
  return fits;
}

}  // namespace sharewell::advice::recommend
