#include "research/reproduce/reproduce.h"

#include <utility>

#include "core/text/suggest.h"
#include "research/reproduce/checklist/checklist.h"
#include "research/reproduce/coda.h"
#include "research/reproduce/dube.h"
#include "research/reproduce/ryu.h"
#include "research/reproduce/takayama.h"
#include "research/reproduce/yeung.h"

namespace sharewell::research {
namespace {

struct Entry {
  std::string_view name;
  core::Result<Experiment> (*run)(const ReproduceOptions& options);
  std::vector<PaperItem> (*items)();
};

// In the seeds' order.
constexpr Entry kExperiments[] = {
    {"takayama", reproduce::Takayama, reproduce::TakayamaItems},
    {"yeung", reproduce::Yeung, reproduce::YeungItems},
    {"dube", reproduce::Dube, reproduce::DubeItems},
    {"coda", reproduce::Coda, reproduce::CodaItems},
    {"ryu", reproduce::Ryu, reproduce::RyuItems},
};

}  // namespace

std::vector<std::string_view> ExperimentNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kExperiments) names.push_back(entry.name);
  return names;
}

core::Result<Experiment> Reproduce(const std::string& name, const ReproduceOptions& options) {
  if (options.seeds < 1) return core::UsageError("seeds must be at least 1, not {}", options.seeds);
  if (!options.real.empty() && name != "yeung") {
    return core::UsageError("records of a real run belong to yeung alone, not to '{}'", name);
  }
  if (!options.part.empty() && name != "yeung") {
    return core::UsageError("--part goes with yeung alone, not with '{}'", name);
  }
  std::vector<std::string> names;
  for (const Entry& entry : kExperiments) {
    names.emplace_back(entry.name);
    if (entry.name != name) continue;
    auto experiment = entry.run(options);
    if (!experiment) return tl::unexpected(std::move(experiment.error()).Within(name));
    experiment->name = name;
    // With the paper's own experiment alone: another question about it has another table.
    if (!options.real.empty() || options.frontier || !options.part.empty()) return experiment;
    experiment->items = entry.items();
    RETURN_IF_ERROR(reproduce::FillAnswers(*experiment));
    return experiment;
  }
  std::string known;
  for (const auto& n : names) known += (known.empty() ? "" : ", ") + n;
  return core::UsageError("there is no experiment '{}', there are {}{}", name, known,
                          core::DidYouMean(name, names));
}

}  // namespace sharewell::research
