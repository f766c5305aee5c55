#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include "core/result.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"
#include "research/evaluate/evaluate_pairs.h"

namespace sharewell::research {
namespace {

constexpr std::string_view kBatch = " (batch size ";
constexpr std::string_view kSpreadOut = "_unconsolidated";

// A name without a batch is a model with one size only.
predict::NamedJob JobOf(std::string_view name, double rate) {
  predict::NamedJob job;
  job.rate = rate;
  const auto at = name.find(kBatch);
  job.model = name.substr(0, at);
  if (at != std::string_view::npos) {
    const auto digits = name.substr(at + kBatch.size());
    int batch = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), batch);
    if (error == std::errc() && batch > 0) job.batch = batch;
  }
  return job;
}

}  // namespace

core::Result<std::vector<NamedPair>> ReadNamedPairs(const std::string& path) {
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  platform::CsvReader csv(file->text(), path);
  const auto gpu = csv.Require("gpu");
  const auto job_a = csv.Require("job_a");
  const auto job_b = csv.Require("job_b");
  const auto scale_a = csv.Require("scale_a");
  const auto scale_b = csv.Require("scale_b");
  const auto alone_a = csv.Require("iso_a");
  const auto alone_b = csv.Require("iso_b");
  const auto speed_a = csv.Require("norm_a");
  const auto speed_b = csv.Require("norm_b");
  std::vector<NamedPair> out;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  while (csv.Next()) {
    NamedPair pair;
    pair.gpu = csv.RequiredText(gpu);
    std::string a(csv.RequiredText(job_a));
    std::string b(csv.RequiredText(job_b));
    pair.a = JobOf(a, csv.Number(alone_a, {0, 1e12}));
    pair.b = JobOf(b, csv.Number(alone_b, {0, 1e12}));
    pair.speed_a = std::min(1.0, csv.Number(speed_a, {0, 1e6}));
    pair.speed_b = std::min(1.0, csv.Number(speed_b, {0, 1e6}));
    const bool one_gpu = csv.Number(scale_a) == 1 && csv.Number(scale_b) == 1;
    const bool fits = pair.speed_a > 0 && pair.speed_b > 0;
    if (!one_gpu || !fits || pair.gpu.ends_with(kSpreadOut)) continue;
    if (b < a) std::swap(a, b);
    if (seen.emplace(pair.gpu, std::move(a), std::move(b)).second) out.push_back(std::move(pair));
  }
  if (!csv.ok()) return csv.error();
  return out;
}

}  // namespace sharewell::research
