#include "control/service/runs/turn_watch.h"

#include <cstddef>

#include "core/numbers/statistics.h"

namespace sharewell::control {
namespace {
constexpr std::size_t kKeptTurns = 1000;
}

void TurnWatch::SetBusy(bool busy) {
  busy_since_ = busy ? clock_.Steady().count() : std::int64_t{-1};
}

std::optional<core::Seconds> TurnWatch::BusyFor() const {
  const std::int64_t since = busy_since_;
  if (since < 0) return std::nullopt;
  const auto now = clock_.Steady().count();
  return core::Seconds(static_cast<double>(now - since) / 1e9);
}

void TurnWatch::OnDecision(core::Seconds now, core::Seconds took) {
  ++decided_;
  heard_ = now - took;
}

void TurnWatch::OnTurn(core::Seconds now, core::Seconds asked_took) {
  turns_.push_back((asked_took + now - heard_).value);
  if (turns_.size() > kKeptTurns) turns_.pop_front();
}

core::Seconds TurnWatch::P99() const {
  return core::Seconds(core::Quantile({turns_.begin(), turns_.end()}, 0.99).value_or(0));
}

}  // namespace sharewell::control
