#include "study/train_model.h"

#include <algorithm>
#include <map>
#include <set>

#include "platform/files/companies_file.h"
#include "platform/files/csv.h"
#include "platform/files/interference_file.h"
#include "platform/files/mapped_file.h"
#include "platform/files/profiles_file.h"
#include "study/measured_companies.h"
#include "study/training_rows.h"

namespace sharewell::study {
namespace {

// The first file's row stands where a workload was measured twice.
core::Result<std::vector<core::Profile>> AllProfiles(const std::vector<std::string>& paths) {
  std::vector<core::Profile> out;
  std::set<core::Workload> seen;
  for (const std::string& path : paths) {
    auto read = platform::ReadProfiles(path);
    if (!read) return tl::unexpected(read.error());
    for (core::Profile& profile : *read) {
      if (seen.insert(profile.workload).second) out.push_back(std::move(profile));
    }
  }
  return out;
}

core::Result<std::vector<core::CompanyMeasurement>> ReadCompanies(
    const std::string& path, const std::map<core::Workload, double>& rates) {
  const auto mapped = platform::MappedFile::Open(path);
  if (!mapped) return tl::unexpected(mapped.error());
  const std::vector<std::string> header = platform::CsvHeader(mapped->text());
  if (std::find(header.begin(), header.end(), "workload_c") != header.end()) {
    return platform::ReadCompaniesText(mapped->text(), path);
  }
  const auto read = platform::ReadInterferenceText(mapped->text(), path);
  if (!read) return tl::unexpected(read.error());
  std::vector<core::CompanyMeasurement> out;
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
    if (!a) return tl::unexpected(a.error());
    const auto b = alone(pair.b, pair.alone_b);
    if (!b) return tl::unexpected(b.error());
    out.push_back({{pair.a, pair.b}, {pair.steps_per_second_a, pair.steps_per_second_b}, {*a, *b}});
  }
  return out;
}

core::Result<std::vector<predict::Company>> AllCompanies(const TrainAsk& ask) {
  const auto profiles = AllProfiles(ask.profiles);
  if (!profiles) return tl::unexpected(profiles.error());
  std::map<core::Workload, double> rates;
  for (const core::Profile& profile : *profiles) {
    if (profile.steps_per_second) rates.emplace(profile.workload, *profile.steps_per_second);
  }
  std::vector<core::CompanyMeasurement> measured;
  for (const std::string& path : ask.pairs) {
    auto read = ReadCompanies(path, rates);
    if (!read) return tl::unexpected(read.error());
    measured.insert(measured.end(), read->begin(), read->end());
  }
  return CompaniesOf(measured, *profiles);
}

}  // namespace

core::Result<TrainReport> TrainModel(const TrainAsk& ask, const platform::GpuCatalogue& catalogue) {
  const auto set = ReadTrainingSet(ask.profiles, catalogue);
  if (!set) return tl::unexpected(set.error());
  TrainReport report;
  report.rows = set->rows.size();
  report.without_graph = set->without_graph;
  std::set<std::string> families;
  for (const predict::Row& row : set->rows) families.insert(row.family);
  report.families = families.size();
  if (!ask.pairs.empty()) {
    const auto companies = AllCompanies(ask);
    if (!companies) return tl::unexpected(companies.error());
    report.companies = companies->size();
    auto together = predict::Together::Fit(*companies);
    if (!together) return tl::unexpected(together.error());
    report.trained.together = std::move(*together);
  }
  auto predictor = predict::Train(set->rows, {.progress = ask.progress});
  if (!predictor) return tl::unexpected(predictor.error());
  report.trained.predictor = std::move(*predictor);
  return report;
}

}  // namespace sharewell::study
