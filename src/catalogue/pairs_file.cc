#include "catalogue/pairs_file.h"

#include <utility>

#include "catalogue/gavel_throughputs.h"
#include "catalogue/workload_columns.h"
#include "core/result.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"

namespace sharewell::catalogue {
namespace {

core::Result<core::Measurements> ReadPairs(std::string_view text, const std::string& name) {
  platform::CsvReader csv(text, name);
  const auto name_a = csv.Require("workload_a");
  const auto name_b = csv.Require("workload_b");
  const auto steps_a = csv.Require("steps_per_s_a");
  const auto steps_b = csv.Require("steps_per_s_b");
  const auto a = WorkloadColumns::Find(csv, "_a");
  const auto b = WorkloadColumns::Find(csv, "_b");
  const auto alone_a = csv.Find("alone_steps_per_s_a");
  const auto alone_b = csv.Find("alone_steps_per_s_b");
  const auto mps = csv.Find("mps");
  const auto gpu = csv.Find("gpu");

  core::Measurements measurements;
  while (csv.Next()) {
    core::PairMeasurement pair;
    csv.RequiredText(name_a);
    csv.RequiredText(name_b);
    pair.gpu = csv.Text(gpu);
    pair.a = a.Read(csv);
    pair.b = b.Read(csv);
    pair.steps_per_second_a = csv.Number(steps_a, {0, 1e12});
    pair.steps_per_second_b = csv.Number(steps_b, {0, 1e12});
    pair.alone_a = csv.OptionalNumber(alone_a, {0, 1e12, true});
    pair.alone_b = csv.OptionalNumber(alone_b, {0, 1e12, true});
    // Time slicing is another regime than MPS; the two must not be averaged.
    const bool taken = csv.Flag(mps, true);
    if ((pair.steps_per_second_a == 0) != (pair.steps_per_second_b == 0)) {
      csv.Fail(
          pair.steps_per_second_a == 0 ? steps_a : steps_b,
          "is 0 while the other one runs; both are 0 when the pair does not fit, else neither");
    }
    pair.fits = pair.steps_per_second_a > 0;
    if (taken) measurements.pairs.push_back(std::move(pair));
  }
  if (!csv.ok()) return csv.error();
  if (measurements.pairs.empty()) {
    return core::UsageError("{}: holds no pair measured under MPS (mps = 1)", name);
  }
  return measurements;
}

}  // namespace

core::Result<core::Measurements> ReadPairs(const std::string& path) {
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  return ReadPairsText(file->text(), path);
}

core::Result<core::Measurements> ReadPairsText(std::string_view text, const std::string& name) {
  const auto first = text.substr(0, 4096).find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string_view::npos && text[first] == '{') {
    return ReadGavelThroughputs(text, name);
  }
  return ReadPairs(text, name);
}

}  // namespace sharewell::catalogue
