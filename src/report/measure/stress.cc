#include "report/measure/stress.h"

#include <fmt/format.h>

#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

std::string SignedPercent(core::Ratio share) { return fmt::format("{:+.2f} %", 100 * share); }
std::string FinePercent(core::Ratio share) { return fmt::format("{:.2f} %", 100 * share); }

Json StressRowJson(const StressRow& row) {
  Json out;
  out["kind"] = row.kind;
  out["unit"] = row.unit;
  out["what"] = row.what;
  out["target"] = row.target;
  out["capacity"] = row.capacity;
  out["capacity_spread_ratio"] = OrNull(row.capacity_spread);
  out["mean"] = OrNull(row.mean);
  out["error_ratio"] = OrNull(row.error);
  out["variation_ratio"] = OrNull(row.variation);
  out["largest_deviation_ratio"] = OrNull(row.largest_deviation);
  out["held"] = row.mean ? Json(row.held) : Json(nullptr);
  out["why"] = row.why.empty() ? Json(nullptr) : Json(row.why);
  out["per_second"] = row.seconds;
  return out;
}

}  // namespace

std::string StressLevel(const std::string& unit, double value) {
  if (unit == "cores") return Number(value, 2) + " cores";
  const char* const names[] = {" B", " kB", " MB", " GB", " TB"};
  std::size_t power = 0;
  while (value >= 999.995 && power + 1 < std::size(names)) {
    value /= 1000;
    ++power;
  }
  return Number(value, power == 0 ? 0 : 2) + names[power] + (unit == "bytes" ? "" : "/s");
}

std::string StressLine(std::size_t second, const std::vector<StressRow>& rows) {
  std::string line = fmt::format("{:>4} s", second + 1);
  for (const StressRow& row : rows) {
    if (second >= row.seconds.size()) continue;
    line += fmt::format("  {} {}", row.kind, StressLevel(row.unit, row.seconds[second]));
  }
  return line;
}

std::string StressTable(const StressOutcome& outcome) {
  Table table({{"pressure", Align::kLeft},
               {"target", Align::kRight},
               {"mean", Align::kRight},
               {"error", Align::kRight},
               {"steadiness", Align::kRight},
               {"largest", Align::kRight},
               {"seconds", Align::kRight},
               {"held", Align::kLeft}});
  std::string text;
  for (const StressRow& row : outcome.rows) {
    const auto level = [&](double value) { return StressLevel(row.unit, value); };
    table.Row({row.kind, level(row.target), Or(row.mean, level), Or(row.error, SignedPercent),
               Or(row.variation, FinePercent), Or(row.largest_deviation, FinePercent),
               std::to_string(row.seconds.size()),
               row.mean ? (row.held ? "yes" : "no") : kUnknown});
  }
  text += table.Text() + "\n";
  for (const StressRow& row : outcome.rows) {
    text +=
        fmt::format("{}: {}; 100 % is {}", row.kind, row.what, StressLevel(row.unit, row.capacity));
    if (row.capacity_spread) {
      text += fmt::format(", measured, repeats within {}", FinePercent(*row.capacity_spread));
    }
    text += "\n";
    if (!row.why.empty()) text += fmt::format("{} was not held: {}\n", row.kind, row.why);
  }
  text +=
      "Steadiness is the coefficient of variation of the seconds' means, largest the second "
      "farthest from\nthe mean. Held: within 5 % of the target, and steady within 3 %.\n";
  if (outcome.interrupted) text += "Interrupted before its time.\n";
  return text;
}

std::string StressJson(const StressOutcome& outcome) {
  Json json;
  json["schema"] = kSchema;
  json["asked_seconds"] = outcome.asked.value;
  json["interrupted"] = outcome.interrupted;
  json["pressures"] = Json::array();
  for (const StressRow& row : outcome.rows) json["pressures"].push_back(StressRowJson(row));
  return Document(json);
}

}  // namespace sharewell::report
