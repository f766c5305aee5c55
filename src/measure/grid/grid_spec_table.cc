#include "measure/grid/grid_spec_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/text/quoted.h"

namespace sharewell::measure {
namespace {

using catalogue::TomlTable;
using core::Quoted;

constexpr std::size_t kLongestValue = 1000;
constexpr std::size_t kLongestExpression = 500;
constexpr std::size_t kMostVariables = 1000;

}  // namespace

const std::vector<std::string>& MeasuringKeys() {
  static const std::vector<std::string> keys = {"seconds",        "warmup",    "interval",
                                                "at_most",        "repeat",    "throughput",
                                                "progress_regex", "rate_regex"};
  return keys;
}

void ReadMeasuring(TomlTable& table, Measuring& measuring) {
  constexpr double kDay = 86400;
  if (const auto seconds = table.SecondsOr("seconds", "auto", kDay)) measuring.seconds = *seconds;
  if (const auto warmup = table.SecondsOr("warmup", "auto", kDay)) measuring.warmup = *warmup;
  if (const auto interval = table.Time("interval", 0.1, 60)) measuring.interval = *interval;
  if (const auto most = table.Time("at_most", 1, 7 * kDay)) measuring.at_most = *most;
  if (const auto repeat = table.Integer("repeat", 1, 100)) {
    measuring.repeat = static_cast<int>(*repeat);
  }
  if (const auto word = table.Text("throughput")) {
    if (*word == "progress") {
      measuring.throughput = {};
      measuring.throughput.promised = true;
    } else if (*word == "none") {
      measuring.throughput = {ThroughputSource::Kind::kNone, ""};
    } else {
      table.Fail("throughput", fmt::format("throughput must be \"progress\" or \"none\", not {}; "
                                           "for what the job prints give progress_regex",
                                           Quoted(*word)));
    }
  }
  for (const auto& [key, kind] : {std::pair("progress_regex", ThroughputSource::Kind::kSteps),
                                  std::pair("rate_regex", ThroughputSource::Kind::kRate)}) {
    const auto expression = table.Text(key);
    if (!expression) continue;
    if (expression->size() > kLongestExpression) {
      table.Fail(key, fmt::format("{} must have at most {} characters", key, kLongestExpression));
      return;
    }
    measuring.throughput = {kind, *expression};
    if (const auto ok = CheckExpression(measuring.throughput); !ok) {
      table.Fail(key, fmt::format("{}: {}", key, ok.error().message));
    }
  }
}

void ReadEnvironment(TomlTable& table,
                     std::vector<std::pair<std::string, std::string>>& environment) {
  const toml::table* variables = table.Table("environment");
  if (variables == nullptr) return;
  TomlTable inner(*variables, table.file(), "[environment]", table.error());
  for (const auto& [name, node] : inner.InOrder()) {
    const auto value = ToAxisValue(*node);
    if (!value || name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos ||
        environment.size() >= kMostVariables) {
      inner.FailAt(*node, fmt::format("environment: {} must be a text or a number, of a name "
                                      "without '=', and at most {} of them",
                                      Quoted(name), kMostVariables));
      return;
    }
    const auto same =
        std::find_if(environment.begin(), environment.end(),
                     [&, &wanted = name](const auto& e) { return e.first == wanted; });
    if (same != environment.end()) {
      same->second = value->text;
    } else {
      environment.emplace_back(name, value->text);
    }
  }
}

void ReadWorkload(TomlTable& table, WorkloadTemplate& workload) {
  const toml::node* node = table.table().get("workload");
  if (node == nullptr) return;
  if (!node->is_table()) {
    if (const auto name = table.Text("workload")) workload.name = *name;
    return;
  }
  TomlTable inner(*node->as_table(), table.file(), "workload", table.error());
  inner.AllowOnly({"name", "batch", "precision", "workers"});
  if (auto name = inner.Text("name")) workload.name = *std::move(name);
  if (auto batch = inner.TextOrNumber("batch")) workload.batch = *std::move(batch);
  if (auto precision = inner.Text("precision")) workload.precision = *std::move(precision);
  if (auto workers = inner.TextOrNumber("workers")) workload.workers = *std::move(workers);
}

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= 60 && name.front() != '-' && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
         });
}

std::optional<AxisValue> ToAxisValue(const toml::node& node) {
  AxisValue value;
  if (const auto text = node.value_exact<std::string>()) {
    value.text = *text;
  } else if (const auto whole = node.value_exact<std::int64_t>()) {
    value = {fmt::format("{}", *whole), static_cast<double>(*whole)};
  } else if (const auto real = node.value_exact<double>(); real && std::isfinite(*real)) {
    value = {fmt::format("{}", *real), *real};
  } else if (const auto flag = node.value_exact<bool>()) {
    value.text = *flag ? "true" : "false";
  } else {
    return std::nullopt;
  }
  if (value.text.size() > kLongestValue || value.text.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  return value;
}

}  // namespace sharewell::measure
