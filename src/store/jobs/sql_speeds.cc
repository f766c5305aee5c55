#include "store/jobs/sql_speeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "json/value.h"
#include "json/writer.h"
#include "store/jobs/sql_job_store.h"

namespace sharewell::store {
namespace {

using core::BesideStretch;
using core::SpeedHistory;
using core::SpeedPoint;
using core::UnixMillis;

constexpr std::size_t kSpeedsAtOnce = 500;            // jobs in one statement
constexpr UnixMillis kMostGap = UnixMillis{1} << 52;  // so that no sum of two overflows

// The next whole number of a list; absent: there is none, or no time.
class Numbers {
 public:
  explicit Numbers(json::Value list) : at_(list.items().begin()), end_(list.items().end()) {}
  std::optional<UnixMillis> Time() {
    const auto whole = Next().Whole();
    return whole && *whole >= 0 && *whole <= kMostGap ? whole : std::nullopt;
  }
  json::Value Next() {
    if (at_ == end_) return {};
    const json::Value value = *at_;
    ++at_;
    return value;
  }

 private:
  json::Items::iterator at_, end_;
};

// Times are written as what passed since the time before: that is a third of the text.
class Times {
 public:
  std::optional<UnixMillis> After(std::optional<UnixMillis> passed) {
    if (!passed || last_ > kMostGap) return std::nullopt;
    return last_ += *passed;
  }
  UnixMillis Since(UnixMillis time) { return time - std::exchange(last_, time); }

