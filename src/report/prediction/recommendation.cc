#include "report/prediction/recommendation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using advice::recommend::Choice;
using advice::recommend::Goal;
using advice::recommend::GpuAdvice;
using advice::recommend::Recommendation;
using json::Writer;

constexpr std::size_t kShownGpus = 6;

struct Entry {
  std::string key;
  std::string words;
  std::optional<core::Estimated<>> told;
  std::string (*show)(double);
};

// Three digits and more where there are.
std::string ShowPlain(double value) {
  return Number(value, value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 4);
}
std::string ShowSize(double bytes) { return Size(core::Bytes(bytes)); }
std::string ShowWatts(double watts) { return Number(watts, 0) + " W"; }
std::string ShowJoules(double joules) {
  return Number(joules, joules < 0.1 ? 4 : joules < 10 ? 3 : 1) + " J";
}
std::string ShowShare(double share) { return Percent(share); }

std::vector<Entry> FiguresOf(const Recommendation& answer) {
  const auto& cell = answer.cell;
  return {{"samples_per_second", "samples a second", cell.samples, ShowPlain},
          {"gpu_memory_bytes", "GPU memory", cell.memory, ShowSize},
          {"cpu_cores_used", "CPU cores in use", cell.cores_used, ShowPlain},
          {"power_watts", "power of the GPU", cell.power, ShowWatts},
          {"energy_joules_per_sample", "energy of a sample", answer.joules, ShowJoules},
          {"cost_per_million_samples", "cost of a million samples", answer.cost, ShowPlain},
          {"speed_of_two", "speed of each of two such jobs", answer.sharing.twice, ShowShare},
          {"samples_per_second_of_two", "samples a second of two", answer.shared, ShowPlain}};
}

std::string_view LabelOf(std::string_view what) {
  if (what == "gpu") return "GPU model";
  if (what == "workers") return "loader workers";
  if (what == "cores") return "CPU cores";
  if (what == "share") return "share the GPU";
  return what;
}

std::string SourceOf(const Choice& choice) {
  return fmt::format("{}: {}", core::NameOf(choice.source), choice.from);
}

std::string ChoicesText(const Recommendation& answer, std::size_t width) {
  Table table({{"", Align::kLeft}, {"", Align::kLeft}, {"source", Align::kLeft}});
  for (const Choice& choice : answer.choices) {
    table.Row({std::string(LabelOf(choice.what)), choice.value, SourceOf(choice)});
  }
  std::string text = table.Text() + "\nwhy\n";
  for (const Choice& choice : answer.choices) {
    const std::string label = fmt::format("  {:<15}", LabelOf(choice.what));
    text += label + Wrapped(choice.why, width, label.size(), label.size()) + "\n";
  }
  return text;
}

std::string BatchesText(const Recommendation& answer) {
  const auto& batches = answer.batches;
  std::string text =
      fmt::format("\nbatch on {} in {}\n", answer.cell.setting.gpu, answer.cell.setting.precision);
  text += fmt::format("  largest that fits    {}",
                      batches.largest ? fmt::format("{}", *batches.largest) : kUnknown);
  if (batches.memory) {
    text += fmt::format(
        "  ({}, at most {})", Size(core::Bytes(batches.memory->median)),
        Size(core::Bytes(batches.memory->KnownHigh().value_or(batches.memory->median))));
  }
  text += '\n';
  for (const Goal goal : advice::recommend::kGoals) {
    const auto& best = batches.best[static_cast<std::size_t>(goal)];
    text += fmt::format("  best for {:<11} {}\n", NameOf(goal),
                        best ? fmt::format("{}", *best) : std::string("unknown"));
  }
  return text;
}

std::string GpusText(const Recommendation& answer, std::size_t width) {
  if (answer.gpus.size() < 2) return "";
  Table table({{"GPU model", Align::kLeft},
               {"precision", Align::kLeft},
               {"batch", Align::kRight},
               {"cores", Align::kRight},
               {"samples/s", Align::kRight},
               {"5 %", Align::kRight},
               {"95 %", Align::kRight},
               {"J/sample", Align::kRight},
               {"cost of 1e6", Align::kRight},
               {"source", Align::kLeft}});
  std::size_t shown = 0;
  for (const GpuAdvice& row : answer.gpus) {
    if (!row.cell || shown++ >= kShownGpus) continue;
    const auto& cell = *row.cell;
    const auto told = [](const std::optional<core::Estimated<>>& value) {
      return value ? ShowPlain(value->median) : std::string(kUnknown);
    };
    table.Row({row.gpu, cell.setting.precision, fmt::format("{}", cell.setting.batch),
               Or(cell.setting.cores, [](double cores) { return fmt::format("{:g}", cores); }),
               ShowPlain(cell.samples.median), Or(cell.samples.KnownLow(), ShowPlain),
               Or(cell.samples.KnownHigh(), ShowPlain), told(row.joules), told(row.cost),
               fmt::format("{}{}", core::NameOf(cell.samples.source),
                           row.learnt ? "" : ", never learnt on it")});
  }
  std::string text = "\n" + table.Text();
  const auto fit = static_cast<std::size_t>(
      std::count_if(answer.gpus.begin(), answer.gpus.end(),
                    [](const GpuAdvice& row) { return row.cell.has_value(); }));
  if (fit > kShownGpus) {
    text += fmt::format("and {} more: --json has them all.\n",
                        core::Count(fit - kShownGpus, "GPU model", "GPU models"));
  }
  // Those with the same reason in one line.
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const GpuAdvice& row : answer.gpus) {
    if (row.cell) continue;
    const auto same = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& known) { return known.first == row.why_not; });
    if (same == reasons.end()) {
      reasons.emplace_back(row.why_not, row.gpu);
    } else {
      same->second += ", " + row.gpu;
    }
  }
  for (const auto& [why, gpus] : reasons) {
    text += Wrapped(fmt::format("{}: {}.", gpus, why), width, 0) + "\n";
  }
  return text;
}

