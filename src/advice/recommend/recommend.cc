#include "advice/recommend/recommend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <tuple>

#include "advice/recommend/forecast.h"
#include "advice/recommend/gpu_grid.h"
#include "advice/recommend/measured_cells.h"
#include "advice/recommend/reasons.h"
#include "advice/recommend/sharing.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "core/text/words.h"
#include "graph/run.h"

namespace sharewell::advice::recommend {
namespace {

constexpr double kGiga = 1e9;

core::Result<std::vector<core::GpuModel>> GpusOf(const RecommendAsk& ask,
                                                 const catalogue::GpuCatalogue& catalogue) {
  std::vector<core::GpuModel> out;
  const auto add = [&](const core::GpuModel& model) {
    const bool known = std::any_of(out.begin(), out.end(), [&](core::GpuModel other) {
      // Two names of one thing (a trace's anonymous models) are one.
      if (other.name == model.name) return true;
      if (!ask.gpus.empty()) return false;
      other.name = model.name;
      other.aliases = model.aliases;
      return other == model;
    });
    if (!known) out.push_back(model);
  };
  for (const std::string& name : ask.gpus) {
    const auto model = catalogue.Find(name);
    if (!model) return tl::unexpected(core::Error(model.error()).Within("--gpu"));
    add(*model);
  }
  if (ask.gpus.empty()) {
    for (const core::GpuModel& model : catalogue.models()) add(model);
  }
  return out;
}

// Prices by the catalogue's names.
core::Result<Prices> PricesOf(const RecommendAsk& ask, const catalogue::GpuCatalogue& catalogue) {
  Prices out;
  out.core = ask.prices.core;
  for (const auto& [name, price] : ask.prices.gpu) {
    const auto model = catalogue.Find(name);
    if (!model) return tl::unexpected(core::Error(model.error()).Within("--price"));
    out.gpu[model->name] = price;
  }
  return out;
}

struct Known {
  std::string workload;  // empty: nothing was measured of it
  std::vector<Cell> cells;
};

// What was measured of the model: in the user's files, else in data/h200.
core::Result<Known> MeasuredOf(const RecommendAsk& ask, const catalogue::GpuCatalogue& catalogue) {
  Known out;
  if (ask.predicted_only) return out;
  const auto take = [&](const std::vector<MeasuredCell>& cells, const std::string& workload) {
    for (const MeasuredCell& cell : cells) {
      if (cell.workload != workload) continue;
      out.workload = workload;
      out.cells.push_back(cell.cell);
    }
  };
  const auto named_after = [&](const std::vector<MeasuredCell>& cells) -> std::string {
    for (const MeasuredCell& cell : cells) {
      if (NamedAfter(ask.model, cell.workload)) return cell.workload;
    }
    return {};
  };
  for (const std::string& path : ask.measured) {
    const auto cells = ReadMeasuredCellsFile(path, catalogue);
    RETURN_IF_ERROR(cells);
    std::set<std::string> names;
    for (const MeasuredCell& cell : *cells) names.insert(cell.workload);
    std::string workload = ask.workload.empty() ? named_after(*cells) : ask.workload;
    if (workload.empty() && names.size() == 1) workload = *names.begin();
    if (!names.contains(workload)) {
      const std::vector<std::string> known(names.begin(), names.end());
      return core::UsageError(
          "{}: {}; name one of its {} workloads with --workload, for instance {}{}", path,
          workload.empty() ? "no workload is named after the model"
                           : fmt::format("has no workload {}", core::Quoted(workload)),
          names.size(), core::Quoted(known.front()), core::DidYouMean(workload, known));
    }
    take(*cells, workload);
  }
  if (!ask.measured.empty()) return out;
  const std::vector<MeasuredCell> ours = BuiltinMeasuredCells();
  take(ours, ask.workload.empty() ? named_after(ours) : ask.workload);
  if (!ask.workload.empty() && out.cells.empty()) {
    std::set<std::string> names;
    for (const MeasuredCell& cell : ours) names.insert(cell.workload);
    return core::UsageError(
        "--workload: {} was not measured{}", core::Quoted(ask.workload),
        core::DidYouMean(ask.workload, std::vector(names.begin(), names.end())));
  }
  return out;
}

GpuAdvice AdviceFor(const GpuGrid& grid, const std::optional<Chosen>& chosen, bool learnt,
                    const Prices& prices) {
  GpuAdvice row;
  row.gpu = grid.gpu().name;
  row.learnt = learnt;
  if (chosen) {
    row.cell = grid.cells()[chosen->at];
    row.joules = JoulesPerSample(*row.cell);
    row.cost = CostPerMillion(*row.cell, prices);
    row.shared = SharedSamples(*row.cell);
    return row;
  }
  if (grid.cells().empty() && grid.too_large()) {
    const Forecast& needs = *grid.too_large();
    row.why_not =
        fmt::format("batch {} in {} needs {:.1f} GB and at most {:.1f} GB; it has {:.1f} GB",
                    needs.setting.batch, needs.setting.precision,
                    needs.prediction[predict::Figure::kMemory].median / kGiga,
                    needs.memory_upper / kGiga, grid.gpu().memory.value / kGiga);
  } else {
    row.why_not = grid.cells().empty() ? "nothing was measured on it that fits what is asked"
                                       : "unknown for this goal";
  }
  return row;
}

class Recommender {
 public:
  Recommender(const RecommendAsk& ask, const predict::Trained& trained,
              const catalogue::GpuCatalogue& catalogue)
      : ask_(ask), trained_(trained), catalogue_(catalogue) {}

