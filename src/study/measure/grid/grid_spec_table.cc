#include "study/measure/grid/grid_spec_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <exception>

#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::study {
namespace {

using core::Quoted;

constexpr std::size_t kLongestValue = 1000;
constexpr std::size_t kLongestExpression = 500;
constexpr std::size_t kMostVariables = 1000;

std::string NotThis(const std::optional<std::int64_t>& value) {
  return value ? fmt::format(", not {}", *value) : std::string();
}

}  // namespace

core::Result<toml::table> ParseSpec(std::string_view text, const std::string& name) {
  if (text.size() > kLargestSpec) {
    return core::UsageError("{}: is larger than 1 MiB, which no such file is", name);
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return core::UsageError("{}: is empty", name);
  }
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return core::UsageError("{}: line {}: not TOML: {}", name, error.source().begin.line,
                            error.description());
  } catch (const std::exception& error) {
    return core::FailedError("{}: cannot be read: {}", name, error.what());
  }
}

void SpecTable::AllowOnly(const std::vector<std::string>& keys) {
  for (const auto& [key, node] : InOrder()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    FailAt(*node, fmt::format("unknown key {} in {}; the keys are {}{}", Quoted(key), where_,
                              fmt::join(keys, ", "), core::DidYouMean(key, keys)));
  }
}

std::optional<std::int64_t> SpecTable::Integer(const char* key, std::int64_t least,
                                               std::int64_t most) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->value_exact<std::int64_t>();
  if (value && *value >= least && *value <= most) return value;
  FailAt(*node, fmt::format("{} must be a whole number from {} to {}{}", key, least, most,
                            NotThis(value)));
  return std::nullopt;
}

std::optional<core::Seconds> SpecTable::Time(const char* key, double least, double most) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (value && *value >= least && *value <= most) return core::Seconds(*value);
  FailAt(*node, fmt::format("{} must be a number of seconds from {} to {}", key, least, most));
  return std::nullopt;
}

std::optional<std::optional<core::Seconds>> SpecTable::SecondsOr(const char* key, const char* word,
                                                                 double most) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto text = node->value_exact<std::string>(); text && *text == word) {
    return std::optional<core::Seconds>();
  }
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (value && *value >= 0.1 && *value <= most) return std::optional(core::Seconds(*value));
  FailAt(*node,
         fmt::format("{} must be \"{}\" or a number of seconds from 0.1 to {}", key, word, most));
  return std::nullopt;
}

std::optional<std::string> SpecTable::Text(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  auto value = node->value_exact<std::string>();
  if (value && !value->empty()) return value;
  FailAt(*node, fmt::format("{} must be a text in quotes, not empty", key));
  return std::nullopt;
}

std::optional<bool> SpecTable::Flag(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  auto value = node->value_exact<bool>();
  if (!value) FailAt(*node, fmt::format("{} must be true or false", key));
  return value;
}

std::optional<std::string> SpecTable::TextOrNumber(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto number = node->value_exact<std::int64_t>()) return fmt::format("{}", *number);
  return Text(key);
}

std::optional<std::vector<std::string>> SpecTable::Texts(const char* key, std::size_t most) {
  const toml::array* list = Array(key);
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> out;
  for (const toml::node& entry : *list) {
    auto text = entry.value_exact<std::string>();
    if (!text || out.size() == most || text->find('\0') != std::string::npos) {
      FailAt(entry,
             fmt::format("{} must be a list of at most {} texts: [\"python3\", \"train.py\"]", key,
                         most));
      return std::nullopt;
    }
    out.push_back(*std::move(text));
  }
  return out;
}

const toml::table* SpecTable::Table(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) FailAt(*node, fmt::format("{} must be a table: write [{}]", key, key));
  return node->as_table();
}

const toml::array* SpecTable::Array(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_array()) FailAt(*node, fmt::format("{} must be a list: [ ... ]", key));
  return node->as_array();
}

void SpecTable::Fail(const char* key, const std::string& problem) {
  const toml::node* node = table_.get(key);
  FailLine(node != nullptr ? node->source().begin.line : table_.source().begin.line, problem);
}

void SpecTable::FailAt(const toml::node& node, const std::string& problem) {
  FailLine(node.source().begin.line, problem);
}

void SpecTable::FailLine(toml::source_index line, const std::string& problem) {
  if (error_) return;
  error_ = core::Error{core::ErrorKind::kUsage,
                       fmt::format("{}: line {}: {}", file_, std::max<unsigned>(1, line), problem)};
}

std::vector<std::pair<std::string, const toml::node*>> SpecTable::InOrder() const {
  struct Entry {
    toml::source_position at;
    std::string key;
    const toml::node* node;
  };
  std::vector<Entry> entries;
  for (const auto& [key, node] : table_) {
    entries.push_back({key.source().begin, std::string(key.str()), &node});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  std::vector<std::pair<std::string, const toml::node*>> out;
  out.reserve(entries.size());
  for (Entry& entry : entries) out.emplace_back(std::move(entry.key), entry.node);
  return out;
}

const std::vector<std::string>& MeasuringKeys() {
  static const std::vector<std::string> keys = {"seconds",        "warmup",    "interval",
                                                "at_most",        "repeat",    "throughput",
                                                "progress_regex", "rate_regex"};
  return keys;
}

void ReadMeasuring(SpecTable& table, Measuring& measuring) {
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

void ReadEnvironment(SpecTable& table,
                     std::vector<std::pair<std::string, std::string>>& environment) {
  const toml::table* variables = table.Table("environment");
  if (variables == nullptr) return;
  SpecTable inner(*variables, table.file(), "[environment]", table.error());
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

void ReadWorkload(SpecTable& table, WorkloadTemplate& workload) {
  const toml::node* node = table.table().get("workload");
  if (node == nullptr) return;
  if (!node->is_table()) {
    if (const auto name = table.Text("workload")) workload.name = *name;
    return;
  }
  SpecTable inner(*node->as_table(), table.file(), "workload", table.error());
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

}  // namespace sharewell::study