std::string NeighboursText(const Recommendation& answer, std::size_t width) {
  std::string text;
  for (const auto& beside : answer.sharing.best) {
    text += fmt::format("{}{} (keeps {:.0f} %, the other {:.0f} %)", text.empty() ? "" : ", ",
                        beside.name, 100 * beside.speed, 100 * beside.others);
  }
  return text.empty() ? "" : Wrapped("Good neighbours: " + text + ".", width, 0) + "\n";
}

void WriteTold(Writer& out, const std::string& key, const std::optional<core::Estimated<>>& told) {
  if (!told) return out.Null(key);
  out.Object(key, [&] {
    out.Field("p50", told->median);
    out.Field("p05", told->KnownLow());
    out.Field("p95", told->KnownHigh());
    out.Field("source", core::NameOf(told->source));
  });
}

void WriteCell(Writer& out, const advice::recommend::Cell& cell) {
  out.Field("gpu", cell.setting.gpu);
  out.Field("precision", cell.setting.precision);
  out.Field("batch", cell.setting.batch);
  out.Field("workers", cell.setting.workers);
  out.Field("cpu_cores", cell.setting.cores);
  out.Field("source", core::NameOf(cell.samples.source));
  out.Field("from", cell.from);
}

void WriteGpu(Writer& out, const GpuAdvice& row) {
  out.Field("gpu", row.gpu);
  out.Field("learnt", row.learnt);
  if (row.cell) {
    out.Object("cell", [&] { WriteCell(out, *row.cell); });
  } else {
    out.Null("cell");
  }
  WriteTold(out, "samples_per_second", row.cell ? std::optional(row.cell->samples) : std::nullopt);
  WriteTold(out, "energy_joules_per_sample", row.joules);
  WriteTold(out, "cost_per_million_samples", row.cost);
  WriteTold(out, "samples_per_second_of_two", row.shared);
  out.TextOrNull("why_not", row.why_not);
}

void WriteSharing(Writer& out, const advice::recommend::SharingAdvice& sharing) {
  out.Field("advice", sharing.advice);
  WriteTold(out, "speed_of_two", sharing.twice);
  out.Field("two_fit", sharing.twice_fit);
  out.Field("neighbours", sharing.neighbours);
  out.Field("good_neighbours", sharing.good);
  out.List("best_neighbours", sharing.best, [&](const auto& beside) {
    out.Object([&] {
      out.Field("workload", beside.name);
      out.Field("speed", beside.speed);
      out.Field("speed_of_other", beside.others);
    });
  });
}

}  // namespace

std::string RecommendationText(const Recommendation& answer, std::size_t width) {
  std::string text = fmt::format("{}, for {}{}\n\n", answer.model, NameOf(answer.goal),
                                 answer.workload.empty() || answer.workload == answer.model
                                     ? ""
                                     : fmt::format(" (measured as {})", answer.workload));
  text += ChoicesText(answer, width) + "\n";
  Table figures({{"", Align::kLeft},
                 {"median", Align::kRight},
                 {"5 %", Align::kRight},
                 {"95 %", Align::kRight},
                 {"source", Align::kLeft}});
  for (const Entry& entry : FiguresOf(answer)) {
    if (!entry.told) {
      figures.Row({entry.words, "unknown", kUnknown, kUnknown, kUnknown});
      continue;
    }
    figures.Row({entry.words, entry.show(entry.told->median),
                 Or(entry.told->KnownLow(), entry.show), Or(entry.told->KnownHigh(), entry.show),
                 std::string(core::NameOf(entry.told->source))});
  }
  text += figures.Text() + BatchesText(answer) + GpusText(answer, width) + "\n" +
          NeighboursText(answer, width);
  for (const std::string& remark : answer.remarks) text += Wrapped(remark, width, 0) + "\n";
  return text;
}

std::string RecommendationJson(const Recommendation& answer) {
  return JsonReport([&](Writer& out) {
    out.Field("model", answer.model);
    out.TextOrNull("measured_as", answer.workload);
    out.Field("measured_cells", answer.measured);
    out.Field("goal", NameOf(answer.goal));
    out.Object("recommendation", [&] {
      WriteCell(out, answer.cell);
      out.Field("share", answer.sharing.advice);
    });
    out.List("choices", answer.choices, [&](const Choice& choice) {
      out.Object([&] {
        out.Field("what", choice.what);
        out.Field("value", choice.value);
        out.Field("source", core::NameOf(choice.source));
        out.Field("from", choice.from);
        out.Field("why", choice.why);
      });
    });
    out.Object("figures", [&] {
      for (const Entry& entry : FiguresOf(answer)) WriteTold(out, entry.key, entry.told);
    });
    out.Object("batches", [&] {
      out.Field("largest_that_fits", answer.batches.largest);
      WriteTold(out, "gpu_memory_bytes", answer.batches.memory);
      for (const Goal goal : advice::recommend::kGoals) {
        out.Field(fmt::format("best_for_{}", NameOf(goal)),
                  answer.batches.best[static_cast<std::size_t>(goal)]);
      }
    });
    out.List("gpus", answer.gpus,
             [&](const GpuAdvice& row) { out.Object([&] { WriteGpu(out, row); }); });
    out.Object("sharing", [&] { WriteSharing(out, answer.sharing); });
    out.Field("remarks", answer.remarks);
  });
}

}  // namespace sharewell::report