  core::Result<Recommendation> Run() {
    RETURN_IF_ERROR(Prepare());
    RETURN_IF_ERROR(FillGrids());
    if (ranked_.empty()) return NoneFits();
    return Answer();
  }

 private:
  struct OfGpu {
    std::unique_ptr<GpuGrid> grid;
    std::optional<Chosen> chosen;
    GpuAdvice advice;
  };

  core::Result<void> Prepare() {
    auto gpus = GpusOf(ask_, catalogue_);
    RETURN_IF_ERROR(gpus);
    gpus_ = std::move(*gpus);
    auto prices = PricesOf(ask_, catalogue_);
    RETURN_IF_ERROR(prices);
    auto measured = MeasuredOf(ask_, catalogue_);
    RETURN_IF_ERROR(measured);
    known_ = std::move(*measured);
    const auto optimizer = graph::ParseOptimizer(ask_.optimizer);
    if (!optimizer) return tl::unexpected(core::Error(optimizer.error()).Within("--optimizer"));
    if (ask_.precision) {
      const auto precision = graph::ParsePrecision(*ask_.precision);
      if (!precision) return tl::unexpected(core::Error(precision.error()).Within("--precision"));
    }
    grid_ask_ = {ask_.batch,         ask_.precision,
                 ask_.workers,       ask_.most_cores,
                 std::move(*prices), trained_.together ? &*trained_.together : nullptr};
    if (ask_.goal == Goal::kSharing && !trained_.together) {
      return core::UsageError(
          "this model was trained without pairs, so it knows nothing of jobs together; train it "
          "with --pairs FILE");
    }
    // A name of a measured workload is no file: its own cells are all there is.
    std::error_code ignored;
    if (known_.workload == ask_.model && !std::filesystem::exists(ask_.model, ignored)) {
      if (trained_.together) AddTogether(known_.cells, known_.workload, *trained_.together);
      return {};
    }
    if (!std::filesystem::exists(ask_.model, ignored)) {
      std::set<std::string> names;
      for (const MeasuredCell& cell : BuiltinMeasuredCells()) names.insert(cell.workload);
      return core::UsageError(
          "{}: no such file, and no workload that was measured; check the spelling and the current "
          "folder{}",
          ask_.model, core::DidYouMean(ask_.model, std::vector(names.begin(), names.end())));
    }
    forecaster_.emplace(ask_.model, ask_.bind, *optimizer, trained_.predictor);
    const auto graph = forecaster_->At(ask_.batch.value_or(1));
    if (!graph) return tl::unexpected(graph.error());
    return {};
  }

  bool Learnt(const std::string& gpu) const {
    const auto& rows = trained_.predictor.known();
    const bool known =
        std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.gpu == gpu; });
    return known || std::any_of(known_.cells.begin(), known_.cells.end(),
                                [&](const Cell& cell) { return cell.setting.gpu == gpu; });
  }

