#include "report/measure/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "core/text/plain_text.h"
#include "report/text/csv.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::MetricKind;
using store::Bucket;

struct SeriesPoint {
  core::UnixMillis time;
  double value, least, most, weight;
};

// What is drawn and summed up: a gauge's buckets, or a counter's rate from one to the next.
std::vector<SeriesPoint> Figures(MetricKind kind, const std::vector<Bucket>& buckets) {
  std::vector<SeriesPoint> out;
  if (kind == MetricKind::kGauge) {
    for (const Bucket& b : buckets) {
      out.push_back({b.time, b.mean, b.least, b.most, static_cast<double>(b.samples)});
    }
    return out;
  }
  for (std::size_t i = 1; i < buckets.size(); ++i) {
    // From one reading to the next: a bucket begins before what was read in it.
    const double seconds =
        static_cast<double>(buckets[i].last_time - buckets[i - 1].last_time) / 1e3;
    // Fallen: the counter has begun again, and what it says is what came since.
    const bool fresh = buckets[i].last < buckets[i - 1].last;
    const double grown = buckets[i].last - (fresh ? 0 : buckets[i - 1].last);
    if (seconds <= 0) continue;
    const double rate = grown / seconds;
    out.push_back({buckets[i].time, rate, rate, rate, seconds});
  }
  return out;
}

std::string RateUnit(const store::SeriesInfo& info) {
  return info.kind == MetricKind::kCounter ? info.unit + "/s" : info.unit;
}

std::string_view KindWord(MetricKind kind) {
  return kind == MetricKind::kCounter ? "counter" : "gauge";
}

void WriteHead(json::Writer& out, const store::SeriesInfo& info) {
  out.Field("node", info.key.node);
  out.Field("metric", info.key.metric);
  out.Field("instance", info.key.instance);
  out.Field("job", info.key.job);
  out.Field("unit", info.unit);
  out.Field("kind", KindWord(info.kind));
  out.Field("samples", info.samples);
  out.Field("first_unix_ms", ValueIf(info.samples > 0, info.first));
  out.Field("last_unix_ms", ValueIf(info.samples > 0, info.last));
}

std::string OrDash(const std::string& text) { return text.empty() ? kUnknown : text; }

}  // namespace

