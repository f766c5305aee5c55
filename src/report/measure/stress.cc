#include "report/measure/stress.h"

#include <fmt/format.h>

#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

std::string SignedPercent(core::Ratio share) { return fmt::format("{:+.2f} %", 100 * share); }
std::string FinePercent(core::Ratio share) { return fmt::format("{:.2f} %", 100 * share); }

void WriteRow(json::Writer& out, const StressRow& row) {
  out.Field("kind", row.kind);
  out.Field("unit", row.unit);
  out.Field("what", row.what);
  out.Field("target", row.target);
  out.Field("capacity", row.capacity);
  out.Field("capacity_spread_ratio", row.capacity_spread);
  out.Field("mean", row.mean);
  out.Field("error_ratio", row.error);
  out.Field("variation_ratio", row.variation);
  out.Field("largest_deviation_ratio", row.largest_deviation);
  out.Field("held", ValueIf(row.mean.has_value(), row.held));
  out.TextOrNull("why", row.why);
  out.Field("per_second", row.seconds);
}

}  // namespace

std::string StressLevel(const std::string& unit, double value) {
  if (unit == "cores") return Number(value, 2) + " cores";
  if (unit == "bytes") return Size(core::Bytes(value));
  const char* const names[] = {" B/s", " kB/s", " MB/s", " GB/s", " TB/s"};
  std::size_t power = 0;
  while (value >= 999.995 && power + 1 < std::size(names)) {
    value /= 1000;
    ++power;
  }
  return Number(value, power == 0 ? 0 : 2) + names[power];
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
  return JsonReport([&](json::Writer& out) {
    out.Field("asked_seconds", outcome.asked);
    out.Field("interrupted", outcome.interrupted);
    out.List("pressures", outcome.rows,
             [&](const StressRow& row) { out.Object([&] { WriteRow(out, row); }); });
  });
}

}  // namespace sharewell::report
