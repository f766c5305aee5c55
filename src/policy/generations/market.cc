#include "policy/generations/market.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sharewell::policy {
namespace {

constexpr double kSoftness = 0.02;  // price error that is accepted: about 1 % of the makespan
constexpr double kStep = 2;

struct Share {
  double value;
  std::size_t a;
  std::size_t b;  // == a and single: alone
  bool single;
};

// Time shares of one model's GPUs over its best jobs and pairs, at these prices; adds what they get
// done. Returns the best value: the worth of one GPU of that model.
double ServeModel(const Market& market, std::size_t m, const std::vector<double>& price,
                  std::vector<Share>& shares, std::vector<double>& done) {
  const auto& alone = market.alone[m];
  const auto& beside = market.beside[m];
  shares.clear();
  double best = 0;
  const auto offer = [&](Share share) {
    best = std::max(best, share.value);
    shares.push_back(share);
  };
  for (std::size_t a = 0; a < market.kinds(); ++a) {
    offer({price[a] * alone[a], a, a, true});
    for (std::size_t b = a; b < market.kinds(); ++b) {
      if (beside[a][b] > 0) offer({price[a] * beside[a][b] + price[b] * beside[b][a], a, b, false});
    }
  }
  if (best <= 0) return 0;
  double sum = 0;
  for (Share& share : shares) {
    const double exponent = (share.value / best - 1) / kSoftness;
    share.value = exponent < -12 ? 0 : std::exp(exponent);
    sum += share.value;
  }
  for (const Share& share : shares) {
    if (share.value == 0) continue;
    const double gpus = market.gpus[m] * share.value / sum;
    if (share.single) {
      done[share.a] += gpus * alone[share.a];
    } else {
      done[share.a] += gpus * beside[share.a][share.b];
      done[share.b] += gpus * beside[share.b][share.a];
    }
  }
  return best;
}

}  // namespace

Prices FindPrices(const Market& market, int iterations) {
  const std::size_t kinds = market.kinds();
  const double gpus = std::accumulate(market.gpus.begin(), market.gpus.end(), 0.0);
  std::vector<double> log_price(kinds), price(kinds), done(kinds);
  for (std::size_t k = 0; k < kinds; ++k) {
    double capacity = 0;
    for (std::size_t m = 0; m < market.models(); ++m)
      capacity += market.gpus[m] * market.alone[m][k];
    log_price[k] = std::log(gpus / std::max(capacity, 1e-300));
  }
  Prices best{std::vector<double>(kinds, 1.0), 0};
  std::vector<Share> shares;
  for (int i = 0; i < iterations; ++i) {
    std::fill(done.begin(), done.end(), 0.0);
    for (std::size_t k = 0; k < kinds; ++k) price[k] = std::exp(log_price[k]);
    double worth = 0;
    for (std::size_t m = 0; m < market.models(); ++m) {
      worth += market.gpus[m] * ServeModel(market, m, price, shares, done);
    }
    double value = 0;
    for (std::size_t k = 0; k < kinds; ++k) value += price[k] * market.work[k];
    const double drain = value / worth;
    if (drain > best.drain) {
      best.drain = drain;
      for (std::size_t k = 0; k < kinds; ++k) best.of[k] = price[k] * gpus / worth;
    }
    // Dearer what would be late, cheaper what would be early; then back to the same scale.
    for (std::size_t k = 0; k < kinds; ++k) {
      const double served = std::max(done[k], 1e-9 * market.work[k] / drain);
      const double late = std::log(market.work[k] / (served * drain));
      log_price[k] += kStep * kSoftness * std::clamp(late, -1.0, 1.0) + std::log(gpus / worth);
    }
  }
  return best;
}

}  // namespace sharewell::policy
