#include "research/evaluate/judge.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "advice/recommend/choose.h"
#include "advice/recommend/forecast.h"
#include "advice/recommend/measured_cells.h"
#include "research/train/training_rows.h"

namespace sharewell::research {
namespace {

namespace recommend = advice::recommend;

// Bounds are not looked at here, and each fold costs a training.
constexpr std::size_t kFolds = 2;

struct Graph {
  std::string path, family;
};

struct Sweep {
  std::string workload, from, sitting;
  std::vector<recommend::Cell> cells;
};

// As ReadTrainingSet looks for them: beside the profiles, or in onnx/ there.
std::string PathOf(const std::string& graph, const std::string& profiles) {
  namespace fs = std::filesystem;
  const fs::path beside = fs::path(profiles).parent_path();
  std::error_code ignored;
  if (fs::exists(beside / graph, ignored)) return (beside / graph).string();
  return (beside / "onnx" / graph).string();
}

std::vector<Sweep> SweepsOf(const std::vector<std::vector<recommend::MeasuredCell>>& files) {
  std::vector<Sweep> out;
  for (const auto& file : files) {
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
    std::vector<Sweep> here;
    for (const recommend::MeasuredCell& row : file) {
      const auto key = std::tuple(row.workload, row.cell.setting.gpu, row.sitting);
      const auto [it, added] = places.emplace(key, here.size());
      if (added) here.push_back({row.workload, row.cell.from, row.sitting, {}});
      here[it->second].cells.push_back(row.cell);
    }
    for (Sweep& sweep : here) {
      if (sweep.cells.size() >= kFewestCells) out.push_back(std::move(sweep));
    }
  }
  return out;
}

double MeritOf(const recommend::Cell& cell, recommend::Goal goal) {
  return recommend::Merit(goal, cell, {}).value_or(0);
}

// REQUIRES: cells of one sweep, measured and as predicted, in the same order.
std::optional<JudgedSweep> JudgeOne(const Sweep& sweep,
                                    const std::vector<recommend::Cell>& predicted,
                                    recommend::Goal goal) {
  const auto curve = recommend::Choose(sweep.cells, goal, {}),
             foretold = recommend::Choose(predicted, goal, {});
  if (!curve || !foretold) return std::nullopt;
  JudgedSweep out;
  out.workload = sweep.workload;
  out.from = sweep.from;
  out.sitting = sweep.sitting;
  out.goal = goal;
  out.cells = sweep.cells.size();
  double best = 0, sum = 0;
  const recommend::Cell* most = nullptr;
  for (const recommend::Cell& cell : sweep.cells) {
    const double merit = MeritOf(cell, goal);
    if (!(merit > 0)) return std::nullopt;  // a cell without a figure could be the best
    if (merit > best) out.best = cell.setting;
    best = std::max(best, merit);
    sum += merit;
    const auto size = [](const recommend::Setting& s) {
      return std::tuple(s.cores.value_or(0), s.workers, s.batch);
    };
    if (most == nullptr || size(most->setting) < size(cell.setting)) most = &cell;
  }
  for (std::size_t i = 0; i < sweep.cells.size(); ++i) {
    const core::Estimated<>& told = predicted[i].samples;
    const double measured = sweep.cells[i].samples.median;
    if (told.IsBounded() && told.low <= measured && measured <= told.high) ++out.in_bounds;
  }
  out.curve = sweep.cells[curve->at].setting;
  out.foretold = sweep.cells[foretold->at].setting;
  out.curve_share = MeritOf(sweep.cells[curve->at], goal) / best;
  out.foretold_share = MeritOf(sweep.cells[foretold->at], goal) / best;
  out.average_share = sum / static_cast<double>(sweep.cells.size()) / best;
  out.most_share = MeritOf(*most, goal) / best;
  out.most_cores = most->setting.cores.value_or(0);
  return out;
}

core::Result<std::vector<recommend::Cell>> Predicted(const Sweep& sweep, const Graph& graph,
                                                     const predict::Predictor& predictor,
                                                     const catalogue::GpuCatalogue& catalogue) {
  const auto gpu = catalogue.Find(sweep.cells.front().setting.gpu);
  RETURN_IF_ERROR(gpu);
  recommend::Forecaster forecaster(graph.path, {}, graph::Optimizer::kMomentum, predictor);
  std::vector<recommend::Cell> out;
  for (const recommend::Cell& cell : sweep.cells) {
    const recommend::Setting& s = cell.setting;
    const auto forecast = forecaster.Predict(*gpu, s.precision, s.batch, s.workers);
    RETURN_IF_ERROR(forecast);
    out.push_back(recommend::CellOf(*forecast, *gpu, s.cores));
  }
  return out;
}

}  // namespace

core::Result<std::vector<JudgedSweep>> Judge(const JudgeAsk& ask,
                                             const catalogue::GpuCatalogue& catalogue) {
  const auto set = ReadTrainingSet(ask.profiles, catalogue);
  RETURN_IF_ERROR(set);
  std::map<std::string, Graph> graphs;
  std::vector<std::vector<recommend::MeasuredCell>> files;
  for (const auto* paths : {&ask.sweeps, &ask.profiles}) {
    for (const std::string& path : *paths) {
      auto cells = recommend::ReadMeasuredCellsFile(path, catalogue);
      RETURN_IF_ERROR(cells);
      for (const recommend::MeasuredCell& cell : *cells) {
        if (cell.graph.empty() || paths != &ask.profiles) continue;
        graphs.emplace(cell.workload, Graph{PathOf(cell.graph, path), cell.family});
      }
      files.push_back(std::move(*cells));
    }
  }
  std::vector<Sweep> sweeps = SweepsOf(files);
  std::erase_if(sweeps, [&](const Sweep& sweep) { return !graphs.contains(sweep.workload); });
  if (sweeps.empty()) {
    return core::UsageError(
        "no workload has {} cells or more of one sitting and a graph among the profiles; give "
        "sweeps of workloads that the profiles have",
        kFewestCells);
  }
  std::map<std::string, predict::Predictor> without;  // by family
  std::vector<JudgedSweep> out;
  std::size_t done = 0;
  for (const Sweep& sweep : sweeps) {
    const Graph& graph = graphs.at(sweep.workload);
    auto it = without.find(graph.family);
    if (it == without.end()) {
      std::vector<predict::Row> rows;
      for (const predict::Row& row : set->rows) {
        if (row.family != graph.family) rows.push_back(row);
      }
      predict::TrainOptions options;
      options.folds = kFolds;
      auto predictor = predict::Train(rows, options);
      RETURN_IF_ERROR(predictor);
      it = without.emplace(graph.family, std::move(*predictor)).first;
    }
    const auto predicted = Predicted(sweep, graph, it->second, catalogue);
    RETURN_IF_ERROR(predicted);
    for (const recommend::Goal goal : {recommend::Goal::kThroughput, recommend::Goal::kEnergy}) {
      auto judged = JudgeOne(sweep, *predicted, goal);
      if (judged) out.push_back(std::move(*judged));
    }
    if (ask.progress) ask.progress(++done, sweeps.size());
  }
  return out;
}

}  // namespace sharewell::research
