#include "research/train/train_model.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "advice/measured_groups.h"
#include "catalogue/groups_file.h"
#include "catalogue/pairs_file.h"
#include "catalogue/profiles_file.h"
#include "core/result.h"
#include "platform/files/mapped_file.h"
#include "research/train/operator_file.h"
#include "research/train/training_rows.h"

namespace sharewell::research {
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

// Our own CSV, with shares of the SMs where it has them, or Gavel's JSON.
core::Result<std::vector<catalogue::MeasuredGroup>> ReadGroups(const std::string& path) {
  const auto mapped = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(mapped);
  const auto first = mapped->text().find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos || mapped->text()[first] != '{') {
    return catalogue::ReadMeasuredGroups(mapped->text(), path);
  }
  const auto read = catalogue::ReadPairsText(mapped->text(), path);
  RETURN_IF_ERROR(read);
  std::vector<catalogue::MeasuredGroup> out;
  for (const core::PairMeasurement& pair : read->pairs) {
    if (!pair.fits) continue;
    catalogue::MeasuredGroup group(2);
    group[0].workload = pair.a;
    group[0].steps_per_second = pair.steps_per_second_a;
    group[0].alone = pair.alone_a;
    group[1].workload = pair.b;
    group[1].steps_per_second = pair.steps_per_second_b;
    group[1].alone = pair.alone_b;
    out.push_back(std::move(group));
  }
  return out;
}

core::Result<advice::MeasuredColocations> AllGroups(const TrainAsk& ask,
                                                    const predict::Predictor& predictor) {
  const auto profiles = AllProfiles(ask.profiles);
  RETURN_IF_ERROR(profiles);
  std::vector<catalogue::MeasuredGroup> measured;
  for (const std::string& path : ask.pairs) {
    auto read = ReadGroups(path);
    RETURN_IF_ERROR(read);
    auto known = advice::ColocationsOf(*read, *profiles);
    if (!known) return tl::unexpected(std::move(known.error()).Within(path));
    measured.insert(measured.end(), read->begin(), read->end());
  }
  return advice::ColocationsOf(measured, *profiles, &predictor);
}

}  // namespace

core::Result<TrainReport> TrainModel(const TrainAsk& ask,
                                     const catalogue::GpuCatalogue& catalogue) {
  auto set = ReadTrainingSet(ask.profiles, catalogue);
  RETURN_IF_ERROR(set);
  MergeRepeats(*set);
  TrainReport report;
  report.rows = set->rows.size();
  report.without_graph = set->without_graph;
  std::set<std::string> families;
  for (const predict::Row& row : set->rows) families.insert(row.family);
  report.families = families.size();
  predict::TrainOptions options;
  options.progress = ask.progress;
  options.refit = ask.refit || !ask.operators.empty();
  std::optional<predict::OperatorTable> operators;
  if (!ask.operators.empty()) {
    auto read = ReadOperatorFiles(ask.operators, catalogue);
    RETURN_IF_ERROR(read);
    operators = std::move(*read);
    options.operators = &*operators;
  }
  auto predictor = predict::Train(set->rows, options);
  RETURN_IF_ERROR(predictor);
  report.trained.predictor = std::move(*predictor);
  if (!ask.pairs.empty()) {
    const auto colocations = AllGroups(ask, report.trained.predictor);
    RETURN_IF_ERROR(colocations);
    report.groups = colocations->groups.size();
    report.groups_left_out = colocations->left_out;
    auto together = predict::ColocationModel::Fit(colocations->groups);
    RETURN_IF_ERROR(together);
    report.trained.together = std::move(*together);
    auto evaluated = EvaluatePairs(colocations->groups);
    RETURN_IF_ERROR(evaluated);
    report.speeds = *evaluated;
  }
  return report;
}

}  // namespace sharewell::research
