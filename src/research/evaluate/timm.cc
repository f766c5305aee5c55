#include "research/evaluate/timm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "core/result.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"
#include "predict/learn/gaussian/cholesky.h"
#include "predict/learn/judge/metrics.h"
#include "predict/learn/model.h"

namespace sharewell::research {
namespace {

using platform::CsvReader;
namespace learn = predict::learn;

constexpr const char* kTrainFile = "benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv";
constexpr const char* kInferFile = "benchmark-infer-amp-nchw-pt113-cu117-rtx3090.csv";
constexpr platform::Range kAboveZero{0, 1e12, true};

std::string WithoutTag(std::string_view model) {
  return std::string(model.substr(0, model.find('.')));
}

std::string FamilyOf(const std::string& name) {
  const std::string family = name.substr(0, name.find_first_of("0123456789_"));
  return family.empty() ? name : family;
}

struct Counts {
  double image_size, gmacs, mega_activations;
};

// By model, in the file's order.
core::Result<std::map<std::string, std::vector<Counts>>> ReadCounts(const std::string& path) {
  const auto mapped = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(mapped);
  CsvReader csv(mapped->text(), path);
  const auto model = csv.Require("model");
  const auto size = csv.Require("infer_img_size");
  const auto gmacs = csv.Require("infer_gmacs");
  const auto macts = csv.Require("infer_macts");
  std::map<std::string, std::vector<Counts>> out;
  while (csv.Next()) {
    // Models that failed in the benchmark have empty counts.
    const auto counted = csv.OptionalNumber(gmacs, platform::kNonNegative);
    const auto made = csv.OptionalNumber(macts, platform::kNonNegative);
    const double image = csv.Number(size, kAboveZero);
    if (!counted || !made || *counted <= 0 || *made <= 0) continue;
    out[WithoutTag(csv.Text(model))].push_back({image, *counted, *made});
  }
  if (!csv.ok()) return csv.error();
  return out;
}

constexpr std::size_t kTerms = 4;
using Terms = std::array<double, kTerms>;

Terms TermsOf(const TimmModel& model) {
  return {model.gmacs * model.batch, model.mega_activations * model.batch, model.mega_params, 1};
}

double Product(const Terms& a, const Terms& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) sum += a[i] * b[i];
  return sum;
}

// Least squares of (terms c / time - 1) with c >= 0. With four terms there are fifteen ways to
// leave some out; the best one without a negative coefficient is the answer.
Terms FitBase(const std::vector<TimmModel>& models, const std::vector<std::size_t>& rows) {
  Terms best{};
  double least = std::numeric_limits<double>::infinity();
  std::vector<Terms> relative;
  for (const std::size_t i : rows) {
    Terms terms = TermsOf(models[i]);
    for (double& term : terms) term /= models[i].step_ms;
    relative.push_back(terms);
  }
  for (unsigned chosen = 1; chosen < 1U << kTerms; ++chosen) {
    std::vector<std::size_t> in;
    for (std::size_t t = 0; t < kTerms; ++t) {
      if ((chosen >> t & 1U) != 0) in.push_back(t);
    }
    const std::size_t n = in.size();
    std::vector<double> normal(n * n), right(n);
    for (const Terms& terms : relative) {
      for (std::size_t a = 0; a < n; ++a) {
        right[a] += terms[in[a]];
        for (std::size_t b = 0; b < n; ++b) normal[a * n + b] += terms[in[a]] * terms[in[b]];
      }
    }
    if (!learn::Factorise(normal, n)) continue;
    learn::SolveFactored(normal, n, right);
    if (std::any_of(right.begin(), right.end(), [](double c) { return c < 0; })) continue;
    Terms candidate{};
    for (std::size_t a = 0; a < n; ++a) candidate[in[a]] = right[a];
    double squares = 0;
    for (const Terms& terms : relative) squares += std::pow(Product(terms, candidate) - 1, 2);
    if (squares < least) {
      least = squares;
      best = candidate;
    }
  }
  return best;
}

constexpr std::array kFeatures = {"gmacs",        "activations", "params",      "batch",
                                  "image",        "macs/act",    "macs/params", "act/params",
                                  "macs/image^2", "act/image^2"};

std::array<double, kFeatures.size()> FeaturesOf(const TimmModel& m) {
  const double macs = std::log(m.gmacs);
  const double activations = std::log(m.mega_activations);
  const double params = std::log(m.mega_params);
  const double image = std::log(m.image_size);
  return {macs,
          activations,
          params,
          std::log(m.batch),
          image,
          macs - activations,
          macs - params,
          activations - params,
          macs - 2 * image,
          activations - 2 * image};
}

struct Predicted {
  std::vector<double> base, learned;  // by model, ms
};

core::Result<void> PredictFold(const std::vector<TimmModel>& models,
                               const std::vector<std::size_t>& train,
                               const std::vector<std::size_t>& test, std::uint64_t seed,
                               Predicted& out) {
  const Terms base = FitBase(models, train);
  learn::Table table;
  table.features.assign(kFeatures.begin(), kFeatures.end());
  for (const std::size_t i : train) {
    table.Add(FeaturesOf(models[i]),
              std::log(models[i].step_ms / Product(TermsOf(models[i]), base)));
  }
  const learn::LearnerSpec spec{
      learn::ForestOptions{.extra = true, .trees = 300, .colsample_node = 1, .seed = seed}};
  const auto residual = learn::Fit(spec, table);
  RETURN_IF_ERROR(residual);
  for (const std::size_t i : test) {
    out.base[i] = Product(TermsOf(models[i]), base);
    out.learned[i] = out.base[i] * std::exp(residual->Predict(FeaturesOf(models[i])));
  }
  return {};
}

}  // namespace

