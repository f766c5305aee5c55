#include "catalogue/workload_mix.h"

#include <algorithm>
#include <utility>

#include "catalogue/workload_columns.h"
#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"

namespace sharewell::catalogue {
namespace {

constexpr std::string_view kCatalogue = "catalogue", kBusy = "busy:";
constexpr double kMostWeight = 1e9;

}  // namespace

core::Result<WorkloadMix> ReadMixText(std::string_view text, const std::string& name) {
  platform::CsvReader csv(text, name);
  const auto workload = csv.Require("workload");
  const auto weight = csv.Require("weight");
  const auto columns = WorkloadColumns::Find(csv);
  WorkloadMix mix;
  mix.given = name;
  while (csv.Next()) {
    MixPart part;
    part.line = csv.line();
    csv.RequiredText(workload);
    part.workload = columns.Read(csv);
    part.weight = csv.Number(weight, {0, kMostWeight, true});
    if (!csv.ok()) break;
    const bool twice = std::any_of(mix.parts.begin(), mix.parts.end(), [&](const MixPart& other) {
      return other.workload == part.workload;
    });
    if (twice) csv.Fail(workload, "stands in a row above; give each workload one weight");
    mix.parts.push_back(std::move(part));
  }
  if (!csv.ok()) return csv.error();
  if (mix.parts.empty()) {
    return core::UsageError("{}: names no workload; give one row for each, with its weight", name);
  }
  return mix;
}

core::Result<WorkloadMix> ReadMix(const std::string& given) {
  if (given == kCatalogue) return WorkloadMix();
  if (given.starts_with(kBusy)) {
    const auto busy = core::ParseNumber("busy", given.substr(kBusy.size()), 0.001, 1);
    if (!busy) {
      return core::UsageError(
          "--mix: {} is not allowed; busy: goes with a share of the GPU from 0.001 to 1, as in "
          "busy:0.4",
          core::Quoted(given));
    }
    WorkloadMix mix;
    mix.given = given;
    mix.busy = *busy;
    return mix;
  }
  const auto file = platform::MappedFile::Open(given);
  if (!file) {
    return core::UsageError(
        "--mix: {}; give catalogue, busy:0.4, or a file of workloads with weights "
        "(docs/formats/workload-mix.md)",
        file.error().message);
  }
  return ReadMixText(file->text(), given);
}

}  // namespace sharewell::catalogue
