#include "report/measure/profile_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "report/measure/profiles_list.h"
#include "report/measure/series.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::ProfileRecord;

struct PairFigure {
  std::string name, unit;
  std::optional<double> a, b;
  bool is_first = false;  // of those that scheduler and predictor read

  std::optional<double> BOverA() const {
    if (!a || !b || *a == 0) return std::nullopt;
    return *b / *a;
  }
};

template <class Quantity>
std::optional<double> Bare(const std::optional<Quantity>& value) {
  if (!value) return std::nullopt;
  return value->value;
}

// The figures that scheduler and predictor read come first, then all others by metric.
std::vector<PairFigure> PairFigures(const ProfileRecord& a, const ProfileRecord& b) {
  const core::Profile& p = a.profile;
  const core::Profile& q = b.profile;
  std::vector<PairFigure> figures = {
      {"steps a second", "1/s", p.steps_per_second, q.steps_per_second},
      {"GPU busy", "ratio", p.busy, q.busy},
      {"SM active", "ratio", p.sm, q.sm},
      {"GPU memory traffic", "ratio", p.dram, q.dram},
      {"GPU memory", "bytes", Bare(p.gpu_memory), Bare(q.gpu_memory)},
      {"PCIe", "bytes/s", Bare(p.pcie), Bare(q.pcie)},
      {"CPU cores", "1", p.cpu_cores, q.cpu_cores},
      {"host memory", "bytes", Bare(p.host_memory), Bare(q.host_memory)},
      {"host memory traffic", "bytes/s", Bare(p.host_bandwidth), Bare(q.host_bandwidth)},
      {"GPU power", "watts", Bare(p.power), Bare(q.power)},
  };
  std::erase_if(figures, [](const PairFigure& f) { return !f.a && !f.b; });
  for (PairFigure& figure : figures) figure.is_first = true;
  std::map<std::pair<std::string, std::string>, PairFigure> others;
  const auto add = [&](const ProfileRecord& record, std::optional<double> PairFigure::*side) {
    for (const core::Figure& figure : record.figures) {
      PairFigure& entry = others[{figure.metric, figure.instance}];
      entry.name = figure.instance.empty() ? figure.metric
                                           : fmt::format("{} {}", figure.metric, figure.instance);
      entry.unit = figure.unit;
      entry.*side = figure.mean;
    }
  };
  add(a, &PairFigure::a);
  add(b, &PairFigure::b);
  for (auto& [key, figure] : others) figures.push_back(std::move(figure));
  return figures;
}

struct PairFact {
  std::string name;
  std::optional<std::string> a, b;
};

std::vector<PairFact> DifferingFacts(const ProfileRecord& a, const ProfileRecord& b) {
  std::vector<PairFact> facts;
  std::set<std::string> seen;
  for (const ProfileRecord* record : {&a, &b}) {
    for (const auto& [name, value] : record->environment) {
      if (!seen.insert(name).second) continue;
      PairFact fact{name, FactOf(a, name), FactOf(b, name)};
      if (fact.a != fact.b) facts.push_back(std::move(fact));
    }
  }
  return facts;
}

// A metric that one of the first figures was made of says the same once more.
bool Repeats(const std::vector<PairFigure>& figures, std::size_t i) {
  if (figures[i].is_first) return false;
  return std::any_of(figures.begin(), figures.end(), [&](const PairFigure& first) {
    return first.is_first && first.unit == figures[i].unit && first.a == figures[i].a &&
           first.b == figures[i].b && first.a.value_or(0) + first.b.value_or(0) != 0;
  });
}

std::string HeadingOf(const ProfileRecord& record) {
  return fmt::format("{} ({})", record.name, record.id);
}

std::string WorkloadText(const core::Workload& workload) {
  std::string text = workload.name;
  if (workload.batch != 0) text += fmt::format(" x{}", workload.batch);
  if (!workload.precision.empty()) text += " " + workload.precision;
  return text;
}

std::string Rate(const std::optional<double>& value) {
  return Or(value, [](double v) { return Number(v, v < 10 ? 3 : 1); });
}

std::optional<double> RateRatio(const ProfileRecord* first, const ProfileRecord* other) {
  if (first == nullptr || other == nullptr) return std::nullopt;
  const auto& a = first->profile.steps_per_second;
  const auto& b = other->profile.steps_per_second;
  if (!a || !b || *a == 0) return std::nullopt;
  return *b / *a;
}

}  // namespace

std::string ProfilePairText(const ProfileRecord& a, const ProfileRecord& b) {
  Table figures({{"figure (mean)", Align::kLeft},
                 {HeadingOf(a), Align::kRight},
                 {HeadingOf(b), Align::kRight},
                 {"ratio", Align::kRight}});
  const std::vector<PairFigure> pairs = PairFigures(a, b);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (Repeats(pairs, i)) continue;
    const PairFigure& figure = pairs[i];
    const auto shown = [&](double v) { return InUnit(v, figure.unit); };
    figures.Row(
        {figure.name, Or(figure.a, shown), Or(figure.b, shown), Or(figure.BOverA(), Times)});
  }
  const auto facts = DifferingFacts(a, b);
  if (facts.empty()) return figures.Text() + "\nBoth were measured in the same environment.\n";
  Table differing(
      {{"environment", Align::kLeft}, {HeadingOf(a), Align::kLeft}, {HeadingOf(b), Align::kLeft}});
  for (const PairFact& fact : facts) {
    differing.Row({fact.name, fact.a.value_or(kUnknown), fact.b.value_or(kUnknown)});
  }
  return figures.Text() + "\n" + differing.Text();
}

