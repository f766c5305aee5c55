#include "server/slurm_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/result.h"

namespace sharewell::server {
namespace {

constexpr const char* kStepsMetric = "job_steps";
constexpr core::UnixMillis kLately = 15'000;

}  // namespace

StepsInStore::StepsInStore(Open open, std::function<void(const std::string&)> say)
    : open_(std::move(open)), say_(std::move(say)) {}

core::Result<std::map<std::int64_t, double>> StepsInStore::Read(
    const std::map<std::int64_t, core::UnixMillis>& since, core::UnixMillis now) {
  if (!store_) {
    auto opened = open_();
    RETURN_IF_ERROR(opened);
    store_ = std::move(*opened);
  }
  std::map<std::int64_t, double> steps;
  for (const auto& [job, began] : since) {
    store::SeriesFilter filter;
    filter.metric = kStepsMetric;
    filter.job = fmt::format("slurm/{}", job);
    const auto series = store_->List(filter);
    RETURN_IF_ERROR(series);
    for (const store::SeriesInfo& one : *series) {
      const auto points = store_->Read(one.key, {.from = std::max(began, now - kLately)});
      RETURN_IF_ERROR(points);
      if (points->empty()) continue;
      double& most = steps[job];
      most = std::max(most, points->back().value);
    }
  }
  return steps;
}

std::map<std::int64_t, double> StepsInStore::Of(
    const std::map<std::int64_t, core::UnixMillis>& since, core::UnixMillis now) {
  auto steps = Read(since, now);
  if (steps) {
    if (std::exchange(down_, false)) say_("steps of jobs can be read from the store again");
    return *std::move(steps);
  }
  store_.reset();  // opened anew next time
  if (!std::exchange(down_, true)) {
    say_("steps of jobs cannot be read from the store: " + steps.error().message);
  }
  return {};
}

}  // namespace sharewell::server
