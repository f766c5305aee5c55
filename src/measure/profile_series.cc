#include "measure/profile_series.h"

#include <algorithm>
#include <cmath>

#include "core/numbers/statistics.h"

namespace sharewell::measure {
namespace {

constexpr std::size_t kMostKept = 2048;

using core::Seconds;

// Figures of single values with a weight each (readings, or seconds).
core::Figure WeightedFigure(const std::vector<double>& values, const std::vector<double>& weights) {
  core::Figure figure;
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i] * weights[i];
    weight += weights[i];
  }
  figure.mean = sum / weight;
  figure.least = *std::min_element(values.begin(), values.end());
  figure.most = *std::max_element(values.begin(), values.end());
  figure.median = *core::Quantile(values, 0.5);
  figure.p95 = *core::Quantile(values, 0.95);
  double squares = 0;
  for (const double value : values) squares += (value - figure.mean) * (value - figure.mean);
  figure.deviation =
      values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
  return figure;
}

}  // namespace

void ProfileSeries::Append(Series& series, Seconds time, double value) {
  if (series.kept.empty() || series.kept.back().count >= series.each) {
    if (series.kept.size() >= kMostKept) {
      std::vector<Kept> half;
      for (std::size_t i = 0; i + 1 < series.kept.size(); i += 2) {
        const Kept &a = series.kept[i], &b = series.kept[i + 1];
        half.push_back({.time = b.time,
                        .sum = a.sum + b.sum,
                        .least = std::min(a.least, b.least),
                        .most = std::max(a.most, b.most),
                        .last = b.last,
                        .squares = a.squares + b.squares,
                        .count = a.count + b.count});
      }
      series.kept = std::move(half);
      series.each *= 2;
    }
    series.kept.push_back({.time = time, .least = value, .most = value});
  }
  Kept& kept = series.kept.back();
  kept.time = time;
  kept.sum += value;
  kept.squares += value * value;
  kept.least = std::min(kept.least, value);
  kept.most = std::max(kept.most, value);
  kept.last = value;
  ++kept.count;
}

void ProfileSeries::Add(Seconds time, const std::vector<core::Reading>& readings) {
  for (const core::Reading& reading : readings) {
    if (!std::isfinite(reading.value)) continue;
    Series& series = series_[{std::string(reading.metric->name), reading.instance, reading.job}];
    if (series.kept.empty()) {
      series.kind = reading.metric->kind;
      series.unit = reading.metric->unit;
      series.instance_kind = reading.metric->instance;
    }
    Append(series, time, reading.value);
  }
}

std::optional<core::Figure> ProfileSeries::Gauge(const Series& series, Span span) {
  std::vector<double> values, weights;
  double least = INFINITY, most = -INFINITY, sum = 0, squares = 0, count = 0;
  for (const Kept& kept : series.kept) {
    if (kept.time <= span.from || kept.time > span.to) continue;
    values.push_back(kept.sum / kept.count);
    weights.push_back(kept.count);
    least = std::min(least, kept.least);
    most = std::max(most, kept.most);
    sum += kept.sum;
    squares += kept.squares;
    count += kept.count;
  }
  if (values.empty()) return std::nullopt;
  core::Figure figure = WeightedFigure(values, weights);
  figure.least = least;
  figure.most = most;
  if (series.each > 1 && count > 1) {
    const double variance = (squares - sum * sum / count) / (count - 1);
    figure.deviation = std::sqrt(std::max(0.0, variance));
  }
  figure.readings = static_cast<std::int64_t>(count);
  return figure;
}

std::optional<core::Figure> ProfileSeries::Rate(const Series& series, Span span) {
  std::vector<double> rates, seconds;
  std::int64_t readings = 0;
  for (std::size_t i = 0; i < series.kept.size(); ++i) {
    const Kept& kept = series.kept[i];
    if (kept.time < span.from || kept.time > span.to) continue;
    readings += kept.count;
    if (i == 0 || series.kept[i - 1].time < span.from) continue;
    const Kept& before = series.kept[i - 1];
    const double passed = (kept.time - before.time).value;
    // Fallen: it began anew, and what it had risen to in between nobody knows.
    if (passed <= 0 || kept.last < before.last) continue;
    rates.push_back((kept.last - before.last) / passed);
    seconds.push_back(passed);
  }
  if (rates.empty()) return std::nullopt;
  core::Figure figure = WeightedFigure(rates, seconds);
  figure.readings = readings;
  return figure;
}

std::optional<core::Figure> ProfileSeries::Of(const Key& key, const Series& series, Span span) {
  const bool counter = series.kind == core::MetricKind::kCounter;
  auto figure = counter ? Rate(series, span) : Gauge(series, span);
  if (!figure) return std::nullopt;
  figure->metric = std::get<0>(key);
  figure->instance = std::get<1>(key);
  figure->unit = series.unit + (counter ? "/s" : "");
  return figure;
}

std::vector<core::Figure> ProfileSeries::Figures(const std::string& job, Span span) const {
  std::vector<core::Figure> figures;
  for (const auto& [key, series] : series_) {
    const std::string& whose = std::get<2>(key);
    if ((!whose.empty() && whose != job) || series.instance_kind == "cpu") continue;
    if (auto figure = Of(key, series, span)) figures.push_back(std::move(*figure));
  }
  return figures;
}

const ProfileSeries::Series* ProfileSeries::Find(const core::Metric& metric,
                                                 const std::string& instance,
                                                 const std::string& job) const {
  const auto it = series_.find({std::string(metric.name), instance, job});
  return it == series_.end() ? nullptr : &it->second;
}

std::optional<core::Figure> ProfileSeries::FigureOf(const core::Metric& metric,
                                                    const std::string& instance,
                                                    const std::string& job, Span span) const {
  const Series* series = Find(metric, instance, job);
  if (series == nullptr) return std::nullopt;
  return Of({std::string(metric.name), instance, job}, *series, span);
}

std::optional<double> ProfileSeries::Latest(const core::Metric& metric, const std::string& instance,
                                            const std::string& job, Seconds since) const {
  const Series* series = Find(metric, instance, job);
  if (series == nullptr || series->kept.back().time < since) return std::nullopt;
  if (series->kind == core::MetricKind::kGauge) return series->kept.back().last;
  if (series->kept.size() < 2) return std::nullopt;
  const Kept &a = series->kept[series->kept.size() - 2], &b = series->kept.back();
  if (b.last < a.last || b.time <= a.time) return std::nullopt;
  return (b.last - a.last) / (b.time - a.time).value;
}

std::vector<std::string> ProfileSeries::Instances(const core::Metric& metric,
                                                  const std::string& job) const {
  std::vector<std::string> instances;
  const std::string name(metric.name);
  for (auto it = series_.lower_bound({name, "", ""});
       it != series_.end() && std::get<0>(it->first) == name; ++it) {
    if (std::get<2>(it->first) == job) instances.push_back(std::get<1>(it->first));
  }
  return instances;
}

std::vector<std::string> ProfileSeries::Jobs(const core::Metric& metric,
                                             const std::string& instance, Span span) const {
  std::vector<std::string> jobs;
  const std::string name(metric.name);
  for (auto it = series_.lower_bound({name, instance, ""});
       it != series_.end() && std::get<0>(it->first) == name && std::get<1>(it->first) == instance;
       ++it) {
    if (Of(it->first, it->second, span)) jobs.push_back(std::get<2>(it->first));
  }
  return jobs;
}

}  // namespace sharewell::measure