 private:
  UnixMillis last_ = 0;
};

void WriteMetric(json::Writer& writer, const core::JobMetric& metric) {
  writer.Object([&] {
    writer.Field("name", metric.last.name);
    writer.Field("at", metric.last.at);
    writer.Field("value", metric.last.value);
    writer.Field("step", metric.last.step);
    Times times;
    writer.List("points", metric.points.points(), [&](const core::MetricPoint& point) {
      writer.List([&] {
        writer.Value(times.Since(point.from));
        writer.Value(times.Since(point.to));
        writer.Value(point.told);
        writer.Value(point.value);
      });
    });
  });
}

std::optional<core::JobMetric> ReadMetric(json::Value entry) {
  using Points = core::Thinned<core::MetricPoint>;
  const auto name = entry["name"].Text();
  const auto at = entry["at"].Whole();
  const auto value = entry["value"].Number();
  const json::Value step = entry["step"];
  if (!name || !at || !value || entry["points"].size() > Points::kMostPoints) return std::nullopt;
  std::vector<core::MetricPoint> points;
  Times times;
  for (const json::Value one : entry["points"].items()) {
    Numbers numbers(one);
    const auto from = times.After(numbers.Time()), to = times.After(numbers.Time());
    const auto told = numbers.Next().Number(), mean = numbers.Next().Number();
    if (!from || !to || !told || !mean) return std::nullopt;
    points.push_back({*from, *to, *mean, *told});
  }
  return core::JobMetric{{std::string(*name), *at, *value, step.Whole()},
                         Points(std::move(points))};
}

// Absent: what is there is damaged.
std::optional<core::JobMetrics> ReadMetrics(json::Value list) {
  if (list.size() > core::kMostMetrics) return std::nullopt;
  std::vector<core::JobMetric> all;
  for (const json::Value entry : list.items()) {
    auto metric = ReadMetric(entry);
    if (!metric) return std::nullopt;
    all.push_back(std::move(*metric));
  }
  return core::JobMetrics::From(std::move(all));
}

}  // namespace

std::string SpeedToJson(const SpeedHistory& history) {
  std::string out;
  json::Writer writer(out, json::Style::kBrief);
  writer.Object([&] {
    Times times;
    writer.List("points", history.points(), [&](const SpeedPoint& point) {
      writer.List([&] {
        writer.Value(times.Since(point.from));
        writer.Value(times.Since(point.to));
        writer.Value(point.active);
        writer.Value(point.steps);
      });
    });
    times = {};
    writer.List("beside", history.beside(), [&](const BesideStretch& one) {
      writer.List([&] {
        writer.Value(times.Since(one.from));
        writer.Value(times.Since(one.to));
        for (const std::int64_t job : one.jobs) writer.Value(job);
      });
    });
    writer.List("metrics", history.metrics().all(),
                [&](const core::JobMetric& metric) { WriteMetric(writer, metric); });
    if (const auto& last = history.last()) {
      writer.Key("last");
      writer.Value(std::pair(last->at, last->steps));
    }
  });
  return out;
}

std::optional<SpeedHistory> SpeedFromJson(std::string_view text) {
  const auto parsed = json::Document::Parse(text);
  if (!parsed || !parsed->root().is_object()) return std::nullopt;
  const json::Value root = parsed->root();
  if (root["points"].size() > SpeedHistory::kMostPoints ||
      root["beside"].size() > SpeedHistory::kMostStretches) {
    return std::nullopt;
  }
  std::vector<SpeedPoint> points;
  Times times;
  for (const json::Value entry : root["points"].items()) {
    Numbers numbers(entry);
    const auto from = times.After(numbers.Time()), to = times.After(numbers.Time());
    const auto active = numbers.Time();
    const auto steps = numbers.Next().Number();
    if (!from || !to || !active || !steps) return std::nullopt;
    points.push_back({*from, *to, *steps, *active});
  }
  std::vector<BesideStretch> beside;
  times = {};
  for (const json::Value entry : root["beside"].items()) {
    if (entry.size() > 2 + SpeedHistory::kMostBeside) return std::nullopt;
    Numbers numbers(entry);
    const auto from = times.After(numbers.Time()), to = times.After(numbers.Time());
    if (!from || !to) return std::nullopt;
    BesideStretch one{*from, *to, {}};
    for (std::size_t i = 2; i < entry.size(); ++i) {
      const auto job = numbers.Time();
      if (!job) return std::nullopt;
      one.jobs.push_back(*job);
    }
    beside.push_back(std::move(one));
  }
  std::optional<SpeedHistory::Counted> last;
  if (const json::Value pair = root["last"]; pair.is_list()) {
    Numbers numbers(pair);
    const auto at = numbers.Time();
    const auto steps = numbers.Next().Number();
    if (!at || !steps) return std::nullopt;
    last = {*at, *steps};
  }
  auto metrics = ReadMetrics(root["metrics"]);
  if (!metrics) return std::nullopt;
  return SpeedHistory::From(std::move(points), std::move(beside), last, std::move(*metrics));
}

core::Result<void> PutSpeeds(
    Database& database, const std::vector<std::pair<std::int64_t, core::SpeedHistory>>& speeds) {
  std::map<std::int64_t, std::string> texts;  // of two of one job the last
  for (const auto& [job, history] : speeds) texts[job] = SpeedToJson(history);
  std::vector<std::vector<Value>> rows;
  rows.reserve(texts.size());
  for (const auto& [job, text] : texts) rows.push_back({job, std::string_view(text)});
  return database.Upsert({"job_speed", {"job"}, {"history"}}, rows);
}

core::Result<void> RemoveSpeeds(Database& database, std::span<const std::int64_t> jobs) {
  for (std::size_t begin = 0; begin < jobs.size(); begin += kSpeedsAtOnce) {
    const auto some = jobs.subspan(begin, std::min(kSpeedsAtOnce, jobs.size() - begin));
    RETURN_IF_ERROR(database.Run(
        fmt::format("DELETE FROM job_speed WHERE job IN ({})", fmt::join(some, ",")), {}));
  }
  return {};
}

core::Result<std::optional<core::SpeedHistory>> SqlJobStore::SpeedOf(std::int64_t number) {
  std::optional<core::SpeedHistory> history;
  const Value values[] = {number};
  auto done = Read("SELECT history FROM job_speed WHERE job = $1", values,
                   [&](const Row& row) { history = SpeedFromJson(row.Bytes(0)); });
  RETURN_IF_ERROR(done);
  return history;
}

}  // namespace sharewell::store
