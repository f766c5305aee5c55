#include "measure/grid/knee.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

namespace sharewell::measure {
namespace {

// Pool adjacent violators: the nearest row that does not fall (`rising`), or does not rise.
std::vector<double> Isotonic(const std::vector<double>& row, bool rising) {
  struct Block {
    double mean;
    std::size_t size;
  };
  std::vector<Block> blocks;
  for (const double value : row) {
    Block block{value, 1};
    while (!blocks.empty() &&
           (rising ? blocks.back().mean > block.mean : blocks.back().mean < block.mean)) {
      const auto a = static_cast<double>(blocks.back().size), b = static_cast<double>(block.size);
      block = {(blocks.back().mean * a + block.mean * b) / (a + b),
               blocks.back().size + block.size};
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  std::vector<double> out;
  out.reserve(row.size());
  for (const Block& block : blocks) out.insert(out.end(), block.size, block.mean);
  return out;
}

// Rising up to the peak, falling from there: each point is tried as the peak.
std::vector<double> Unimodal(const std::vector<double>& row) {
  std::vector<double> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t peak = row.size(); peak > 0; --peak) {
    const auto middle = row.begin() + static_cast<std::ptrdiff_t>(peak);
    auto fit = Isotonic({row.begin(), middle}, true);
    const auto fall = Isotonic({middle, row.end()}, false);
    if (!fall.empty() && fall.front() > fit.back()) continue;  // a later peak fits better
    fit.insert(fit.end(), fall.begin(), fall.end());
    double error = 0;
    for (std::size_t i = 0; i < row.size(); ++i) error += (fit[i] - row[i]) * (fit[i] - row[i]);
    // Of equals the latest peak: more of a resource rarely hurts.
    if (error < least) {
      least = error;
      best = std::move(fit);
    }
  }
  return best;
}

// The square of the half interval of a level of the fit: of the mean of the points from `first` up
// to `last` that it averages, whose errors are independent. Absent: one of them is unknown.
std::optional<double> SquaredInterval(const std::vector<CurvePoint>& points, std::size_t first,
                                      std::size_t last) {
  double squares = 0;
  for (std::size_t i = first; i < last; ++i) {
    if (!points[i].uncertainty) return std::nullopt;
    const double half = *points[i].uncertainty * points[i].throughput;
    squares += half * half;
  }
  const auto count = static_cast<double>(last - first);
  return squares / (count * count);
}

// Whether some level after the peak is truly below it.
bool TrulyFalls(const std::vector<double>& fit, const std::vector<CurvePoint>& points,
                core::Ratio keeps) {
  const auto level_end = [&fit](std::size_t first) {
    std::size_t last = first + 1;
    while (last < fit.size() && fit[last] == fit[first]) ++last;
    return last;
  };
  const auto peak = static_cast<std::size_t>(
      std::distance(fit.begin(), std::max_element(fit.begin(), fit.end())));
  const std::size_t plateau_end = level_end(peak);
  const auto of_peak = SquaredInterval(points, peak, plateau_end);
  for (std::size_t first = plateau_end; first < fit.size(); first = level_end(first)) {
    if (fit[first] >= keeps * fit[peak]) continue;
    const auto here = SquaredInterval(points, first, level_end(first));
    if (!of_peak || !here || fit[peak] - fit[first] > std::sqrt(*of_peak + *here)) return true;
  }
  return false;
}

// A fall that is no larger than the noise is none: then the curve only rises, and its plateau is
// averaged over more points.
std::vector<double> Fit(const std::vector<CurvePoint>& points, core::Ratio keeps) {
  std::vector<double> row;
  row.reserve(points.size());
  for (const CurvePoint& point : points) row.push_back(point.throughput);
  auto fit = Unimodal(row);
  return TrulyFalls(fit, points, keeps) ? fit : Isotonic(row, true);
}

}  // namespace

std::optional<Knee> FindKnee(const std::vector<CurvePoint>& points, core::Ratio keeps) {
  if (points.size() < 3) return std::nullopt;
  Knee knee;
  knee.fitted = Fit(points, keeps);
  const double best = *std::max_element(knee.fitted.begin(), knee.fitted.end());
  if (!(best > 0)) return std::nullopt;
  const auto first = std::find_if(knee.fitted.begin(), knee.fitted.end(),
                                  [&](double fit) { return fit >= keeps * best; });
  knee.at = points[static_cast<std::size_t>(first - knee.fitted.begin())].resource;
  knee.share = *first / best;
  return knee;
}

core::CpuCurve FittedCurve(const std::vector<CurvePoint>& points) {
  core::CpuCurve curve;
  if (points.size() < 2) return curve;
  const auto fitted = Fit(points, kKneeKeeps);
  const double best = *std::max_element(fitted.begin(), fitted.end());
  if (!(best > 0)) return curve;
  double so_far = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    so_far = std::max(so_far, fitted[i] / best);
    // A share of 0 is no throughput that the format could hold.
    if (so_far > 0) curve.emplace_back(points[i].resource, so_far);
  }
  return curve;
}

}  // namespace sharewell::measure
