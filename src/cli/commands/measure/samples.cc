#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "cli/args/store_flag.h"
#include "cli/args/values.h"
#include "cli/args/when.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/write_file.h"
#include "report/measure/series.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;
using report::SeriesRead;

constexpr std::array<const char*, 4> kSampleActions = {"list", "show", "export", "delete"};
constexpr std::int64_t kChartPoints = 60;
constexpr std::size_t kMostShown = 20;
constexpr double kMostBuckets = 10e6;

bool Matches(const std::string& glob, const std::string& text) {
  return glob.empty() || ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

bool IsPlain(const std::string& glob) {
  return !glob.empty() && glob.find_first_of("*?[\\") == std::string::npos;
}

class SamplesCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("action", action_, "what to do")
        ->type_name(fmt::format("{}", fmt::join(kSampleActions, "|")))
        ->capture_default_str();
    app.add_option("metric", metric_, "metrics, with * and ? allowed: 'gpu_*' (default all)")
        ->type_name("METRIC");
    app.add_option("--instance", instance_, "only of this GPU, CPU or device; * and ? allowed")
        ->type_name("NAME");
    app.add_option("--job", job_, "only of this job; * and ? allowed")->type_name("JOB");
    app.add_option("--node", node_, "only of this machine; * and ? allowed")->type_name("NODE");
    app.add_option("--from", from_, "from when: 15m, 12h or 3d ago, or 2026-11-15T08:00 (UTC)")
        ->type_name("TIME");
    app.add_option("--to", to_, "until when, in the same way")->type_name("TIME");
    app.add_option("--every", every_,
                   "export: one row for each span of time, with least, mean and most")
        ->type_name("TIME");
    app.add_option("--store", store_, "a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("FILE");
    app.add_option("--out", out_, "export: write to this file")->type_name("FILE");
    app.add_flag("--yes", yes_, "delete: delete without asking")->disable_flag_override();
    app.add_flag("--json", json_, "print JSON (export: instead of CSV)")->disable_flag_override();
  }

  Result<ExitCode> Run() override {
    if (std::find(kSampleActions.begin(), kSampleActions.end(), action_) == kSampleActions.end()) {
      const std::vector<std::string> known(kSampleActions.begin(), kSampleActions.end());
      return UsageError("samples: {} is not allowed; give list, show, export or delete{}",
                        core::Quoted(action_), core::DidYouMean(action_, known));
    }
    RETURN_IF_ERROR(ReadFlags());
    auto opened = OpenStoreThatIsThere(store_);
    RETURN_IF_ERROR(opened);
    opened_ = std::move(*opened);
    auto found = Find();
    RETURN_IF_ERROR(found);
    const auto text = action_ == "list"     ? List(*found)
                      : action_ == "show"   ? Show(*found)
                      : action_ == "export" ? Export(*found)
                                            : Delete(*found);
    RETURN_IF_ERROR(text);
    RETURN_IF_ERROR(WriteOut(*text));
    return kOk;
  }

 private:
  Result<void> ReadFlags() {
    const core::UnixMillis now = platform::UnixNow();
    if (!from_.empty()) {
      const auto from = ParseWhen("--from", from_, now);
      RETURN_IF_ERROR(from);
      range_.from = *from;
    }
    if (!to_.empty()) {
      const auto to = ParseWhen("--to", to_, now);
      RETURN_IF_ERROR(to);
      range_.to = *to;
    }
    if (range_.from >= range_.to) {
      return UsageError("--from: {} is not before --to {}", core::Quoted(from_), core::Quoted(to_));
    }
    if (!every_.empty()) {
      const auto every = ParseTime("--every", every_, 366);
      RETURN_IF_ERROR(every);
      if (every->value < 1) return UsageError("--every: {} is less than 1s", core::Quoted(every_));
      width_ = static_cast<core::UnixMillis>(std::llround(every->value * 1e3));
    }
    if (action_ != "export" && !(every_.empty() && out_.empty())) {
      return UsageError(
          "samples: --every and --out are for export; `sharewell samples --help` tells more");
    }
    return {};
  }

  Result<std::vector<store::SeriesInfo>> Find() {
    store::SeriesFilter filter;
    if (IsPlain(node_)) filter.node = node_;
    if (IsPlain(metric_)) filter.metric = metric_;
    if (IsPlain(instance_)) filter.instance = instance_;
    if (IsPlain(job_)) filter.job = job_;
    auto found = opened_->List(filter);
    if (!found) return found;
    std::erase_if(*found, [this](const store::SeriesInfo& info) {
      return !Matches(node_, info.key.node) || !Matches(metric_, info.key.metric) ||
             !Matches(instance_, info.key.instance) || !Matches(job_, info.key.job) ||
             info.last < range_.from || info.first >= range_.to;
    });
    std::sort(found->begin(), found->end(), [](const auto& a, const auto& b) {
      return std::tie(a.key.metric, a.key.instance, a.key.job, a.key.node) <
             std::tie(b.key.metric, b.key.instance, b.key.job, b.key.node);
    });
    if (!found->empty() || action_ == "list") return found;
    return NothingFound();
  }

  Result<std::vector<store::SeriesInfo>> NothingFound() {
    const auto all = opened_->List({});
    RETURN_IF_ERROR(all);
    if (all->empty()) {
      return UsageError("samples: the store is empty; `sharewell monitor` fills it");
    }
    std::vector<std::string> metrics;
    for (const auto& info : *all) metrics.push_back(info.key.metric);
    std::sort(metrics.begin(), metrics.end());
    metrics.erase(std::unique(metrics.begin(), metrics.end()), metrics.end());
    const bool known = std::find(metrics.begin(), metrics.end(), metric_) != metrics.end();
    return UsageError(
        "samples: no series matches; `sharewell samples list` shows all{}",
        metric_.empty() || known ? std::string() : core::DidYouMean(metric_, metrics));
  }

  Result<std::string> List(const std::vector<store::SeriesInfo>& found) const {
    if (json_) return report::SeriesListJson(found);
    if (found.empty()) return std::string("No series.\n");
    return report::SeriesListTable(found) + fmt::format("\n{} series.\n", found.size());
  }

  // The range, cut to what the series has.
  store::TimeRange RangeOf(const store::SeriesInfo& info) const {
    return {std::max(range_.from, info.first), std::min(range_.to, info.last + 1)};
  }

  Result<std::string> Show(const std::vector<store::SeriesInfo>& found) {
    std::vector<SeriesRead> all;
    for (const auto& info : found) {
      if (!json_ && all.size() == kMostShown) break;
      SeriesRead series{.info = info, .range = RangeOf(info)};
      // No finer than there are samples: else a short series is mostly gaps.
      series.width =
          static_cast<std::size_t>(std::clamp<std::int64_t>(info.samples, 1, kChartPoints));
      auto chart = opened_->Chart(info.key, series.range, series.width);
      RETURN_IF_ERROR(chart);
      series.buckets = std::move(*chart);
      all.push_back(std::move(series));
    }
    if (json_) return report::SeriesShowJson(all);
    std::string text;
    for (const SeriesRead& series : all) {
      text += (text.empty() ? "" : "\n") + report::SeriesText(series);
    }
    if (found.size() > all.size()) {
      text += fmt::format("\n{} more; name a metric, --instance or --job to see fewer.\n",
                          found.size() - all.size());
    }
    return text;
  }

  Result<SeriesRead> ReadForExport(const store::SeriesInfo& info) {
    SeriesRead series{.info = info, .range = RangeOf(info)};
    if (width_ == 0) {
      auto points = opened_->Read(info.key, series.range);
      RETURN_IF_ERROR(points);
      series.points = std::move(*points);
      return series;
    }
    // On the grid of the width, so that rows of different series stand for the same time.
    auto& [from, to] = series.range;
    from -= ((from % width_) + width_) % width_;
    const double count = std::ceil(static_cast<double>(to - from) / static_cast<double>(width_));
    if (count > kMostBuckets) return UsageError("--every: {} makes too many rows", every_);
    to = from + static_cast<core::UnixMillis>(count) * width_;
    auto chart = opened_->Chart(info.key, series.range, static_cast<std::size_t>(count));
    RETURN_IF_ERROR(chart);
    series.buckets = std::move(*chart);
    return series;
  }

  // CSV goes out series by series: a store may hold more than memory does.
  Result<std::string> Export(const std::vector<store::SeriesInfo>& found) {
    const auto rows = width_ == 0 ? report::SeriesRows::kPoints : report::SeriesRows::kBuckets;
    std::vector<SeriesRead> all;
    std::string text = json_ ? std::string() : report::SeriesCsvHeader(rows);
    for (const auto& info : found) {
      auto series = ReadForExport(info);
      RETURN_IF_ERROR(series);
      if (json_) {
        all.push_back(std::move(*series));
        continue;
      }
      text += report::SeriesCsv(*series, rows);
      if (!out_.empty()) continue;
      RETURN_IF_ERROR(WriteOut(text));
      text.clear();
    }
    if (json_) text = report::SeriesJson(all);
    if (out_.empty()) return text;
    RETURN_IF_ERROR(platform::WriteFile(out_, text));
    return std::string();
  }

  Result<std::string> Delete(const std::vector<store::SeriesInfo>& found) {
    if (!yes_) {
      return UsageError("samples: this would delete from {} series, {} to {}; give --yes to do it",
                        found.size(), from_.empty() ? "their beginning" : from_,
                        to_.empty() ? "their end" : to_);
    }
    std::int64_t removed = 0;
    for (const auto& info : found) {
      const auto& key = info.key;
      const auto gone = opened_->Remove(
          {.node = key.node, .metric = key.metric, .instance = key.instance, .job = key.job},
          range_);
      RETURN_IF_ERROR(gone);
      removed += *gone;
    }
    if (json_) {
      return report::JsonReport([&](json::Writer& out) { out.Field("deleted_samples", removed); });
    }
    return fmt::format("{} sample{} deleted.\n", report::Number(static_cast<double>(removed), 0),
                       removed == 1 ? "" : "s");
  }

  std::string action_ = "list";
  std::string metric_, instance_, job_, node_, from_, to_, every_, store_, out_;
  bool yes_ = false;
  bool json_ = false;
  store::TimeRange range_;
  core::UnixMillis width_ = 0;  // of --every; 0: every sample
  std::unique_ptr<store::Store> opened_;
};

}  // namespace

std::unique_ptr<Command> NewSamplesCommand() { return std::make_unique<SamplesCommand>(); }

}  // namespace sharewell::cli
