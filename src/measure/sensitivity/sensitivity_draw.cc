// From rates in phases to speeds and conclusions.
#include <algorithm>
#include <cmath>

#include "core/numbers/statistics.h"
#include "core/numbers/steady.h"
#include "measure/sensitivity/sensitivity_result.h"

namespace sharewell::measure {
namespace {

std::optional<double> AloneOf(const PressurePhase& phase) {
  const auto &before = phase.before.mean, &after = phase.after.mean;
  if (before && after) return (*before + *after) / 2;
  return before ? before : after;
}

// Relative errors of a quotient add up as squares.
std::optional<core::Ratio> UncertaintyOf(const PressurePhase& phase) {
  std::vector<double> base = phase.before.parts;
  base.insert(base.end(), phase.after.parts.begin(), phase.after.parts.end());
  const auto under = core::Uncertainty(phase.rate.parts);
  const auto without = core::Uncertainty(base);
  if (!under || !without || !phase.speed) return std::nullopt;
  return *phase.speed * std::sqrt(*under * *under + *without * *without);
}

}  // namespace

void DrawSensitivity(SensitivityResult& result) {
  result.conclusions.clear();
  for (PressurePhase& phase : result.phases) {
    phase.alone = AloneOf(phase);
    phase.speed.reset();
    if (phase.alone && *phase.alone > 0 && phase.rate.mean) {
      phase.speed = *phase.rate.mean / *phase.alone;
    }
    phase.uncertainty = UncertaintyOf(phase);
    const auto same =
        std::find_if(result.conclusions.begin(), result.conclusions.end(),
                     [&](const SensitivityOf& of) { return of.pressure == phase.pressure; });
    SensitivityOf& of = same != result.conclusions.end()
                            ? *same
                            : result.conclusions.emplace_back(
                                  SensitivityOf{phase.pressure, phase.title, {}, false});
    if (!phase.speed) continue;
    const double loss = 1 - *phase.speed;
    of.loss = std::max(of.loss.value_or(loss), loss);
    of.sensitive = of.sensitive || (loss > kSensitiveLoss && loss > phase.uncertainty.value_or(0));
  }
  result.drift.reset();
  if (result.phases.empty()) return;
  const auto &first = result.phases.front().before.mean, &last = result.phases.back().after.mean;
  if (first && last && *first > 0) result.drift = *last / *first - 1;
}

}  // namespace sharewell::measure
