#include "research/pages/judged_sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::research {
namespace {

using advice::recommend::Goal;
using advice::recommend::Setting;

// What counts as found: docs/recommend.md.
constexpr double kFound = 0.95;
constexpr std::size_t kLineWidth = 100;

std::string Short(const Setting& setting) {
  std::string text = fmt::format("{} {} w{}", setting.precision, setting.batch, setting.workers);
  if (setting.cores) text += fmt::format(" c{:g}", *setting.cores);
  return text;
}

std::string SweepName(const JudgedSweep& sweep) {
  const std::size_t slash = sweep.from.rfind('/');
  const std::string file = slash == std::string::npos ? sweep.from : sweep.from.substr(slash + 1);
  return sweep.sitting.empty() ? file : fmt::format("{}, sitting {}", file, sweep.sitting);
}

void WriteSetting(json::Writer& out, const char* key, const Setting& setting) {
  out.Object(key, [&] {
    out.Field("precision", setting.precision);
    out.Field("batch", setting.batch);
    out.Field("workers", setting.workers);
    out.Field("cpu_cores", setting.cores);
  });
}

std::string Found(const std::vector<JudgedSweep>& sweeps, Goal goal) {
  std::size_t of = 0, curve = 0, foretold = 0, average = 0, most = 0;
  double cores = 0, curve_cores = 0, foretold_cores = 0;
  for (const JudgedSweep& sweep : sweeps) {
    if (sweep.goal != goal) continue;
    ++of;
    curve += sweep.curve_share >= kFound ? 1 : 0;
    foretold += sweep.foretold_share >= kFound ? 1 : 0;
    average += sweep.average_share >= kFound ? 1 : 0;
    most += sweep.most_share >= kFound ? 1 : 0;
    cores += sweep.most_cores;
    curve_cores += sweep.curve.cores.value_or(0);
    foretold_cores += sweep.foretold.cores.value_or(0);
  }
  if (of == 0) return "";
  std::string spared;
  if (cores > 0) {
    spared =
        fmt::format(" On sweeps over cores the two take {} and {} of the most cores.",
                    report::Percent(curve_cores / cores), report::Percent(foretold_cores / cores));
  }
  const std::string text = fmt::format(
      "{}: within 5 % of the best in {} of {} sweeps from their own cells, in {} predicted; the "
      "most of everything in {}, a cell by chance in {}.{}",
      NameOf(goal), curve, of, foretold, most, average, spared);
  return report::Wrapped(text, kLineWidth, 0) + "\n";
}

}  // namespace

std::string JudgedSweepsText(const std::vector<JudgedSweep>& sweeps) {
  std::string text;
  for (const Goal goal : {Goal::kThroughput, Goal::kEnergy}) {
    report::Table table({{std::string(NameOf(goal)), report::Align::kLeft},
                         {"sweep", report::Align::kLeft},
                         {"cells", report::Align::kRight},
                         {"best cell", report::Align::kLeft},
                         {"own curve", report::Align::kLeft},
                         {"of best", report::Align::kRight},
                         {"predicted", report::Align::kLeft},
                         {"of best", report::Align::kRight},
                         {"most", report::Align::kRight},
                         {"chance", report::Align::kRight}});
    for (const JudgedSweep& sweep : sweeps) {
      if (sweep.goal != goal) continue;
      table.Row({sweep.workload, SweepName(sweep), fmt::format("{}", sweep.cells),
                 Short(sweep.best), Short(sweep.curve), report::Percent(sweep.curve_share),
                 Short(sweep.foretold), report::Percent(sweep.foretold_share),
                 report::Percent(sweep.most_share), report::Percent(sweep.average_share)});
    }
    text += table.Text() + "\n";
  }
  text +=
      "own curve  chosen from the sweep's own cells, which were all seen\n"
      "predicted  chosen among the same cells by predictions alone; the predictor was trained\n"
      "           without the workload's family, but its base was fitted to all of data/h200\n"
      "most       what the most cores, workers and batch give, of the best\n"
      "chance     what a cell taken by chance gives, on average\n"
      "bf16 64 w4 c8: precision, batch, 4 loader workers, 8 cores (none: all of the machine's)\n\n";
  std::size_t cells = 0, in_bounds = 0;
  for (const JudgedSweep& sweep : sweeps) {
    if (sweep.goal != Goal::kThroughput) continue;
    cells += sweep.cells;
    in_bounds += sweep.in_bounds;
  }
  text += Found(sweeps, Goal::kThroughput) + Found(sweeps, Goal::kEnergy);
  if (cells > 0) {
    text += fmt::format(
        "Rates that were measured lie within the predicted bounds in {} of {} cells ({}).\n",
        in_bounds, cells,
        report::Percent(static_cast<double>(in_bounds) / static_cast<double>(cells)));
  }
  return text;
}

std::string JudgedSweepsJson(const std::vector<JudgedSweep>& sweeps) {
  return report::JsonReport([&](json::Writer& out) {
    out.List("sweeps", sweeps, [&](const JudgedSweep& sweep) {
      out.Object([&] {
        out.Field("workload", sweep.workload);
        out.Field("from", sweep.from);
        out.TextOrNull("sitting", sweep.sitting);
        out.Field("goal", NameOf(sweep.goal));
        out.Field("cells", sweep.cells);
        WriteSetting(out, "best", sweep.best);
        WriteSetting(out, "own_curve", sweep.curve);
        out.Field("own_curve_share", sweep.curve_share);
        WriteSetting(out, "predicted", sweep.foretold);
        out.Field("predicted_share", sweep.foretold_share);
        out.Field("most_share", sweep.most_share);
        out.Field("average_share", sweep.average_share);
        out.Field("cells_in_bounds", sweep.in_bounds);
      });
    });
  });
}

}  // namespace sharewell::research
