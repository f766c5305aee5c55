#include "research/optimum/turns.h"

#include <CoinMessageHandler.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <bit>
#include <limits>

#include "core/result.h"

namespace sharewell::research {

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
  // Columns as plain arrays: to append them one by one takes quadratic time.
  std::vector<int> starts{0}, rows;
  std::vector<double> elements;
  for (const Configuration& one : configurations.useful()) {
    if ((one.jobs & ~jobs) != 0) continue;
    for (std::size_t i = 0; i < one.size; ++i) {
      rows.push_back(row_of[one.job[i]]);
      elements.push_back(one.speed[i]);
    }
    starts.push_back(static_cast<int>(rows.size()));
  }
  const std::size_t columns = starts.size() - 1;
  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
  const std::vector<double> costs(columns, 1.0);
  solver.loadProblem(static_cast<int>(columns), static_cast<int>(needed.size()), starts.data(),
                     rows.data(), elements.data(), nullptr, nullptr, costs.data(), needed.data(),
                     needed.data());
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

}  // namespace sharewell::research