  core::Result<void> FillGrids() {
    for (const core::GpuModel& gpu : gpus_) {
      auto grid = std::make_unique<GpuGrid>(gpu, grid_ask_, forecaster_ ? &*forecaster_ : nullptr,
                                            known_.cells);
      RETURN_IF_ERROR(grid->Fill());
      auto chosen = grid->ChooseFor(ask_.goal);
      RETURN_IF_ERROR(chosen);
      GpuAdvice advice = AdviceFor(*grid, *chosen, Learnt(gpu.name), grid_ask_.prices);
      (*chosen ? ranked_ : unfit_).push_back({std::move(grid), *chosen, std::move(advice)});
    }
    // For cost, models with a price come first; without any, they are in the order of throughput.
    const auto place = [&](const OfGpu& of) {
      const bool priced = grid_ask_.prices.gpu.contains(of.advice.gpu);
      const Goal by = ask_.goal == Goal::kCost && !priced ? Goal::kThroughput : ask_.goal;
      return std::tuple(ask_.goal == Goal::kCost && !priced,
                        -Merit(by, *of.advice.cell, grid_ask_.prices).value_or(0));
    };
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [&](const OfGpu& a, const OfGpu& b) { return place(a) < place(b); });
    return {};
  }

  core::Result<Recommendation> NoneFits() const {
    const OfGpu* largest = nullptr;
    for (const OfGpu& of : unfit_) {
      if (largest == nullptr || of.grid->gpu().memory > largest->grid->gpu().memory) largest = &of;
    }
    const std::string where = largest == nullptr ? "no GPU model" : largest->advice.gpu;
    const std::string why = largest == nullptr ? "" : largest->advice.why_not;
    if (largest != nullptr && largest->grid->cells().empty() && largest->grid->too_large()) {
      return core::UsageError(
          "{}: {}. On {}, {}. Try {}a leaner optimizer (--optimizer plain-sgd), or a GPU "
          "model with more memory",
          ask_.model,
          unfit_.size() == 1
              ? "does not fit the GPU model asked for"
              : fmt::format("fits none of the {} GPU models asked for", unfit_.size()),
          where, why,
          ask_.batch.value_or(1) > 1 ? "a smaller --batch (without it the best is searched for), "
                                     : "");
    }
    if (!forecaster_) {
      return core::UsageError(
          "{}: was measured, but not on these GPU models, or not with what is asked for {}; give "
          "its model file instead, and it is predicted",
          ask_.model, NameOf(ask_.goal));
    }
    if (ask_.goal == Goal::kEnergy) {
      return core::UsageError(
          "{}: the power draw of {} is unknown; give its power_limit_w in a file for "
          "--gpu-catalogue",
          ask_.model, where);
    }
    return core::UsageError(
        "{}: two such jobs fit on none of the {} GPU model{} asked for with {}, so nothing "
        "can be recommended for sharing; try a smaller --batch, more --cpus, or another goal",
        ask_.model, unfit_.size(), unfit_.size() == 1 ? "" : "s",
        core::Count(static_cast<std::size_t>(ask_.most_cores), "core"));
  }

  core::Result<Recommendation> Answer() {
    OfGpu& first = ranked_.front();
    Recommendation out;
    out.model = ask_.model;
    out.workload = known_.workload;
    out.goal = ask_.goal;
    out.cell = *first.advice.cell;
    out.joules = first.advice.joules;
    out.cost = first.advice.cost;
    out.shared = first.advice.shared;
    out.measured = known_.cells.size();
    for (const OfGpu& of : ranked_) out.gpus.push_back(of.advice);
    for (const OfGpu& of : unfit_) out.gpus.push_back(of.advice);

    out.choices.push_back(ReasonForGpu(out.gpus, ask_.goal, grid_ask_.prices));
    for (Choice& choice :
         ReasonsFor(first.grid->cells(), *first.chosen, ask_.goal, grid_ask_.prices)) {
      out.choices.push_back(std::move(choice));
    }
    std::optional<Forecast> forecast;
    if (forecaster_) {
      const Setting& s = out.cell.setting;
      auto made = forecaster_->Predict(first.grid->gpu(), s.precision, s.batch, s.workers);
      RETURN_IF_ERROR(made);
      forecast = std::move(*made);
    }
    if (grid_ask_.colocation != nullptr) {
      out.sharing = AdviseSharing(forecast, out.cell, known_.workload, first.grid->gpu(),
                                  catalogue_, *grid_ask_.colocation);
    }
    out.choices.push_back(ReasonForSharing(out.sharing, out.cell));
    out.cell.together = out.sharing.twice;
    out.shared = out.sharing.twice_fit.value_or(false) ? SharedSamples(out.cell) : std::nullopt;
    RETURN_IF_ERROR(AddBatches(first, out));
    AddRemarks(first, forecast, out);
    return out;
  }

  core::Result<void> AddBatches(OfGpu& first, Recommendation& out) {
    const std::string& precision = out.cell.setting.precision;
    const auto largest = first.grid->Largest(precision);
    RETURN_IF_ERROR(largest);
    if (*largest) {
      out.batches.largest = (*largest)->setting.batch;
      out.batches.memory = (*largest)->prediction[predict::Figure::kMemory];
    }
    for (const Goal goal : kGoals) {
      if (goal == Goal::kCost && !grid_ask_.prices.gpu.contains(out.cell.setting.gpu)) continue;
      const auto batch = first.grid->BatchFor(goal, precision);
      RETURN_IF_ERROR(batch);
      out.batches.best[static_cast<std::size_t>(goal)] = *batch;
    }
    return {};
  }

  // What is known for sure, beside a prediction that promises more.
  void AddBestMeasured(const OfGpu& first, Recommendation& out) const {
    if (out.cell.measured()) return;
    const auto& cells = first.grid->cells();
    const std::span<const Cell> measured(cells.data(), first.grid->measured());
    const auto chosen = Choose(measured, ask_.goal, grid_ask_.prices);
    if (!chosen) return;
    const Cell& cell = measured[chosen->at];
    out.remarks.push_back(
        fmt::format("The best that was measured: {}, batch {}, {}{}: {:.0f} samples a second ({}).",
                    cell.setting.precision, cell.setting.batch,
                    core::Count(static_cast<std::size_t>(cell.setting.workers), "loader worker",
                                "loader workers"),
                    cell.setting.cores ? fmt::format(", {:g} cores", *cell.setting.cores) : "",
                    cell.samples.median, cell.from));
  }

  void AddRemarks(const OfGpu& first, const std::optional<Forecast>& forecast,
                  Recommendation& out) const {
    const std::string& gpu = first.advice.gpu;
    const auto add = [&](std::string text) { out.remarks.push_back(std::move(text)); };
    if (first.grid->measured() > 0 && forecaster_) {
      add(
          fmt::format("{} cells of {} were measured on {}. Predictions there are multiplied by "
                      "{:.2f}, what those cells differ from theirs.",
                      first.grid->measured(), known_.workload, gpu, first.grid->factor()));
      AddBestMeasured(first, out);
    } else if (!forecaster_) {
      add("The answer is one of the measured cells. Give the model's file, and others are "
          "predicted.");
    }
    if (!out.cost) {
      add(
          fmt::format("The price of {} is unknown, so costs are: give it with --price {}=PRICE, "
                      "for an hour.{}",
                      gpu, gpu,
                      ask_.goal == Goal::kCost && out.gpus.size() > 1
                          ? " The GPU model was chosen by throughput."
                          : ""));
    }
    if (!out.joules) {
      add(
          fmt::format("The power draw of {} is unknown: give power_limit_w in a file for "
                      "--gpu-catalogue, or measure it.",
                      gpu));
    }
    if (!first.advice.learnt) {
      add(
          fmt::format("Nothing was learnt on {}: rates come from its catalogue facts, and the "
                      "bounds are twice as wide.",
                      gpu));
    }
    if (forecast && !forecast->prediction.model_known) {
      add("This model is unlike all that was learnt from: the bounds are twice as wide, and may "
          "still be wrong.");
    }
    if (forecast && !forecast->prediction.precision_native) {
      add(
          fmt::format("{} does not compute in {}: frameworks take fp32 instead, and so do these "
                      "figures.",
                      gpu, out.cell.setting.precision));
    }
    if (forecaster_ && forecaster_->uncosted() > 0) {
      add(fmt::format("Operators that could not be costed: {:g}. `sharewell inspect` lists them.",
                      forecaster_->uncosted()));
    }
    if (const auto from = first.grid->Unfamiliar(out.cell.setting.precision)) {
      add(
          fmt::format("Batches from {} on are unlike all that was learnt from, and were not "
                      "considered. They may be faster still: `sharewell sweep` tells.",
                      *from));
    }
    if (!first.grid->stopped().empty()) {
      add(fmt::format("Larger batches were not tried: {}", first.grid->stopped()));
    }
    if (!ask_.batch) {
      add("A larger batch also changes what is learnt. If yours is tuned, give it with --batch.");
    }
  }

  const RecommendAsk& ask_;
  const predict::Trained& trained_;
  const catalogue::GpuCatalogue& catalogue_;
  std::vector<core::GpuModel> gpus_;
  Known known_;
  GridAsk grid_ask_;
  std::optional<Forecaster> forecaster_;
  std::vector<OfGpu> ranked_, unfit_;
};

}  // namespace

core::Result<Recommendation> Recommend(const RecommendAsk& ask, const predict::Trained& trained,
                                       const catalogue::GpuCatalogue& catalogue) {
  return Recommender(ask, trained, catalogue).Run();
}

}  // namespace sharewell::advice::recommend
