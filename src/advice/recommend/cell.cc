#include "advice/recommend/cell.h"

#include <algorithm>
#include <vector>

#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::advice::recommend {
namespace {

constexpr double kHour = 3600;

// a / b with the bounds of both at their worst.
core::Estimated<> Ratio(const core::Estimated<>& a, const core::Estimated<>& b) {
  core::Estimated<> out{core::Interval<>::Unbounded(a.median / b.median)};
  if (a.KnownLow() && b.KnownHigh() && b.high > 0) out.low = a.low / b.high;
  if (a.KnownHigh() && b.KnownLow() && b.low > 0) out.high = a.high / b.low;
  out.source = std::min(a.source, b.source);  // the weaker of the two
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

std::optional<core::Estimated<>> JoulesPerSample(const Cell& cell) {
  if (!cell.power || !(cell.samples.median > 0)) return std::nullopt;
  return Ratio(*cell.power, cell.samples);
}

std::optional<core::Estimated<>> CostPerMillion(const Cell& cell, const Prices& prices) {
  const auto gpu = prices.gpu.find(cell.setting.gpu);
  if (gpu == prices.gpu.end() || !(cell.samples.median > 0)) return std::nullopt;
  const double hour = gpu->second + prices.core.value_or(0) * cell.setting.cores.value_or(0);
  const double each = 1e6 * hour / kHour;
  return Ratio({{each, each, each}, core::Source::kObserved}, cell.samples);
}

std::optional<core::Estimated<>> SharedSamples(const Cell& cell) {
  if (!cell.together) return std::nullopt;
  const core::Estimated<>& samples = cell.samples;
  const core::Estimated<>& together = *cell.together;
  core::Estimated<> out{core::Interval<>::Unbounded(2 * samples.median * together.median)};
  if (samples.KnownLow() && together.KnownLow()) out.low = 2 * samples.low * together.low;
  if (samples.KnownHigh() && together.KnownHigh()) out.high = 2 * samples.high * together.high;
  out.source = together.source;
  return out;
}

std::optional<double> Merit(Goal goal, const Cell& cell, const Prices& prices) {
  const auto inverse = [](const std::optional<core::Estimated<>>& told) {
    return told && told->median > 0 ? std::optional(1 / told->median) : std::nullopt;
  };
  switch (goal) {
    case Goal::kThroughput:
      return cell.samples.median;
    case Goal::kCost: {
      // On one GPU model without a price, what is faster is cheaper.
      const auto priced = inverse(CostPerMillion(cell, prices));
      return priced ? priced : cell.samples.median;
    }
    case Goal::kEnergy:
      return inverse(JoulesPerSample(cell));
    case Goal::kSharing: {
      const auto shared = SharedSamples(cell);
      return shared ? std::optional(shared->median) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace sharewell::advice::recommend