std::string ProfilePairJson(const ProfileRecord& a, const ProfileRecord& b) {
  return JsonReport([&](json::Writer& out) {
    const auto named = [&](const char* key, const ProfileRecord& record) {
      out.Object(key, [&] {
        out.Field("id", record.id);
        out.Field("name", record.name);
      });
    };
    named("a", a);
    named("b", b);
    out.List("figures", PairFigures(a, b), [&](const PairFigure& figure) {
      out.Object([&] {
        out.Field("figure", figure.name);
        out.Field("unit", figure.unit);
        out.Field("a", figure.a);
        out.Field("b", figure.b);
        out.Field("b_over_a", figure.BOverA());
      });
    });
    out.List("environment", DifferingFacts(a, b), [&](const PairFact& fact) {
      out.Object([&] {
        out.Field("fact", fact.name);
        out.Field("a", fact.a);
        out.Field("b", fact.b);
      });
    });
  });
}

Comparison Compare(const std::vector<ProfileRecord>& records, CompareBy by) {
  Comparison comparison;
  comparison.by = by;
  std::map<core::Workload, std::map<std::string, const ProfileRecord*>> found;
  std::set<std::string> columns;
  for (const ProfileRecord& record : records) {
    const std::string column =
        by == CompareBy::kGpu ? record.profile.gpu : FactOf(record, "cpu").value_or("");
    if (column.empty()) continue;
    core::Workload workload = record.profile.workload;
    if (workload.name.empty()) workload.name = record.name;
    columns.insert(column);
    const ProfileRecord*& cell = found[workload][column];
    if (cell == nullptr ||
        std::pair(cell->created, cell->id) <= std::pair(record.created, record.id)) {
      cell = &record;
    }
  }
  comparison.columns.assign(columns.begin(), columns.end());
  for (const auto& [workload, cells] : found) {
    if (cells.size() < 2) {
      ++comparison.alone;
      continue;
    }
    Comparison::Row row{workload, {}};
    for (const std::string& column : comparison.columns) {
      const auto cell = cells.find(column);
      row.cells.push_back(cell == cells.end() ? nullptr : cell->second);
    }
    comparison.rows.push_back(std::move(row));
  }
  return comparison;
}

std::string ComparisonText(const Comparison& comparison) {
  const std::string_view what = comparison.by == CompareBy::kGpu ? "GPU" : "CPU";
  std::string out;
  if (!comparison.rows.empty()) {
    std::vector<std::pair<std::string, Align>> heads = {{"workload", Align::kLeft}};
    for (std::size_t i = 0; i < comparison.columns.size(); ++i) {
      heads.emplace_back(comparison.columns[i] + ": steps/s", Align::kRight);
      heads.emplace_back("GPU busy", Align::kRight);
      heads.emplace_back("cores", Align::kRight);
      if (i > 0) heads.emplace_back("ratio", Align::kRight);
    }
    Table table(heads);
    for (const Comparison::Row& row : comparison.rows) {
      std::vector<std::string> cells = {WorkloadText(row.workload)};
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        const ProfileRecord* record = row.cells[i];
        const core::Profile none;
        const core::Profile& p = record == nullptr ? none : record->profile;
        cells.push_back(Rate(p.steps_per_second));
        cells.push_back(Or(p.busy, Percent));
        cells.push_back(Or(p.cpu_cores, [](double v) { return Number(v, 2); }));
        if (i > 0) cells.push_back(Or(RateRatio(row.cells[0], record), Times));
      }
      table.Row(std::move(cells));
    }
    out =
        table.Text() + fmt::format("\nThe ratio is the rate over that on {}; above 1 is faster.\n",
                                   comparison.columns.front());
  } else {
    out = fmt::format("No workload has been profiled on two {}s: there is nothing to compare.\n",
                      what);
  }
  if (comparison.alone > 0) {
    out += fmt::format("{} workload{} {} on one {} only and {} left out.\n", comparison.alone,
                       comparison.alone == 1 ? "" : "s", comparison.alone == 1 ? "was" : "were",
                       what, comparison.alone == 1 ? "is" : "are");
  }
  return out;
}

std::string ComparisonJson(const Comparison& comparison) {
  return JsonReport([&](json::Writer& out) {
    const auto write_cell = [&](const std::string& on, const ProfileRecord* first,
                                const ProfileRecord* record) {
      const core::Profile none;
      const core::Profile& p = record == nullptr ? none : record->profile;
      out.Object([&] {
        out.Field("on", on);
        record != nullptr ? out.Field("profile", record->id) : out.Null("profile");
        out.Field("steps_per_second", p.steps_per_second);
        out.Field("gpu_busy_ratio", p.busy);
        out.Field("cpu_cores", p.cpu_cores);
        out.Field("rate_over_first", RateRatio(first, record));
      });
    };
    out.Field("by", comparison.by == CompareBy::kGpu ? "gpu" : "cpu");
    out.Field("columns", comparison.columns);
    out.List("rows", comparison.rows, [&](const Comparison::Row& row) {
      out.Object([&] {
        out.Field("workload", row.workload.name);
        out.Field("batch", ValueIf(row.workload.batch != 0, row.workload.batch));
        out.TextOrNull("precision", row.workload.precision);
        out.Key("cells");
        out.List([&] {
          for (std::size_t i = 0; i < row.cells.size(); ++i) {
            write_cell(comparison.columns[i], row.cells[0], row.cells[i]);
          }
        });
      });
    });
  });
}

}  // namespace sharewell::report
