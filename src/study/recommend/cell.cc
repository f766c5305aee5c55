#include "study/recommend/cell.h"

#include <vector>

#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::study::recommend {
namespace {

constexpr double kHour = 3600;

// a / b with the bounds of both at their worst.
Told Ratio(const Told& a, const Told& b) {
  Told out;
  out.p50 = a.p50 / b.p50;
  if (a.p05 && b.p95 && *b.p95 > 0) out.p05 = *a.p05 / *b.p95;
  if (a.p95 && b.p05 && *b.p05 > 0) out.p95 = *a.p95 / *b.p05;
  // The weaker of the two sources is that of the ratio: assumed, predicted, measured in this order.
  out.source = a.source < b.source ? a.source : b.source;
  return out;
}

}  // namespace

std::string_view NameOf(Goal goal) {
  switch (goal) {
    case Goal::kThroughput:
      return "throughput";
    case Goal::kCost:
      return "cost";
    case Goal::kEnergy:
      return "energy";
    case Goal::kSharing:
      break;
  }
  return "sharing";
}

core::Result<Goal> ParseGoal(std::string_view text) {
  std::vector<std::string> names;
  for (const Goal goal : kGoals) {
    if (text == NameOf(goal)) return goal;
    names.emplace_back(NameOf(goal));
  }
  return core::UsageError("{} is no goal; give throughput, cost, energy or sharing{}",
                          core::Quoted(text), core::DidYouMean(text, names));
}

std::optional<Told> JoulesPerSample(const Cell& cell) {
  if (!cell.power || !(cell.samples.p50 > 0)) return std::nullopt;
  return Ratio(*cell.power, cell.samples);
}

std::optional<Told> CostPerMillion(const Cell& cell, const Prices& prices) {
  const auto gpu = prices.gpu.find(cell.setting.gpu);
  if (gpu == prices.gpu.end() || !(cell.samples.p50 > 0)) return std::nullopt;
  const double hour = gpu->second + prices.core.value_or(0) * cell.setting.cores.value_or(0);
  const double each = 1e6 * hour / kHour;
  return Ratio({each, each, each, core::Source::kMeasured}, cell.samples);
}

std::optional<Told> SharedSamples(const Cell& cell) {
  if (!cell.together) return std::nullopt;
  Told out;
  out.p50 = 2 * cell.samples.p50 * cell.together->p50;
  if (cell.samples.p05 && cell.together->p05) out.p05 = 2 * *cell.samples.p05 * *cell.together->p05;
  if (cell.samples.p95 && cell.together->p95) out.p95 = 2 * *cell.samples.p95 * *cell.together->p95;
  out.source = cell.together->source;
  return out;
}

std::optional<double> Merit(Goal goal, const Cell& cell, const Prices& prices) {
  const auto inverse = [](const std::optional<Told>& told) {
    return told && told->p50 > 0 ? std::optional(1 / told->p50) : std::nullopt;
  };
  switch (goal) {
    case Goal::kThroughput:
      return cell.samples.p50;
    case Goal::kCost: {
      // On one GPU model without a price, what is faster is cheaper.
      const auto priced = inverse(CostPerMillion(cell, prices));
      return priced ? priced : cell.samples.p50;
    }
    case Goal::kEnergy:
      return inverse(JoulesPerSample(cell));
    case Goal::kSharing: {
      const auto shared = SharedSamples(cell);
      return shared ? std::optional(shared->p50) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace sharewell::study::recommend