core::Result<std::vector<TimmModel>> ReadTimm(const std::string& train_path,
                                              const std::string& infer_path) {
  const auto counts = ReadCounts(infer_path);
  RETURN_IF_ERROR(counts);
  const auto mapped = platform::MappedFile::Open(train_path);
  RETURN_IF_ERROR(mapped);
  CsvReader csv(mapped->text(), train_path);
  const auto model = csv.Require("model");
  const auto step = csv.Require("train_step_time");
  const auto batch = csv.Require("train_batch_size");
  const auto size = csv.Require("train_img_size");
  const auto params = csv.Require("param_count");
  std::vector<TimmModel> out;
  std::set<std::string> seen;
  while (csv.Next()) {
    TimmModel row;
    row.name = WithoutTag(csv.RequiredText(model));
    row.family = FamilyOf(row.name);
    const auto time = csv.OptionalNumber(step, kAboveZero);
    row.batch = csv.Number(batch, kAboveZero);
    row.image_size = csv.Number(size, kAboveZero);
    row.mega_params = csv.Number(params, kAboveZero);
    const auto found = counts->find(row.name);
    if (!csv.ok() || !time || found == counts->end() || !seen.insert(row.name).second) continue;
    row.step_ms = *time;
    const auto& sizes = found->second;
    const Counts& nearest =
        *std::min_element(sizes.begin(), sizes.end(), [&](const Counts& a, const Counts& b) {
          return std::abs(a.image_size - row.image_size) < std::abs(b.image_size - row.image_size);
        });
    const double pixels = std::pow(row.image_size / nearest.image_size, 2);
    row.gmacs = nearest.gmacs * pixels;
    row.mega_activations = nearest.mega_activations * pixels;
    out.push_back(std::move(row));
  }
  if (!csv.ok()) return csv.error();
  return out;
}

core::Result<std::vector<TimmModel>> ReadTimmFolder(const std::string& folder) {
  const std::filesystem::path at(folder);
  return ReadTimm((at / kTrainFile).string(), (at / kInferFile).string());
}

core::Result<TimmErrors> EvaluateTimm(const std::vector<TimmModel>& models,
                                      const TimmOptions& options) {
  std::set<std::string> distinct;
  for (const TimmModel& model : models) distinct.insert(model.family);
  const std::vector<std::string> families(distinct.begin(), distinct.end());
  if (families.size() < options.folds || options.folds < 2 || options.seeds < 1) {
    return core::UsageError("{} families cannot be held out in {} folds", families.size(),
                            options.folds);
  }
  std::vector<double> actual;
  for (const TimmModel& model : models) actual.push_back(model.step_ms);
  TimmErrors out{models.size(), families.size(), 0, 0, {}};
  for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
    std::vector<std::pair<double, std::string>> shuffled;
    for (std::size_t f = 0; f < families.size(); ++f) {
      shuffled.emplace_back(core::Uniform(core::HashOf({seed, f})), families[f]);
    }
    std::sort(shuffled.begin(), shuffled.end());
    std::map<std::string, std::size_t> fold_of;
    for (std::size_t f = 0; f < shuffled.size(); ++f)
      fold_of[shuffled[f].second] = f % options.folds;
    Predicted predicted{std::vector<double>(models.size()), std::vector<double>(models.size())};
    for (std::size_t fold = 0; fold < options.folds; ++fold) {
      std::vector<std::size_t> train, test;
      for (std::size_t i = 0; i < models.size(); ++i) {
        (fold_of[models[i].family] == fold ? test : train).push_back(i);
      }
      RETURN_IF_ERROR(PredictFold(models, train, test, seed, predicted));
    }
    out.base += learn::MeanAbsolutePercentageError(actual, predicted.base) /
                static_cast<double>(options.seeds);
    out.by_seed.push_back(learn::MeanAbsolutePercentageError(actual, predicted.learned));
  }
  out.learned = *core::Mean(out.by_seed);
  return out;
}

}  // namespace sharewell::research
