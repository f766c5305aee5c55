// The cells of one GPU model that a recommendation chooses among: measured ones, and a grid of
// predicted ones over precision, batch, loader workers and cores.
//
// The grid is filled in two steps, for few of its thousands of cells matter: first every batch with
// the most workers and cores; then, where that is within a tenth of the best for a goal, all
// numbers of workers and cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "advice/recommend/cell.h"
#include "advice/recommend/choose.h"
#include "advice/recommend/forecast.h"
#include "core/gpu_model.h"
#include "core/result.h"
#include "predict/colocation/colocation.h"

namespace sharewell::advice::recommend {

struct GridAsk {
  std::optional<std::int64_t> batch;
  std::optional<std::string> precision;
  std::optional<int> workers;
  int most_cores = 16;
  Prices prices;
  const predict::ColocationModel* colocation = nullptr;  // absent: nothing is known of sharing
};

class GpuGrid {
 public:
  // `forecaster` null: measured cells alone. All must outlive it.
  GpuGrid(const core::GpuModel& gpu, const GridAsk& ask, Forecaster* forecaster,
          std::vector<Cell> measured);

  // The first step, with the correction by what was measured.
  core::Result<void> Fill();
  // The second step for one goal; the choice among all cells. None: no cell has a merit.
  core::Result<std::optional<Chosen>> ChooseFor(Goal goal);
  // The same among the cells of one precision: the batch alone.
  core::Result<std::optional<std::int64_t>> BatchFor(Goal goal, const std::string& precision);

  // The largest batch whose memory bound fits, in this precision, and that bound's forecast.
  core::Result<std::optional<Forecast>> Largest(const std::string& precision);

  const core::GpuModel& gpu() const { return gpu_; }
  const std::vector<Cell>& cells() const { return cells_; }
  std::size_t measured() const { return measured_; }  // the first so many of the cells
  double factor() const { return factor_; }           // that predictions were corrected by
  // The smallest batch that was tried and does not fit, with what it needs; absent: all fit.
  const std::optional<Forecast>& too_large() const { return too_large_; }
  const std::string& stopped() const { return stopped_; }  // why no larger batch could be read
  // The first batch in this precision that is unlike all that was learnt from, after one that is
  // not: from there on a rate would be a guess, and none is in the grid. Absent: there is none.
  std::optional<std::int64_t> Unfamiliar(const std::string& precision) const {
    const auto it = unfamiliar_.find(precision);
    return it == unfamiliar_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  std::vector<std::string> Precisions() const;
  std::vector<int> Workers(int most_cores) const;  // no more than cores, unless fixed
  std::vector<double> Cores() const;
  bool Fits(const Forecast& forecast) const { return forecast.memory_upper <= gpu_.memory.value; }
  core::Result<void> Correct();
  // All numbers of workers and cores for the batches near the best of this precision.
  core::Result<void> Refine(Goal goal, const std::string& precision);
  core::Result<bool> Familiar(const Forecast& forecast);
  core::Result<void> FillBatches(const std::string& precision);
  void Add(const Forecast& forecast, const std::vector<double>& cores);

  const core::GpuModel& gpu_;
  const GridAsk& ask_;
  Forecaster* forecaster_;
  std::vector<Cell> cells_;
  std::size_t measured_ = 0;
  double factor_ = 1;
  std::set<std::pair<std::string, std::int64_t>> whole_;  // precision and batch of the second step
  std::optional<Forecast> too_large_;
  std::string stopped_;
  std::map<std::string, std::int64_t> unfamiliar_;  // by precision
};

}  // namespace sharewell::advice::recommend
