#include "report/jobs/usage_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/numbers/statistics.h"
#include "core/projects.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "report/html/week_figures.h"
#include "report/jobs/job_tables.h"
#include "report/measure/series.h"
#include "report/text/csv.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::JobRecord;
using core::Result;

constexpr std::size_t kMostUsageRows = 1000;

// What rows may be of: `of` says to whom a job is laid; null: to the GPU models that it held.
struct UsageKind {
  const char* name;
  const std::string& (*of)(const JobRecord& job);
};
// A job from before there were projects counts to that of the users of no other.
const std::string& ProjectNameOf(const JobRecord& job) {
  static const std::string none(core::kDefaultProject);
  return job.asked.project.empty() ? none : job.asked.project;
}

constexpr UsageKind kUsageKinds[] = {
    {"user", [](const JobRecord& job) -> const std::string& { return job.user.name; }},
    {"project", ProjectNameOf},
    {"gpu", nullptr},
};

// A row before its waits are put together.
struct Gathered {
  UsageRow row;
  std::vector<double> waits;
};

// What a job held of one GPU model.
struct HeldOf {
  double hours = 0;
  std::optional<double> price;
};

class UsageGatherer {
 public:
  UsageGatherer(const simulation::GpuTime& world, simulation::TimeSpan time, const UsageKind& kind,
                const core::Prices& prices)
      : time_(time), kind_(kind), prices_(prices) {
    const auto parts = simulation::OwnParts(world);
    for (std::size_t s = 0; s < parts.size(); ++s) {
      own_.emplace(world.stays[s].job->number, parts[s]);
    }
  }

  void Take(const JobRecord& job) {
    const auto held = HeldBy(job);
    const std::optional<double> wait = WaitOf(job);
    if (kind_.of != nullptr) {
      AddTo(rows_[kind_.of(job)], job, Values(held), wait);
    } else {
      for (const auto& [model, of] : held) AddTo(rows_[model], job, {of}, wait);
    }
    AddTo(all_, job, Values(held), wait);
  }

  UsageTable Done() {
    UsageTable table;
    for (auto& [name, gathered] : rows_) {
      table.rows.push_back(RowOf(gathered));
      table.rows.back().name = name;
    }
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const auto& a, const auto& b) { return a.held_hours > b.held_hours; });
    table.cut = table.rows.size() > kMostUsageRows;
    if (table.cut) table.rows.resize(kMostUsageRows);
    table.all = RowOf(all_);
    table.unpriced.assign(unpriced_.begin(), unpriced_.end());
    return table;
  }

 private:
  using Held = std::map<std::string, HeldOf>;

  static std::vector<HeldOf> Values(const Held& held) {
    std::vector<HeldOf> values;
    for (const auto& [model, of] : held) values.push_back(of);
    return values;
  }

  Held HeldBy(const JobRecord& job) {
    Held held;
    const double hours = GpuHoursOf(job, time_.from, time_.to);
    if (job.gpus.empty() || !job.started) return held;
    // Of earlier runs it is not known who was beside them: they are taken to be like the last.
    const auto own = own_.find(job.number);
    const double each =
        hours * (own == own_.end() ? 1 : own->second) / static_cast<double>(job.gpus.size());
    for (const core::GivenGpu& gpu : job.gpus) {
      HeldOf& of = held[gpu.model];
      of.hours += each;
      of.price = prices_.Of(gpu.model);
      if (!of.price && of.hours > 0) unpriced_.insert(gpu.model);
    }
    return held;
  }

  std::optional<double> WaitOf(const JobRecord& job) const {
    const bool waits = job.phase == core::Phase::kWaiting && !job.started;
    if (!job.started && !waits) return std::nullopt;
    const core::UnixMillis until = std::min(job.started.value_or(time_.to), time_.to);
    return static_cast<double>(std::max<core::UnixMillis>(until - job.submitted, 0)) / 1e3;
  }

  void AddTo(Gathered& to, const JobRecord& job, const std::vector<HeldOf>& held,
             const std::optional<double>& wait) const {
    UsageRow& row = to.row;
    ++row.jobs;
    if (wait) to.waits.push_back(*wait);
    for (const HeldOf& of : held) {
      row.held_hours += of.hours;
      if (job.seen.busy) {
        row.known_hours += of.hours;
        row.busy_hours =
            row.busy_hours.value_or(0) + of.hours * std::clamp(*job.seen.busy, 0.0, 1.0);
      }
      if (of.price) {
        row.priced_hours += of.hours;
        row.cost = row.cost.value_or(0) + of.hours * *of.price;
      }
    }
  }

  static UsageRow RowOf(Gathered& gathered) {
    UsageRow row = gathered.row;
    row.wait_mean = core::Mean(gathered.waits);
    row.wait_p99 = core::Quantile(gathered.waits, 0.99);
    return row;
  }

  const simulation::TimeSpan time_;
  const UsageKind& kind_;
  const core::Prices& prices_;
  std::unordered_map<std::int64_t, double> own_;  // by number: its part of its GPUs' time
  std::map<std::string, Gathered> rows_;
  Gathered all_;
  std::set<std::string> unpriced_;
};

