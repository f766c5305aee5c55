// Exchange: who runs where, at most two on a GPU, so that the sum of weight x rate is largest.
// Begun twice, with jobs where they run and with the best pairs taken greedily, each improved one
// replacement or swap at a time until none helps; the better of the two is taken.
#pragma once

#include <array>
#include <vector>

#include "policy/generations/market.h"

namespace sharewell::policy {

constexpr int kNobody = -1;

struct ExchangeJob {
  std::size_t kind = 0;
  double weight = 0;
  double stays = 0;   // worth of not moving
  int gpu = kNobody;  // where it runs now
};

using Seats = std::array<int, 2>;  // jobs on one GPU

// `model_of`: by GPU. Deterministic: ties go to the present assignment, then to the lowest.
std::vector<Seats> Exchange(const Market& market, const std::vector<ExchangeJob>& jobs,
                            const std::vector<std::size_t>& model_of);

}  // namespace sharewell::policy
