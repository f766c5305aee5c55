#include "predict/colocation/colocation_by_name.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/result.h"
#include "interference/interference.h"
#include "predict/learn/gaussian/kernel.h"

namespace sharewell::predict {
namespace {

// Chosen by the error on held-out pairs of Gavel's table; flat around these.
constexpr double kDoublings = 10;      // of the batch, until a model is no longer like itself
constexpr double kOtherModel = 0.4;    // how alike two models are of which only the names are known
constexpr double kLogRate = 6;         // rates so far apart say nothing about each other
constexpr double kOfBoth = 2;          // what a job and its neighbour have together
constexpr double kOfJob = 3;           // what a job has beside anyone
constexpr double kOfNeighbour = 0.15;  // what a neighbour does to anyone
constexpr double kOfRates = 3;         // what follows from the two rates alone
constexpr double kNoise = 0.04;

double Square(double x) { return x * x; }

double Alike(const NamedJob& a, const NamedJob& b) {
  if (a.model != b.model) return kOtherModel;
  // Not smooth: a doubling can take a job past what a GPU holds at once.
  const double doublings = std::abs(std::log2(a.batch) - std::log2(b.batch));
  return learn::PortableExp(-doublings / kDoublings);
}

double Alike(const NamedJob& job, const NamedJob& neighbour, const NamedSpeed& measured) {
  const double jobs = Alike(job, measured.job);
  const double neighbours = Alike(neighbour, measured.neighbour);
  const double apart = Square(std::log(job.rate / measured.job.rate)) +
                       Square(std::log(neighbour.rate / measured.neighbour.rate));
  const double rates = learn::Alike(learn::Kernel::kRbf, apart / Square(kLogRate));
  return kOfBoth * jobs * neighbours + kOfJob * jobs + kOfNeighbour * neighbours + kOfRates * rates;
}

bool Usable(const NamedJob& job) { return job.batch > 0 && job.rate > 0 && job.rate < 1e12; }

}  // namespace

core::Result<ColocationByName> ColocationByName::Fit(std::vector<NamedSpeed> measured) {
  if (measured.empty()) return core::UsageError("no pair was measured");
  ColocationByName out;
  double sum = 0;
  for (NamedSpeed& one : measured) {
    if (!Usable(one.job) || !Usable(one.neighbour) || !(one.speed > 0 && one.speed < 1e6)) {
      return core::UsageError("'{}' beside '{}': batch, rate and speed must be above 0",
                              one.job.model, one.neighbour.model);
    }
    one.speed = std::min(one.speed, 1.0);
    sum += one.speed;
  }
  const std::size_t n = measured.size();
  out.mean_ = sum / static_cast<double>(n);
  std::vector<double> likeness(n * n);
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = measured[i].speed - out.mean_;
    for (std::size_t j = 0; j <= i; ++j) {
      likeness[i * n + j] = likeness[j * n + i] =
          Alike(measured[i].job, measured[i].neighbour, measured[j]);
    }
  }
  auto kriged = Kriging::Fit(std::move(likeness), std::vector<double>(n, kNoise), values);
  RETURN_IF_ERROR(kriged);
  out.around_mean_ = *std::move(kriged);
  out.measured_ = std::move(measured);
  return out;
}

core::Ratio ColocationByName::Speed(const NamedJob& job, const NamedJob& neighbour) const {
  std::vector<double> alike;
  for (const NamedSpeed& one : measured_) alike.push_back(Alike(job, neighbour, one));
  return std::clamp(mean_ + around_mean_.Mean(alike), interference::kSlowest, 1.0);
}

}  // namespace sharewell::predict
