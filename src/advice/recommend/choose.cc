#include "advice/recommend/choose.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "measure/grid/knee.h"

namespace sharewell::advice::recommend {
namespace {

// From the highest to the lowest; bf16 before fp16, which needs its losses scaled.
constexpr std::array<std::string_view, 4> kPrecisions = {"fp32", "tf32", "bf16", "fp16"};

constexpr std::size_t kCurvePoints = 3;

std::size_t Rank(std::string_view precision) {
  return static_cast<std::size_t>(std::find(kPrecisions.begin(), kPrecisions.end(), precision) -
                                  kPrecisions.begin());
}

// A cell that was not limited runs on as many cores as it used, or on nobody knows how many.
double CoresOf(const Cell& cell) {
  if (cell.setting.cores) return *cell.setting.cores;
  return cell.cores_used ? std::ceil(cell.cores_used->median) : std::numeric_limits<double>::max();
}

bool Smaller(const Cell& a, const Cell& b) {
  return std::tuple(a.setting.batch, CoresOf(a), a.setting.workers) <
         std::tuple(b.setting.batch, CoresOf(b), b.setting.workers);
}

using Line = std::pair<std::string_view, std::int64_t>;  // precision and batch

// Those of which a curve over cores was measured.
std::set<Line> CurvesOf(std::span<const Cell> cells) {
  std::map<Line, std::set<double>> cores;
  for (const Cell& cell : cells) {
    if (!cell.measured() || !cell.setting.cores) continue;
    cores[{cell.setting.precision, cell.setting.batch}].insert(*cell.setting.cores);
  }
  std::set<Line> out;
  for (const auto& [line, counts] : cores) {
    if (counts.size() >= kCurvePoints) out.insert(line);
  }
  return out;
}

struct Ranked {
  std::size_t at;
  double merit;
};

const Ranked* Best(const std::vector<Ranked>& of) {
  const auto best = std::max_element(
      of.begin(), of.end(), [](const Ranked& a, const Ranked& b) { return a.merit < b.merit; });
  return best == of.end() ? nullptr : &*best;
}

}  // namespace

std::vector<double> Smoothed(std::span<const Cell> cells) {
  std::vector<double> out;
  std::map<std::tuple<std::string_view, std::string_view, std::int64_t>, std::vector<std::size_t>>
      lines;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    out.push_back(cell.samples.median);
    if (!cell.measured() || !cell.setting.cores) continue;
    lines[{cell.from, cell.setting.precision, cell.setting.batch}].push_back(i);
  }
  for (auto& [_, line] : lines) {
    std::sort(line.begin(), line.end(), [&](std::size_t a, std::size_t b) {
      return *cells[a].setting.cores < *cells[b].setting.cores;
    });
    std::vector<measure::CurvePoint> points;
    for (const std::size_t i : line) {
      const core::Estimated<>& samples = cells[i].samples;
      std::optional<core::Ratio> uncertainty;
      if (samples.KnownHigh() && samples.median > 0) {
        uncertainty = samples.high / samples.median - 1;
      }
      points.push_back({*cells[i].setting.cores, samples.median, uncertainty});
    }
    // Two cells on as many cores differ in something else: no curve.
    const bool rises =
        std::adjacent_find(points.begin(), points.end(),
                           [](const measure::CurvePoint& a, const measure::CurvePoint& b) {
                             return a.resource >= b.resource;
                           }) == points.end();
    const auto knee = rises ? measure::FindKnee(points) : std::nullopt;
    if (!knee) continue;
    for (std::size_t k = 0; k < line.size(); ++k) out[line[k]] = knee->fitted[k];
  }
  return out;
}

std::optional<Chosen> Choose(std::span<const Cell> cells, Goal goal, const Prices& prices) {
  const std::vector<double> smoothed = Smoothed(cells);
  // By precision, from the highest on; those measured before those predicted.
  std::map<std::size_t, std::array<std::vector<Ranked>, 2>> by_precision;
  const std::set<Line> curves = CurvesOf(cells);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Setting& setting = cells[i].setting;
    if (!cells[i].measured() && curves.contains({setting.precision, setting.batch})) continue;
    const auto merit = Merit(goal, cells[i], prices);
    if (!merit || !(*merit > 0) || !(cells[i].samples.median > 0)) continue;
    by_precision[Rank(cells[i].setting.precision)][cells[i].measured() ? 0 : 1].push_back(
        {i, *merit * smoothed[i] / cells[i].samples.median});
  }
  const std::vector<Ranked>* chosen = nullptr;
  bool chosen_measured = false;
  for (const auto& [_, kinds] : by_precision) {
    const Ranked *measured = Best(kinds[0]), *predicted = Best(kinds[1]);
    const bool trust = measured != nullptr &&
                       (predicted == nullptr || predicted->merit < kWorthIt * measured->merit);
    const std::vector<Ranked>& here = kinds[trust ? 0 : 1];
    // What was measured in a lower precision gives way to a prediction in a higher one only as to
    // any other prediction.
    const double least = trust && !chosen_measured ? 1 / kWorthIt : kWorthIt;
    if (chosen == nullptr || Best(here)->merit >= least * Best(*chosen)->merit) {
      chosen = &here;
      chosen_measured = trust;
    }
  }
  if (chosen == nullptr) return std::nullopt;
  const Ranked best = *Best(*chosen);
  Ranked least = best;
  for (const Ranked& ranked : *chosen) {
    if (ranked.merit < kKeeps * best.merit) continue;
    if (Smaller(cells[ranked.at], cells[least.at])) least = ranked;
  }
  return Chosen{least.at, best.at, least.merit / best.merit};
}

}  // namespace sharewell::advice::recommend