void WriteUsageRow(json::Writer& out, const UsageRow& row) {
  out.Field("jobs", row.jobs);
  out.Field("held_gpu_hours", row.held_hours);
  out.Field("known_gpu_hours", row.known_hours);
  out.Field("busy_gpu_hours", row.busy_hours);
  out.Field("wait_mean_seconds", row.wait_mean);
  out.Field("wait_p99_seconds", row.wait_p99);
  out.Field("priced_gpu_hours", row.priced_hours);
  out.Field("cost", row.cost);
}

std::string HoursText(double hours) { return Number(hours, hours < 100 ? 2 : 1); }

std::vector<std::string> CellsOf(std::string name, const UsageRow& row) {
  const auto time = [](double seconds) { return Duration(core::Seconds(seconds)); };
  return {std::move(name),
          fmt::format("{}", row.jobs),
          HoursText(row.held_hours),
          Or(row.busy_hours, HoursText),
          HoursText(row.known_hours),
          Or(row.wait_mean, time),
          Or(row.wait_p99, time),
          Or(row.cost, [](double cost) { return Number(cost, 2); })};
}

}  // namespace

const std::vector<std::string>& UsageKinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const UsageKind& kind : kUsageKinds) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

Result<UsageTable> UsageTableOf(const std::vector<JobRecord>& jobs,
                                const simulation::GpuTime& world, simulation::TimeSpan time,
                                const std::string& by, const core::Prices& prices) {
  const auto& kinds = UsageKinds();
  const auto* kind = std::find_if(std::begin(kUsageKinds), std::end(kUsageKinds),
                                  [&](const UsageKind& one) { return one.name == by; });
  if (kind == std::end(kUsageKinds)) {
    return core::UsageError("by: {} is not allowed; give {}{}", core::Quoted(by),
                            fmt::join(kinds, " or "), core::DidYouMean(by, kinds));
  }
  UsageGatherer gatherer(world, time, *kind, prices);
  for (const JobRecord& job : jobs) {
    if (job.submitted < time.to && job.ended.value_or(time.to) >= time.from) gatherer.Take(job);
  }
  UsageTable table = gatherer.Done();
  table.by = by;
  table.time = time;
  table.currency = prices.currency;
  return table;
}

std::string UnpricedInWords(const UsageTable& table) {
  if (table.unpriced.empty()) return {};
  if (table.all.priced_hours <= 0) {
    return "No cost: [prices] in the server's sharewell.toml has no price for these GPUs.";
  }
  std::vector<std::string> models;
  for (const std::string& model : table.unpriced) models.push_back(core::Quoted(model));
  return fmt::format(
      "The cost is that of {} of {} GPU hours: [prices] in the server's sharewell.toml has none "
      "for "
      "{}.",
      HoursText(table.all.priced_hours), HoursText(table.all.held_hours), fmt::join(models, ", "));
}

std::string UsageTableText(const UsageTable& table) {
  Table text({{table.by, Align::kLeft},
              {"jobs", Align::kRight},
              {"GPU hours", Align::kRight},
              {"busy", Align::kRight},
              {"of known", Align::kRight},
              {"wait, mean", Align::kRight},
              {"99 %", Align::kRight},
              {table.currency.empty() ? "cost" : "cost, " + table.currency, Align::kRight}});
  for (const UsageRow& row : table.rows) text.Row(CellsOf(PlainText(row.name), row));
  text.Gap();
  text.Row(CellsOf("all", table.all));
  std::string out = fmt::format("{} to {} UTC\n\n{}", UtcTime(table.time.from),
                                UtcTime(table.time.to), text.Text());
  if (const std::string unpriced = UnpricedInWords(table); !unpriced.empty()) {
    out += "\n" + unpriced + "\n";
  }
  if (table.cut) {
    out += "\nThere are more jobs or rows than are counted here: ask for a shorter time.\n";
  }
  return out;
}

std::string UsageTableJson(const UsageTable& table) {
  return JsonLine([&](json::Writer& out) {
    out.Field("from_ms", table.time.from);
    out.Field("to_ms", table.time.to);
    out.Field("by", table.by);
    out.Field("currency", ValueIf(!table.currency.empty(), table.currency));
    out.Field("cut", table.cut);
    out.Object("all", [&] { WriteUsageRow(out, table.all); });
    out.List("rows", table.rows, [&](const UsageRow& row) {
      out.Object([&] {
        out.Field("name", row.name);
        WriteUsageRow(out, row);
      });
    });
    out.Field("unpriced", table.unpriced);
  });
}

std::string UsageTableCsv(const UsageTable& table) {
  CsvText csv(table.by +
              ",jobs,held_gpu_hours,known_gpu_hours,busy_gpu_hours,wait_mean_seconds,"
              "wait_p99_seconds,priced_gpu_hours,cost,currency");
  for (const UsageRow& row : table.rows) {
    csv.Harmless(row.name)
        .Field(static_cast<double>(row.jobs))
        .Field(row.held_hours)
        .Field(row.known_hours)
        .Field(row.busy_hours)
        .Field(row.wait_mean)
        .Field(row.wait_p99)
        .Field(row.priced_hours)
        .Field(row.cost)
        .Harmless(table.currency)
        .EndRow();
  }
  return std::move(csv).Take();
}

}  // namespace sharewell::report
