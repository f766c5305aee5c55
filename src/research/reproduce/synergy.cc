#include "research/reproduce/synergy.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "core/result.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"

namespace sharewell::research::reproduce {
namespace {

// Cores a GPU by CPU index, from 1. 9 repeats 8 at a count that the file does not tell.
constexpr std::array<double, 8> kCores{1, 2, 3, 4, 5, 6, 9, 12};

struct Grid {
  std::int64_t memory = -1;                        // largest index seen
  std::array<double, kCores.size()> throughput{};  // there; 0: not measured
};

}  // namespace

core::Result<std::vector<SynergyCurve>> ReadSynergy(std::string folder) {
  if (folder.empty()) {
    const char* root = std::getenv("SHAREWELL_TEST_DATA");
    folder = root != nullptr ? root : "../shared/data";
  }
  const auto path =
      (std::filesystem::path(folder) / "synergy" / "synergy_cpu_mem_sensitivity.csv").string();
  std::vector<SynergyCurve> out;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return out;
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);

  platform::CsvReader csv(file->text(), path);
  const auto model = csv.Require("model");
  const auto gpus = csv.Require("gpus");
  const auto cpu_index = csv.Require("cpu_index(1-based cores per unit)");
  const auto mem_index = csv.Require("mem_index");
  const auto throughput = csv.Require("norm_throughput");
  std::map<std::pair<std::string, int>, Grid> grids;
  while (csv.Next()) {
    Grid& grid =
        grids[{std::string(csv.RequiredText(model)), static_cast<int>(csv.Integer(gpus, 1, 1000))}];
    const auto cores = csv.Integer(cpu_index, 1, 9);
    const auto memory = csv.Integer(mem_index, 0, 100);
    const double value = csv.Number(throughput, platform::kNonNegative);
    if (!csv.ok() || cores > static_cast<std::int64_t>(kCores.size()) || memory < grid.memory)
      continue;
    if (memory > grid.memory) grid = {memory, {}};
    grid.throughput[static_cast<std::size_t>(cores - 1)] = value;
  }
  if (!csv.ok()) return csv.error();
  for (const auto& [key, grid] : grids) {
    SynergyCurve curve;
    curve.gpus = key.second;
    curve.profile.workload.name = fmt::format("synergy:{}x{}", key.first, key.second);
    curve.profile.gpu = "V100";
    auto& points = curve.profile.cpu_curve;
    for (std::size_t i = 0; i < kCores.size(); ++i) {
      if (grid.throughput[i] > 0) points.emplace_back(kCores[i], grid.throughput[i]);
    }
    if (points.empty()) continue;
    const double full = points.back().second;
    for (auto& [cores, share] : points) share /= full;
    curve.profile.cpu_cores = points.back().first;
    curve.profile.steps_per_second = 1;
    out.push_back(std::move(curve));
  }
  return out;
}

}  // namespace sharewell::research::reproduce
