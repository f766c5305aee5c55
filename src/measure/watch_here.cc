#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "collect/environment.h"
#include "collect/gpu/gpus.h"
#include "collect/registry.h"
#include "measure/watch.h"

namespace sharewell::measure {
namespace {

constexpr const char* kRoot = "/";
constexpr std::size_t kMostAsked = 64;  // processes of one job that are looked into

// Several of one model as "8 x NVIDIA H200".
void AddGpuFacts(Facts& facts) {
  const auto gpus = collect::FindGpus(collect::GivenNvmlLibrary());
  if (!gpus) return;
  std::vector<std::pair<std::string, int>> models;
  for (const collect::GpuFacts& gpu : *gpus) {
    const auto same = std::find_if(models.begin(), models.end(),
                                   [&](const auto& model) { return model.first == gpu.name; });
    if (same == models.end()) {
      models.emplace_back(gpu.name, 1);
    } else {
      ++same->second;
    }
  }
  std::string text;
  for (const auto& [name, count] : models) {
    if (!text.empty()) text += ", ";
    text += count == 1 ? name : fmt::format("{} x {}", count, name);
  }
  facts.emplace_back("gpu", text);
  const collect::GpuFacts& first = gpus->front();
  if (first.memory.value > 0) {
    facts.emplace_back("gpu memory", fmt::format("{:.1f} GB", first.memory.value * 1e-9));
  }
  if (!first.driver.empty()) facts.emplace_back("driver", first.driver);
  if (!first.cuda.empty()) facts.emplace_back("driver cuda", first.cuda);
}

// Of the process that has most to tell: the one with the framework, not the shell around it.
Facts JobFacts(const std::vector<int>& pids) {
  Facts best;
  for (std::size_t i = 0; i < std::min(pids.size(), kMostAsked); ++i) {
    Facts facts = collect::FrameworkFacts(kRoot, pids[i]);
    if (facts.size() > best.size()) best = std::move(facts);
  }
  return best;
}

}  // namespace

WatchOptions WatchHere() {
  WatchOptions options;
  std::error_code error;
  const auto folder = std::filesystem::current_path(error);
  options.environment = collect::MachineFacts(kRoot, error ? "" : folder.string());
  AddGpuFacts(options.environment);
  options.job_facts = JobFacts;
  options.collectors = [](collect::JobSource& jobs) {
    collect::CollectorOptions wanted;
    wanted.jobs = &jobs;
    wanted.nvml_library = collect::GivenNvmlLibrary();
    wanted.dcgm_library = collect::GivenDcgmLibrary();
    return collect::AllCollectors(wanted);
  };
  return options;
}

}  // namespace sharewell::measure
