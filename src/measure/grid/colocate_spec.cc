#include "measure/grid/colocate_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/result.h"
#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "measure/grid/grid_spec_table.h"
#include "platform/files/mapped_file.h"

namespace sharewell::measure {
namespace {

using catalogue::TomlTable;
using core::Quoted;

constexpr std::size_t kMostWorkloads = 100;
constexpr std::size_t kMostWords = 1000;

std::optional<int> WholeOf(const std::string& text, int most) {
  if (text.empty()) return 0;
  if (text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return {};
  const int value = std::atoi(text.c_str());
  return value <= most ? std::optional(value) : std::nullopt;
}

void ReadFacts(TomlTable& table, ColocatedWorkload& out) {
  WorkloadTemplate facts;
  ReadWorkload(table, facts);
  out.workload.name = facts.name.empty() ? out.name : facts.name;
  out.workload.precision = facts.precision;
  const auto batch = WholeOf(facts.batch, 1'000'000'000);
  const auto workers = WholeOf(facts.workers, 1'000'000);
  if (!batch || !workers) {
    table.Fail("workload", "workload batch and workers must be whole numbers");
    return;
  }
  out.workload.batch = *batch;
  out.workload.workers = *workers;
}

std::optional<core::Bytes> ReadMemory(TomlTable& table) {
  const auto text = table.TextOrNumber("memory");
  if (!text) return std::nullopt;
  const auto memory = core::ParseMemory(*text);
  if (!memory) table.Fail("memory", "memory must be a size: \"8GB\", \"512MiB\"");
  return memory;
}

ColocatedWorkload ReadWorkloadTable(TomlTable& table, const ColocateSpec& spec) {
  table.AllowOnly({"name", "command", "environment", "workload", "cpus", "memory", "sm_percent",
                   "gpu", "numa_node", "throughput", "progress_regex", "rate_regex"});
  ColocatedWorkload out;
  out.name = table.Text("name").value_or("");
  if (!IsPlainName(out.name)) {
    table.Fail("name", "each [[workloads]] needs a name of letters, digits, '_', '-' and '.'");
  }
  for (const ColocatedWorkload& other : spec.workloads) {
    if (other.name == out.name) {
      table.Fail("name", fmt::format("two workloads are named {}; rename one", Quoted(out.name)));
    }
  }
  if (auto command = table.Texts("command", kMostWords)) out.command = *std::move(command);
  if (out.command.empty() || out.command.front().empty()) {
    table.Fail("command", "no command is given; add `command = [\"python3\", \"train.py\"]`");
  }
  ReadEnvironment(table, out.environment);
  ReadFacts(table, out);
  if (const auto cpus = table.Integer("cpus", 1, 65536)) out.cpus = static_cast<int>(*cpus);
  out.memory = ReadMemory(table);
  if (const auto share = table.Integer("sm_percent", 1, 100)) {
    out.sm_percent = static_cast<int>(*share);
    if (spec.mps == UseMps::kOff) {
      table.Fail("sm_percent", "shares of the SMs are kept by CUDA MPS, and mps is \"off\"");
    }
  }
  if (const auto gpu = table.Integer("gpu", 0, 1023)) out.gpu = static_cast<int>(*gpu);
  if (const auto node = table.Integer("numa_node", 0, 1023)) {
    out.numa_node = static_cast<int>(*node);
  }
  Measuring measuring = spec.measuring;
  ReadMeasuring(table, measuring);
  out.throughput = measuring.throughput;
  // Without a rate there is no speed.
  out.throughput.promised = true;
  if (out.throughput.kind == ThroughputSource::Kind::kNone) {
    table.Fail("throughput",
               fmt::format("{} would have no throughput, so that no speed could be told; let it "
                           "write a line a step to $SHAREWELL_PROGRESS, or give progress_regex",
                           Quoted(out.name)));
  }
  return out;
}

void ReadWorkloads(TomlTable& top, ColocateSpec& spec) {
  const toml::array* list = top.Array("workloads");
  if (list == nullptr || list->empty()) {
    top.Fail("workloads", "lists no workloads; begin each with [[workloads]]");
    return;
  }
  for (const toml::node& entry : *list) {
    const toml::table* table = entry.as_table();
    if (table == nullptr || spec.workloads.size() >= kMostWorkloads) {
      top.FailAt(entry,
                 fmt::format("workloads must be tables: write [[workloads]], at most {} times",
                             kMostWorkloads));
      return;
    }
    TomlTable inner(*table, top.file(), "[[workloads]]", top.error());
    spec.workloads.push_back(ReadWorkloadTable(inner, spec));
    if (top.error()) return;
  }
}

// All sets of `size`, in order; with_itself: one may be in a set several times.
void AddAll(ColocateSpec& spec, std::size_t size, bool with_itself) {
  std::vector<std::size_t> set;
  const auto extend = [&](const auto& self, std::size_t from) -> void {
    if (set.size() == size) {
      spec.sets.push_back(set);
      return;
    }
    for (std::size_t i = from; i < spec.workloads.size() && spec.sets.size() <= kMostCells; ++i) {
      set.push_back(i);
      self(self, with_itself ? i : i + 1);
      set.pop_back();
    }
  };
  extend(extend, 0);
}

void ReadSet(TomlTable& top, const toml::node& entry, ColocateSpec& spec) {
  std::vector<std::string> names;
  for (const ColocatedWorkload& workload : spec.workloads) names.push_back(workload.name);
  const toml::array* members = entry.as_array();
  std::vector<std::size_t> set;
  for (std::size_t i = 0; members != nullptr && i < members->size(); ++i) {
    const auto name = members->get(i)->value_exact<std::string>();
    const auto at = name ? std::find(names.begin(), names.end(), *name) : names.end();
    if (at == names.end()) {
      top.FailAt(entry, fmt::format("sets: {} is no workload{}", Quoted(name.value_or("that")),
                                    core::DidYouMean(name.value_or(""), names)));
      return;
    }
    set.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  if (set.size() < 2 || set.size() > kMostResidents || spec.sets.size() > kMostCells) {
    top.FailAt(entry, fmt::format("sets must hold lists of 2 to {} names: [[\"RN\", \"BERT\"]]",
                                  kMostResidents));
    return;
  }
  std::sort(set.begin(), set.end());
  spec.sets.push_back(std::move(set));
}

void ReadSets(TomlTable& top, ColocateSpec& spec) {
  const bool with_itself = top.Flag("with_itself").value_or(false);
  const toml::node* node = top.table().get("sets");
  const auto word =
      node == nullptr ? std::optional<std::string>("pairs") : node->value_exact<std::string>();
  if (word == "pairs" || word == "triples") {
    AddAll(spec, word == "pairs" ? 2 : 3, with_itself);
  } else if (node != nullptr && node->is_array()) {
    for (const toml::node& entry : *node->as_array()) ReadSet(top, entry, spec);
  } else {
    top.Fail("sets", "sets must be \"pairs\", \"triples\" or a list of lists of names");
  }
  if (spec.sets.empty()) {
    top.Fail("sets",
             "no set of at least two comes of this; name two workloads, or set with_itself");
  }
  if (spec.sets.size() > kMostCells) {
    top.Fail("sets", fmt::format("that makes more than {} sets, the most we handle", kMostCells));
  }
  std::set<std::vector<std::size_t>> seen;
  std::erase_if(spec.sets, [&](const auto& set) { return !seen.insert(set).second; });
}

}  // namespace

core::Result<ColocateSpec> ReadColocateSpec(const std::string& path) {
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  return ReadColocateSpecText(file->text(), path);
}

core::Result<ColocateSpec> ReadColocateSpecText(std::string_view text, const std::string& name) {
  const auto root = catalogue::ParseToml(text, name);
  RETURN_IF_ERROR(root);
  std::optional<core::Error> error;
  TomlTable top(*root, name, "a co-location", error);
  std::vector<std::string> keys = {"name", "workloads", "sets", "with_itself",
                                   "mps",  "again",     "cpus", "memory"};
  keys.insert(keys.end(), MeasuringKeys().begin(), MeasuringKeys().end());
  top.AllowOnly(keys);
  ColocateSpec spec;
  spec.name = top.Text("name").value_or("");
  if (!error && !IsPlainName(spec.name)) {
    top.Fail("name",
             "name must be given: at most 60 letters, digits, '_', '-' and '.', for a "
             "folder is called after it");
  }
  ReadMeasuring(top, spec.measuring);
  spec.again = top.Flag("again").value_or(false);
  if (const auto cpus = top.Integer("cpus", 1, 65536)) spec.cpus = static_cast<int>(*cpus);
  spec.memory = ReadMemory(top);
  if (const auto mps = top.Text("mps")) {
    if (*mps == "on")
      spec.mps = UseMps::kOn;
    else if (*mps == "off")
      spec.mps = UseMps::kOff;
    else if (*mps != "auto")
      top.Fail("mps", "mps must be \"auto\", \"on\" or \"off\"");
  }
  if (!error) ReadWorkloads(top, spec);
  if (!error) ReadSets(top, spec);
  if (error) return tl::unexpected(*std::move(error));
  return spec;
}

}  // namespace sharewell::measure
