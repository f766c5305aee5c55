// Market: jobs of several kinds on GPUs of several models, alone or in pairs, as rates. What the
// prices and the exchange work on; pure numbers, no ids.
#pragma once

#include <vector>

namespace sharewell::policy {

struct Market {
  std::vector<int> gpus;                   // by model
  std::vector<double> work;                // by kind: work left of all its jobs
  std::vector<std::vector<double>> alone;  // [model][kind]: work a second
  // [model][a][b]: work a second of a beside b; 0: they may not be together there.
  std::vector<std::vector<std::vector<double>>> beside;

  std::size_t models() const { return gpus.size(); }
  std::size_t kinds() const { return work.size(); }
};

// What a second of each kind's work is worth, in GPU seconds, when everything is to be done
// soonest: the dual of the linear program that spreads jobs and pairs over models to minimise the
// makespan, approached by soft-max time shares. `drain` is a lower bound of that makespan, valid
// for any prices.
struct Prices {
  std::vector<double> of;  // by kind
  double drain = 0;        // seconds
};

// O(iterations x models x kinds^2). 50 iterations come within about 1 % of the optimum.
Prices FindPrices(const Market& market, int iterations = 50);

}  // namespace sharewell::policy
