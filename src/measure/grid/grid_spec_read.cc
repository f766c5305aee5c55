#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/result.h"
#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "measure/grid/grid_spec.h"
#include "measure/grid/grid_spec_table.h"
#include "measure/grid/grid_spec_template.h"
#include "platform/files/mapped_file.h"

namespace sharewell::measure {
namespace {

using catalogue::TomlTable;
using core::Quoted;

constexpr std::size_t kMostRuns = 1000;
constexpr std::size_t kMostAxes = 30;
constexpr std::size_t kMostValues = 10'000;
constexpr std::size_t kMostArguments = 1000;
constexpr std::size_t kMostRules = 1000;
// A command with all its values put in: beyond it the kernel would refuse it anyway.
constexpr std::size_t kLongestCommand = 128 * 1024;

const Axis* FindAxis(const RunTemplate& run, std::string_view name) {
  const auto at = std::find_if(run.axes.begin(), run.axes.end(),
                               [&](const Axis& axis) { return axis.name == name; });
  return at == run.axes.end() ? nullptr : &*at;
}

std::vector<std::string> NamesOf(const RunTemplate& run) {
  std::vector<std::string> names;
  for (const Axis& axis : run.axes) names.push_back(axis.name);
  return names;
}

// What is wrong with the template, or nothing. Adds the most bytes it may become to `longest`.
std::string CheckTemplate(const RunTemplate& run, std::string_view text, std::size_t& longest) {
  std::string unknown;
  const auto problem = ForEachPart(
      text, [&](std::string_view literal) { longest += literal.size(); },
      [&](std::string_view name) {
        const Axis* axis = FindAxis(run, name);
        if (axis == nullptr) {
          if (unknown.empty()) unknown = name.empty() ? "{}" : name;
          return;
        }
        std::size_t most = 0;
        for (const AxisValue& value : axis->values) most = std::max(most, value.text.size());
        longest += most;
      });
  if (!problem.empty()) return fmt::format("{} {}", Quoted(text), problem);
  if (unknown.empty()) return {};
  const auto names = NamesOf(run);
  return fmt::format("{} names {}, which is no axis; the axes are {}{}", Quoted(text),
                     Quoted(unknown),
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                     core::DidYouMean(unknown, names));
}

std::optional<std::string> WholeNumberProblem(const RunTemplate& run, const char* what,
                                              const std::string& text, double most) {
  const auto whole = [&](const AxisValue& value) {
    return value.number && *value.number >= 0 && *value.number <= most &&
           std::floor(*value.number) == *value.number;
  };
  if (text.empty()) return std::nullopt;
  if (text.size() > 2 && text.front() == '{' && text.back() == '}') {
    const Axis* axis = FindAxis(run, std::string_view(text).substr(1, text.size() - 2));
    if (axis != nullptr && std::all_of(axis->values.begin(), axis->values.end(), whole)) {
      return std::nullopt;
    }
  } else if (text.size() < 10 &&
             std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  return fmt::format(
      "workload {} must be a whole number, or {{axis}} of an axis that has only such", what);
}

// Axes that mean something must hold what can be applied.
void CheckMeaning(TomlTable& table, const toml::node& node, const Axis& axis) {
  const auto all = [&](double least, double most) {
    return std::all_of(axis.values.begin(), axis.values.end(), [&](const AxisValue& value) {
      return value.number && *value.number >= least && *value.number <= most &&
             std::floor(*value.number) == *value.number;
    });
  };
  if ((axis.name == "cpus" || axis.name == "threads") && !all(1, 65536)) {
    table.FailAt(node, fmt::format("axis {} must hold whole numbers from 1 on", axis.name));
  }
  if (axis.name == "gpus" && !all(0, 1024)) {
    table.FailAt(node, "axis gpus must hold whole numbers from 0 to 1024");
  }
  if (axis.name == "memory") {
    for (const AxisValue& value : axis.values) {
      if (core::ParseMemory(value.text)) continue;
      table.FailAt(node, fmt::format("axis memory: {} is no size; write \"8GB\" or \"512MiB\"",
                                     Quoted(value.text)));
    }
  }
}

void ReadAxes(TomlTable& table, std::vector<Axis>& axes) {
  const toml::table* given = table.Table("axes");
  if (given == nullptr) return;
  TomlTable inner(*given, table.file(), "[axes]", table.error());
  for (const auto& [name, node] : inner.InOrder()) {
    Axis axis{name, {}};
    if (!IsPlainName(name)) {
      inner.FailAt(*node, fmt::format("{} is no name of an axis; use letters, digits, '_', '-'",
                                      Quoted(name)));
      return;
    }
    const toml::array* list = node->as_array();
    const std::size_t count = list != nullptr ? list->size() : 1;
    if (count == 0 || count > kMostValues) {
      inner.FailAt(*node, fmt::format("axis {} must have 1 to {} values", name, kMostValues));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const toml::node& entry = list != nullptr ? *list->get(i) : *node;
      auto value = ToAxisValue(entry);
      if (!value) {
        inner.FailAt(entry, fmt::format("axis {} must hold texts, numbers, true or false, each at "
                                        "most 1000 characters",
                                        name));
        return;
      }
      if (std::find(axis.values.begin(), axis.values.end(), *value) != axis.values.end()) {
        inner.FailAt(entry, fmt::format("axis {} has {} twice", name, Quoted(value->text)));
        return;
      }
      axis.values.push_back(*std::move(value));
    }
    CheckMeaning(inner, *node, axis);
    const auto same = std::find_if(axes.begin(), axes.end(),
                                   [&](const Axis& other) { return other.name == axis.name; });
    if (same != axes.end()) {
      *same = std::move(axis);
    } else if (axes.size() < kMostAxes) {
      axes.push_back(std::move(axis));
    } else {
      inner.FailAt(*node, fmt::format("a sweep has at most {} axes", kMostAxes));
    }
  }
}

void ReadSkip(TomlTable& table, std::vector<SkipRule>& skip) {
  const toml::array* rules = table.Array("skip");
  if (rules == nullptr) return;
  for (const toml::node& entry : *rules) {
    const toml::table* rule = entry.as_table();
    if (rule == nullptr || rule->empty() || skip.size() >= kMostRules) {
      table.FailAt(entry, "skip must hold tables like { model = \"vgg16\", cpus = [1, 2] }");
      return;
    }
    SkipRule read;
    for (const auto& [axis, node] :
         TomlTable(*rule, table.file(), "skip", table.error()).InOrder()) {
      const toml::array* list = node->as_array();
      std::vector<AxisValue> values;
      for (std::size_t i = 0; i < (list != nullptr ? list->size() : 1); ++i) {
        auto value = ToAxisValue(list != nullptr ? *list->get(i) : *node);
        if (!value) {
          table.FailAt(*node, fmt::format("skip: {} must be a value of that axis or a list of them",
                                          Quoted(axis)));
          return;
        }
        values.push_back(*std::move(value));
      }
      read.emplace_back(axis, std::move(values));
    }
    skip.push_back(std::move(read));
  }
}

// What can stand at the top, for all runs, as well as in [[runs]].
void ReadRun(TomlTable& table, RunTemplate& run) {
  if (auto command = table.Texts("command", kMostArguments)) run.command = *std::move(command);
  ReadEnvironment(table, run.environment);
  ReadAxes(table, run.axes);
  ReadSkip(table, run.skip);
  ReadWorkload(table, run.workload);
  ReadMeasuring(table, run.measuring);
}

// What can be known only once top and [[runs]] are put together.
void CheckRun(TomlTable& table, RunTemplate& run, const std::string& name) {
  if (run.command.empty() || run.command.front().empty()) {
    table.Fail("command", "no command is given; add `command = [\"python3\", \"train.py\"]`");
    return;
  }
  // An axis that is called like a fact of the workload is that fact.
  const auto by_axis = [&](std::string& fact, const char* axis) {
    if (fact.empty() && FindAxis(run, axis) != nullptr) fact = fmt::format("{{{}}}", axis);
  };
  if (run.workload.name.empty()) {
    run.workload.name = FindAxis(run, "model") != nullptr ? "{model}" : name;
  }
  by_axis(run.workload.batch, "batch");
  by_axis(run.workload.precision, "precision");
  by_axis(run.workload.workers, "workers");
  std::size_t longest = 0;
  const auto check = [&](const char* key, const std::string& text) {
    if (const auto problem = CheckTemplate(run, text, longest); !problem.empty()) {
      table.Fail(key, fmt::format("{}: {}", key, problem));
    }
  };
  for (const std::string& argument : run.command) check("command", argument);
  for (const auto& [variable, value] : run.environment) check("environment", value);
  check("workload", run.workload.name);
  check("workload", run.workload.precision);
  if (longest > kLongestCommand) {
    table.Fail("command",
               "command and environment become longer than 128 KiB with the longest "
               "values put in; shorten them");
  }
  for (const auto& [what, text, most] : {std::tuple("batch", run.workload.batch, 1e9),
                                         std::tuple("workers", run.workload.workers, 1e6)}) {
    if (const auto problem = WholeNumberProblem(run, what, text, most)) {
      table.Fail("workload", *problem);
    }
  }
  for (const SkipRule& rule : run.skip) {
    for (const auto& [axis, values] : rule) {
      if (FindAxis(run, axis) != nullptr) continue;
      table.Fail("skip", fmt::format("skip: {} is no axis{}", Quoted(axis),
                                     core::DidYouMean(axis, NamesOf(run))));
    }
  }
}

std::vector<std::string> RunKeys() {
  std::vector<std::string> keys = {"command", "environment", "axes", "skip", "workload"};
  keys.insert(keys.end(), MeasuringKeys().begin(), MeasuringKeys().end());
  return keys;
}

void ReadRuns(TomlTable& top, const RunTemplate& shared, SweepSpec& spec) {
  const toml::array* runs = top.Array("runs");
  if (runs == nullptr) {
    spec.runs.push_back(shared);
    CheckRun(top, spec.runs.back(), spec.name);
    return;
  }
  for (const toml::node& entry : *runs) {
    const toml::table* table = entry.as_table();
    if (table == nullptr || spec.runs.size() >= kMostRuns) {
      top.FailAt(entry,
                 fmt::format("runs must be tables: write [[runs]], at most {} times", kMostRuns));
      return;
    }
    TomlTable inner(*table, top.file(), "[[runs]]", top.error());
    inner.AllowOnly(RunKeys());
    RunTemplate run = shared;
    ReadRun(inner, run);
    if (top.error()) return;
    CheckRun(inner, run, spec.name);
    spec.runs.push_back(std::move(run));
  }
  if (spec.runs.empty()) top.Fail("runs", "runs is empty; add a [[runs]] with a command");
}

// At most kMostCells, whatever the rules leave out: they are looked at cell by cell.
bool TooMany(const SweepSpec& spec) {
  std::size_t all = 0;
  for (const RunTemplate& run : spec.runs) {
    std::size_t cells = 1;
    for (const Axis& axis : run.axes) {
      if (cells > kMostCells / axis.values.size()) return true;
      cells *= axis.values.size();
    }
    all += cells;
    if (all > kMostCells) return true;
  }
  return false;
}

}  // namespace

core::Result<SweepSpec> ReadSweepSpec(const std::string& path) {
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  return ReadSweepSpecText(file->text(), path);
}

core::Result<SweepSpec> ReadSweepSpecText(std::string_view text, const std::string& name) {
  const auto root = catalogue::ParseToml(text, name);
  RETURN_IF_ERROR(root);
  std::optional<core::Error> error;
  TomlTable top(*root, name, "a sweep", error);
  std::vector<std::string> keys = RunKeys();
  keys.insert(keys.begin(), {"name", "runs"});
  top.AllowOnly(keys);
  SweepSpec spec;
  spec.name = top.Text("name").value_or("");
  if (!error && !IsPlainName(spec.name)) {
    top.Fail("name",
             "name must be given: at most 60 letters, digits, '_', '-' and '.', for a "
             "folder is called after it");
  }
  RunTemplate shared;
  ReadRun(top, shared);
  if (!error) ReadRuns(top, shared, spec);
  if (error) return tl::unexpected(*std::move(error));
  if (TooMany(spec)) {
    return core::UsageError(
        "{}: the axes make more than {} cells, the most we handle; split the "
        "sweep or drop values",
        name, kMostCells);
  }
  if (GridOf(spec).empty()) {
    return core::UsageError("{}: skip leaves no cell out of which to learn; drop a rule", name);
  }
  return spec;
}

}  // namespace sharewell::measure