std::string UtcTime(core::UnixMillis time) {
  const auto seconds = static_cast<std::time_t>(time >= 0 ? time / 1000 : (time - 999) / 1000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return kUnknown;
  std::array<char, 64> room{};
  const std::size_t length = std::strftime(room.data(), room.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return length > 0 ? std::string(room.data(), length) : kUnknown;
}

std::string InUnit(double value, std::string_view unit) {
  if (!std::isfinite(value)) return kUnknown;
  if (unit == "ratio") return Percent(value);
  if (unit == "bytes") return Size(core::Bytes(value));
  if (unit == "bytes_per_second" || unit == "bytes/s") return Rate(core::BytesPerSecond(value));
  if (unit == "seconds") return Duration(core::Seconds(value));
  if (unit == "hertz") return Number(value / 1e6, 0) + " MHz";
  const double size = std::abs(value);
  const std::string number = value == std::floor(value) && size < 1e15 ? Number(value, 0)
                             : size >= 1e6 ? fmt::format("{:.4g}", value)
                                           : Number(value, size >= 100 ? 1
                                                           : size >= 1 ? 2
                                                                       : 4);
  struct Word {
    std::string_view unit, word;
  };
  static constexpr std::array<Word, 7> kWords = {{{"watts", " W"},
                                                  {"joules", " J"},
                                                  {"joules/s", " W"},
                                                  {"celsius", " °C"},
                                                  {"1", ""},
                                                  {"seconds/s", " s/s"},
                                                  {"1/s", "/s"}}};
  for (const Word& known : kWords) {
    if (known.unit == unit) return number + std::string(known.word);
  }
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

std::vector<SeriesValue> SeriesValues(MetricKind kind, const std::vector<Bucket>& buckets) {
  std::vector<SeriesValue> values;
  for (const SeriesPoint& figure : Figures(kind, buckets)) {
    values.push_back({figure.time, figure.value});
  }
  return values;
}

SeriesSummary Summarise(MetricKind kind, const std::vector<Bucket>& buckets) {
  SeriesSummary summary;
  if (!buckets.empty()) summary.last = buckets.back().last;
  double sum = 0;
  double weight = 0;
  for (const SeriesPoint& figure : Figures(kind, buckets)) {
    summary.least = std::min(summary.least.value_or(figure.least), figure.least);
    summary.most = std::max(summary.most.value_or(figure.most), figure.most);
    sum += figure.value * figure.weight;
    weight += figure.weight;
  }
  if (weight > 0) summary.mean = sum / weight;
  return summary;
}

std::string Sparkline(MetricKind kind, const std::vector<Bucket>& buckets, store::TimeRange range,
                      std::size_t width) {
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<std::optional<double>> cells(width);
  double least = 0;
  double most = 0;
  bool first = true;
  const double span = static_cast<double>(range.to) - static_cast<double>(range.from);
  for (const SeriesPoint& figure : Figures(kind, buckets)) {
    const double share =
        (static_cast<double>(figure.time) - static_cast<double>(range.from)) / span;
    if (!(share >= 0 && share < 1) || !std::isfinite(figure.value)) continue;
    cells[std::min(static_cast<std::size_t>(share * static_cast<double>(width)), width - 1)] =
        figure.value;
    least = first ? figure.value : std::min(least, figure.value);
    most = first ? figure.value : std::max(most, figure.value);
    first = false;
  }
  std::string line;
  for (const auto& cell : cells) {
    if (!cell) {
      line += ' ';
      continue;
    }
    const double height = most > least ? (*cell - least) / (most - least) : 0.5;
    line += kBlocks[std::min(static_cast<std::size_t>(height * 8), kBlocks.size() - 1)];
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string SeriesListTable(const std::vector<store::SeriesInfo>& series) {
  Table table({{"metric", Align::kLeft},
               {"instance", Align::kLeft},
               {"job", Align::kLeft},
               {"node", Align::kLeft},
               {"samples", Align::kRight},
               {"first (UTC)", Align::kLeft},
               {"last (UTC)", Align::kLeft}});
  for (const auto& info : series) {
    const bool any = info.samples > 0;
    table.Row({info.key.metric, OrDash(info.key.instance), OrDash(info.key.job), info.key.node,
               Number(static_cast<double>(info.samples), 0), any ? UtcTime(info.first) : kUnknown,
               any ? UtcTime(info.last) : kUnknown});
  }
  return table.Text();
}

std::string SeriesListJson(const std::vector<store::SeriesInfo>& series) {
  return JsonReport([&](json::Writer& out) {
    out.List("series", series,
             [&](const store::SeriesInfo& info) { out.Object([&] { WriteHead(out, info); }); });
  });
}

std::string SeriesText(const SeriesRead& series) {
  const store::SeriesInfo& info = series.info;
  const SeriesSummary summary = Summarise(info.kind, series.buckets);
  std::string head = info.key.metric;
  if (!info.key.instance.empty()) head += " " + info.key.instance;
  if (!info.key.job.empty()) head += ", job " + info.key.job;
  std::int64_t samples = 0;
  for (const Bucket& bucket : series.buckets) samples += bucket.samples;
  const std::string unit = RateUnit(info);
  const auto shown = [&](const std::optional<double>& value) {
    return Or(value, [&](double v) { return InUnit(v, unit); });
  };
  std::string out = fmt::format("{} on {}\n", core::PlainText(head), info.key.node);
  out += fmt::format("  {} samples, {} to {} UTC\n", Number(static_cast<double>(samples), 0),
                     UtcTime(std::max(series.range.from, info.first)),
                     UtcTime(std::min(series.range.to - 1, info.last)));
  out += fmt::format("  {}least {}   mean {}   most {}   last {}\n",
                     info.kind == MetricKind::kCounter ? "a second: " : "", shown(summary.least),
                     shown(summary.mean), shown(summary.most),
                     Or(summary.last, [&](double v) { return InUnit(v, info.unit); }));
  return out + "  " + Sparkline(info.kind, series.buckets, series.range, series.width) + "\n";
}

std::string SeriesShowJson(const std::vector<SeriesRead>& all) {
  return JsonReport([&](json::Writer& out) {
    out.List("series", all, [&](const SeriesRead& series) {
      const SeriesSummary summary = Summarise(series.info.kind, series.buckets);
      const bool counter = series.info.kind == MetricKind::kCounter;
      out.Object([&] {
        WriteHead(out, series.info);
        for (const auto& [name, value] :
             {std::pair{"least", summary.least}, {"mean", summary.mean}, {"most", summary.most}}) {
          out.Field(counter ? fmt::format("{}_per_second", name) : name, value);
        }
        out.Field("last", summary.last);
      });
    });
  });
}

std::string SeriesCsvHeader(SeriesRows rows) {
  return rows == SeriesRows::kBuckets
             ? "node,metric,instance,job,unit,time_unix_ms,least,mean,most,last,samples\n"
             : "node,metric,instance,job,unit,time_unix_ms,value\n";
}

std::string SeriesCsv(const SeriesRead& series, SeriesRows rows) {
  const store::SeriesKey& key = series.info.key;
  CsvText csv("");
  const auto head = [&](core::UnixMillis time) {
    csv.Field(key.node).Field(key.metric).Field(key.instance).Field(key.job);
    csv.Field(series.info.unit).Field(fmt::format("{}", time));
  };
  if (rows == SeriesRows::kPoints) {
    for (const core::Point& point : series.points) {
      head(point.time);
      csv.Field(point.value).EndRow();
    }
  } else {
    for (const Bucket& b : series.buckets) {
      head(b.time);
      csv.Field(b.least).Field(b.mean).Field(b.most).Field(b.last);
      csv.Field(fmt::format("{}", b.samples)).EndRow();
    }
  }
  return std::move(csv).Take().substr(1);  // without the empty header's line
}

std::string SeriesJson(const std::vector<SeriesRead>& all) {
  return JsonReport([&](json::Writer& out) {
    out.List("series", all, [&](const SeriesRead& series) {
      out.Object([&] {
        WriteHead(out, series.info);
        out.List("points", series.points,
                 [&](const core::Point& point) { out.Value(std::pair(point.time, point.value)); });
        out.List("buckets", series.buckets, [&](const Bucket& b) {
          out.Object([&] {
            out.Field("time_unix_ms", b.time);
            out.Field("least", b.least);
            out.Field("mean", b.mean);
            out.Field("most", b.most);
            out.Field("last", b.last);
            out.Field("samples", b.samples);
          });
        });
      });
    });
  });
}

}  // namespace sharewell::report
