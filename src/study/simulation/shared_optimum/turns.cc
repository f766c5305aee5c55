#include "study/simulation/shared_optimum/turns.h"

#include <CoinMessageHandler.hpp>
#include <CoinPackedMatrix.hpp>
#include <CoinPackedVector.hpp>
#include <OsiClpSolverInterface.hpp>
#include <bit>
#include <limits>

#include "core/result.h"

namespace sharewell::study {

core::Result<Turns> TakeTurns(const Configurations& configurations, JobSet jobs) {
  Turns out{0, std::vector<double>(configurations.jobs(), 0)};
  if (jobs == 0) return out;
  std::vector<int> row_of(configurations.jobs(), -1);
  std::vector<double> needed;
  double scale = 0;
  for (std::size_t j = 0; j < configurations.jobs(); ++j) {
    if ((jobs >> j & 1) == 0) continue;
    row_of[j] = static_cast<int>(needed.size());
    needed.push_back(configurations.AloneSeconds(j));
    scale = std::max(scale, needed.back());
  }
  if (scale == std::numeric_limits<double>::infinity()) {
    out.seconds = scale;
    return out;
  }
  // About 1, where the solver's tolerances are meant.
  for (double& seconds : needed) seconds /= scale;
  CoinPackedMatrix columns(true, 0, 0);
  columns.setDimensions(static_cast<int>(needed.size()), 0);
  int count = 0;
  for (const Configuration& one : configurations.useful()) {
    if ((one.jobs & ~jobs) != 0) continue;
    CoinPackedVector column;
    for (std::size_t i = 0; i < one.size; ++i) column.insert(row_of[one.job[i]], one.speed[i]);
    columns.appendCol(column);
    ++count;
  }
  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
  const std::vector<double> costs(static_cast<std::size_t>(count), 1.0);
  solver.loadProblem(columns, nullptr, nullptr, costs.data(), needed.data(), needed.data());
  solver.initialSolve();
  if (!solver.isProvenOptimal()) {
    return core::FailedError("the time that {} jobs need on one GPU could not be worked out",
                             std::popcount(jobs));
  }
  out.seconds = solver.getObjValue() * scale;
  for (std::size_t j = 0; j < row_of.size(); ++j) {
    if (row_of[j] >= 0) out.worth[j] = solver.getRowPrice()[row_of[j]];
  }
  return out;
}

}  // namespace sharewell::study
