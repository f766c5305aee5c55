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

using study::recommend::Choice;
using study::recommend::Goal;
using study::recommend::GpuAdvice;
using study::recommend::Recommendation;

constexpr std::size_t kShownGpus = 6;
constexpr std::size_t kWidth = 100;

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

std::string ChoicesText(const Recommendation& answer) {
  Table table({{"", Align::kLeft}, {"", Align::kLeft}, {"source", Align::kLeft}});
  for (const Choice& choice : answer.choices) {
    table.Row({std::string(LabelOf(choice.what)), choice.value, SourceOf(choice)});
  }
  std::string text = table.Text() + "\nwhy\n";
  for (const Choice& choice : answer.choices) {
    const std::string label = fmt::format("  {:<15}", LabelOf(choice.what));
    text += label + Wrapped(choice.why, kWidth, label.size(), label.size()) + "\n";
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
  for (const Goal goal : study::recommend::kGoals) {
    const auto& best = batches.best[static_cast<std::size_t>(goal)];
    text += fmt::format("  best for {:<11} {}\n", NameOf(goal),
                        best ? fmt::format("{}", *best) : std::string("unknown"));
  }
  return text;
}

std::string GpusText(const Recommendation& answer) {
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
    text += Wrapped(fmt::format("{}: {}.", gpus, why), kWidth, 0) + "\n";
  }
  return text;
}

std::string NeighboursText(const Recommendation& answer) {
  std::string text;
  for (const auto& beside : answer.sharing.best) {
    text += fmt::format("{}{} (keeps {:.0f} %, the other {:.0f} %)", text.empty() ? "" : ", ",
                        beside.name, 100 * beside.speed, 100 * beside.others);
  }
  return text.empty() ? "" : Wrapped("Good neighbours: " + text + ".", kWidth, 0) + "\n";
}

Json ToldJson(const std::optional<core::Estimated<>>& told) {
  if (!told) return nullptr;
  return {{"p50", told->median},
          {"p05", OrNull(told->KnownLow())},
          {"p95", OrNull(told->KnownHigh())},
          {"source", core::NameOf(told->source)}};
}

Json CellJson(const study::recommend::Cell& cell) {
  return {{"gpu", cell.setting.gpu},
          {"precision", cell.setting.precision},
          {"batch", cell.setting.batch},
          {"workers", cell.setting.workers},
          {"cpu_cores", OrNull(cell.setting.cores)},
          {"source", core::NameOf(cell.samples.source)},
          {"from", cell.from}};
}

Json CountOrNull(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string RecommendationText(const Recommendation& answer) {
  std::string text = fmt::format("{}, for {}{}\n\n", answer.model, NameOf(answer.goal),
                                 answer.workload.empty() || answer.workload == answer.model
                                     ? ""
                                     : fmt::format(" (measured as {})", answer.workload));
  text += ChoicesText(answer) + "\n";
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
  text += figures.Text() + BatchesText(answer) + GpusText(answer) + "\n" + NeighboursText(answer);
  for (const std::string& remark : answer.remarks) text += Wrapped(remark, kWidth, 0) + "\n";
  return text;
}

std::string RecommendationJson(const Recommendation& answer) {
  Json json;
  json["schema"] = kSchema;
  json["model"] = answer.model;
  json["measured_as"] = answer.workload.empty() ? Json(nullptr) : Json(answer.workload);
  json["measured_cells"] = answer.measured;
  json["goal"] = NameOf(answer.goal);
  json["recommendation"] = CellJson(answer.cell);
  json["recommendation"]["share"] = answer.sharing.advice;
  json["choices"] = Json::array();
  for (const Choice& choice : answer.choices) {
    json["choices"].push_back({{"what", choice.what},
                               {"value", choice.value},
                               {"source", core::NameOf(choice.source)},
                               {"from", choice.from},
                               {"why", choice.why}});
  }
  json["figures"] = Json::object();
  for (const Entry& entry : FiguresOf(answer)) json["figures"][entry.key] = ToldJson(entry.told);
  json["batches"] = {{"largest_that_fits", CountOrNull(answer.batches.largest)},
                     {"gpu_memory_bytes", ToldJson(answer.batches.memory)}};
  for (const Goal goal : study::recommend::kGoals) {
    json["batches"]["best_for_" + std::string(NameOf(goal))] =
        CountOrNull(answer.batches.best[static_cast<std::size_t>(goal)]);
  }
  json["gpus"] = Json::array();
  for (const GpuAdvice& row : answer.gpus) {
    Json gpu = {{"gpu", row.gpu},
                {"learnt", row.learnt},
                {"cell", row.cell ? CellJson(*row.cell) : Json(nullptr)},
                {"samples_per_second",
                 ToldJson(row.cell ? std::optional(row.cell->samples) : std::nullopt)},
                {"energy_joules_per_sample", ToldJson(row.joules)},
                {"cost_per_million_samples", ToldJson(row.cost)},
                {"samples_per_second_of_two", ToldJson(row.shared)},
                {"why_not", row.why_not.empty() ? Json(nullptr) : Json(row.why_not)}};
    json["gpus"].push_back(std::move(gpu));
  }
  const auto& sharing = answer.sharing;
  json["sharing"] = {{"advice", sharing.advice},
                     {"speed_of_two", ToldJson(sharing.twice)},
                     {"two_fit", sharing.twice_fit ? Json(*sharing.twice_fit) : Json(nullptr)},
                     {"neighbours", sharing.neighbours},
                     {"good_neighbours", sharing.good},
                     {"best_neighbours", Json::array()}};
  for (const auto& beside : sharing.best) {
    json["sharing"]["best_neighbours"].push_back(
        {{"workload", beside.name}, {"speed", beside.speed}, {"speed_of_other", beside.others}});
  }
  json["remarks"] = answer.remarks;
  return Document(json);
}

}  // namespace sharewell::report
