#include "study/prediction/train_model.h"

#include <algorithm>
#include <map>
#include <set>

#include "catalogue/groups_file.h"
#include "catalogue/pairs_file.h"
#include "catalogue/profiles_file.h"
#include "core/result.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"
#include "study/prediction/measured_groups.h"
#include "study/prediction/training_rows.h"

namespace sharewell::study {
namespace {

// The first file's row stands where a workload was measured twice.
core::Result<std::vector<core::Profile>> AllProfiles(const std::vector<std::string>& paths) {
  std::vector<core::Profile> out;
  std::set<core::Workload> seen;
  for (const std::string& path : paths) {
    auto read = catalogue::ReadProfiles(path);
    RETURN_IF_ERROR(read);
    for (core::Profile& profile : *read) {
      if (seen.insert(profile.workload).second) out.push_back(std::move(profile));
    }
  }
  return out;
}

core::Result<std::vector<core::GroupMeasurement>> ReadGroups(
    const std::string& path, const std::map<core::Workload, double>& rates) {
  const auto mapped = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(mapped);
  const std::vector<std::string> header = platform::CsvHeader(mapped->text());
  if (std::find(header.begin(), header.end(), "workload_c") != header.end()) {
    return catalogue::ReadGroupsText(mapped->text(), path);
  }
  const auto read = catalogue::ReadPairsText(mapped->text(), path);
  RETURN_IF_ERROR(read);
  std::vector<core::GroupMeasurement> out;
  for (const core::PairMeasurement& pair : read->pairs) {
    if (!pair.fits) continue;
    const auto alone = [&](const core::Workload& workload,
                           const auto& given) -> core::Result<double> {
      if (given) return *given;
      const auto rate = rates.find(workload);
      if (rate != rates.end()) return rate->second;
      return core::UsageError(
          "{}: '{}' has no rate alone: add its row to the profiles, or columns "
          "alone_steps_per_s_a and _b",
          path, workload.name);
    };
    const auto a = alone(pair.a, pair.alone_a);
    RETURN_IF_ERROR(a);
    const auto b = alone(pair.b, pair.alone_b);
    RETURN_IF_ERROR(b);
    out.push_back({{pair.a, pair.b}, {pair.steps_per_second_a, pair.steps_per_second_b}, {*a, *b}});
  }
  return out;
}

core::Result<std::vector<predict::Colocation>> AllGroups(const TrainAsk& ask) {
  const auto profiles = AllProfiles(ask.profiles);
  RETURN_IF_ERROR(profiles);
  std::map<core::Workload, double> rates;
  for (const core::Profile& profile : *profiles) {
    if (profile.steps_per_second) rates.emplace(profile.workload, *profile.steps_per_second);
  }
  std::vector<core::GroupMeasurement> measured;
  for (const std::string& path : ask.pairs) {
    auto read = ReadGroups(path, rates);
    RETURN_IF_ERROR(read);
    measured.insert(measured.end(), read->begin(), read->end());
  }
  return ColocationsOf(measured, *profiles);
}

}  // namespace

core::Result<TrainReport> TrainModel(const TrainAsk& ask,
                                     const catalogue::GpuCatalogue& catalogue) {
  const auto set = ReadTrainingSet(ask.profiles, catalogue);
  RETURN_IF_ERROR(set);
  TrainReport report;
  report.rows = set->rows.size();
  report.without_graph = set->without_graph;
  std::set<std::string> families;
  for (const predict::Row& row : set->rows) families.insert(row.family);
  report.families = families.size();
  if (!ask.pairs.empty()) {
    const auto groups = AllGroups(ask);
    RETURN_IF_ERROR(groups);
    report.groups = groups->size();
    auto together = predict::ColocationModel::Fit(*groups);
    RETURN_IF_ERROR(together);
    report.trained.together = std::move(*together);
  }
  auto predictor = predict::Train(set->rows, {.progress = ask.progress});
  RETURN_IF_ERROR(predictor);
  report.trained.predictor = std::move(*predictor);
  return report;
}

}  // namespace sharewell::study
