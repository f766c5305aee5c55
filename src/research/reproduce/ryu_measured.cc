#include "research/reproduce/ryu_measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "catalogue/pairs_file.h"
#include "core/result.h"
#include "platform/files/csv.h"
#include "platform/files/embedded.h"
#include "research/reproduce/experiment.h"

namespace sharewell::research::reproduce {
namespace {

enum DeviceMetric { kSm, kMemory, kL2, kRead, kWrite, kMetrics };
constexpr std::array<const char*, kMetrics> kMetricNames{"sm", "memory", "l2", "dram_read",
                                                         "dram_write"};

struct Kind {
  const char* name;                      // the paper's model
  std::array<const char*, 2> ours;       // workloads of its kind
  std::array<double, kMetrics> table_1;  // the paper's figures
};
constexpr std::array<Kind, 6> kKinds{{
    {"resnet50", {"tv:resnet50@224"}, {0.54, 0.46, 0.27, 0.27, 0.18}},
    {"data2vec", {"d2v:32000", "wav2vec2:32000"}, {0.29, 0.28, 0.20, 0.15, 0.12}},
    {"deepfm", {"deepfm:4e6"}, {0.05, 0.85, 0.27, 0.47, 0.38}},
    {"dlrm", {"dlrm:1e7", "dlrm:4e6"}, {0.10, 0.04, 0.04, 0.04, 0.00}},
    {"transformer", {"enc:512x6"}, {0.36, 0.69, 0.37, 0.48, 0.20}},
    {"mobilenet", {"tv:mobilenet_v2@224"}, {0.36, 0.63, 0.26, 0.32, 0.31}},
}};

const Kind* KindOf(std::string_view workload) {
  for (const Kind& kind : kKinds) {
    for (const char* ours : kind.ours) {
      if (ours != nullptr && workload == ours) return &kind;
    }
  }
  return nullptr;
}

struct Packed {
  const Kind *base, *other;
  double alone, together;  // of the base, steps a second
  double Stretch() const { return alone / together; }
};

// Both ways of every measured pair of the six; the first measurement of a pair stands.
std::vector<Packed> PackedPairs(const core::Measurements& all) {
  const auto alone = [&](const core::Workload& workload) -> double {
    const core::Profile* profile = Measured(all, workload);
    return profile == nullptr ? 0 : *profile->steps_per_second;
  };
  std::vector<Packed> packed;
  for (const core::PairMeasurement& pair : all.pairs) {
    const Kind *a = KindOf(pair.a.name), *b = KindOf(pair.b.name);
    const double rate_a = pair.alone_a.value_or(alone(pair.a));
    const double rate_b = pair.alone_b.value_or(alone(pair.b));
    if (a == nullptr || b == nullptr || !pair.fits || rate_a <= 0 || rate_b <= 0) continue;
    const bool known = std::any_of(packed.begin(), packed.end(),
                                   [&](const Packed& p) { return p.base == a && p.other == b; });
    if (known) continue;
    packed.push_back({a, b, rate_a, pair.steps_per_second_a});
    packed.push_back({b, a, rate_b, pair.steps_per_second_b});
  }
  return packed;
}

const Packed* Find(const std::vector<Packed>& packed, const Kind& base, const Kind& other) {
  const auto it = std::find_if(packed.begin(), packed.end(), [&](const Packed& p) {
    return p.base == &base && p.other == &other;
  });
  return it == packed.end() ? nullptr : &*it;
}

double MeanStretch(const std::vector<Packed>& packed) {
  double sum = 0;
  for (const Packed& p : packed) sum += p.Stretch();
  return sum / static_cast<double>(packed.size());
}

// What the paper's text tells; the rest it draws.
struct PaperPair {
  std::string_view base, other;
  double paper;
  const char* note;
};
constexpr std::array<PaperPair, 3> kPaperPairs{{
    {"data2vec", "mobilenet", 1.0, "the paper: no contention"},
    {"mobilenet", "data2vec", 1.0, "the paper: no contention"},
    {"dlrm", "deepfm", 3.0,
     "the paper: more than tripled, in 40 GB of host memory of which the two want 152 %; ours has "
     "126 GiB"},
}};

const PaperPair* PaperPairOf(const Kind& base, const Kind& other) {
  for (const PaperPair& told : kPaperPairs) {
    if (told.base == base.name && told.other == other.name) return &told;
  }
  return nullptr;
}

void SummaryRows(const std::vector<Packed>& packed, std::vector<ReproduceRow>& rows) {
  const auto less = [](const Packed& a, const Packed& b) { return a.Stretch() < b.Stretch(); };
  const auto [best, worst] = std::minmax_element(packed.begin(), packed.end(), less);
  const auto pair = [](const Packed& p) {
    return fmt::format("{} beside {}", p.base->name, p.other->name);
  };
  rows.push_back({"measured_least", {}, best->Stretch(), "times", pair(*best)});
  rows.push_back({"measured_most", {}, worst->Stretch(), "times", pair(*worst)});
  rows.push_back({"measured_mean",
                  {},
                  MeanStretch(packed),
                  "times",
                  fmt::format("{} epochs in {} pairs", packed.size(), packed.size() / 2)});
  // Alone it was slower than in most co-location, so its own stretches are too small.
  double alone = 0, fastest = 0;
  for (const Packed& p : packed) {
    if (p.base->name != std::string_view("data2vec")) continue;
    alone = p.alone;
    fastest = std::max(fastest, p.together);
  }
  rows.push_back({"measured_data2vec_alone_of_fastest",
                  {},
                  alone / fastest,
                  "ratio",
                  fmt::format("{:.2f} steps/s alone, up to {:.2f} beside others", alone, fastest)});
}

// The first sitting's pairs, of somewhat other workloads: does it repeat?
void EarlierRows(std::vector<ReproduceRow>& rows) {
  const auto packed = PackedPairs(catalogue::FirstSitting());
  for (const Kind& base : kKinds) {
    for (const Kind& other : kKinds) {
      const PaperPair* told = PaperPairOf(base, other);
      const Packed* pair = Find(packed, base, other);
      if (told == nullptr || pair == nullptr) continue;
      rows.push_back({fmt::format("earlier_{}_with_{}", base.name, other.name), told->paper,
                      pair->Stretch(), "times", told->note});
    }
  }
  rows.push_back({"earlier_mean",
                  {},
                  MeanStretch(packed),
                  "times",
                  fmt::format("{} epochs in {} pairs, those of two equal ones among them",
                              packed.size(), packed.size() / 2)});
}

// Of a kind's kernels; the better of what was recorded.
struct KernelFigure {
  std::optional<double> value;
  bool whole = false;  // of the whole step
  std::string note;
};

}  // namespace

core::Result<void> MeasuredPackingRows(Experiment& experiment) {
  const auto measured =
      catalogue::ReadPairsText(platform::EmbeddedH200Packing(), "data/h200/packing.csv");
  RETURN_IF_ERROR(measured);
  const auto packed = PackedPairs(*measured);
  SHAREWELL_CHECK(!packed.empty());
  experiment.assumptions.push_back(
      "measured_*: epoch time packed over alone as sharewell colocate measured it on one H200 "
      "under MPS (data/h200/packing.csv); the paper: TITAN RTX. Below 1, a loop was faster in "
      "co-location than alone: Data2Vec, which waits for the host, is so beside every neighbour. "
      "To "
      "measure your own: sharewell colocate zoo/packing.toml.");
  experiment.assumptions.push_back(
      "earlier_*: the same from the first sitting (data/h200/pairs.csv), with wav2vec2 for "
      "Data2Vec and a DLRM of a smaller table and half the batch.");
  for (const Kind& base : kKinds) {
    for (const Kind& other : kKinds) {
      const Packed* pair = Find(packed, base, other);
      if (pair == nullptr) continue;
      ReproduceRow row{fmt::format("measured_{}_with_{}", base.name, other.name),
                       {},
                       pair->Stretch(),
                       "times",
                       ""};
      if (const PaperPair* told = PaperPairOf(base, other)) {
        row.paper = told->paper;
        row.note = told->note;
      }
      experiment.rows.push_back(std::move(row));
    }
  }
  SummaryRows(packed, experiment.rows);
  EarlierRows(experiment.rows);
  return {};
}

core::Result<void> KernelRows(Experiment& experiment) {
  platform::CsvReader csv(platform::EmbeddedH200Kernels(), "data/h200/kernels.csv");
  const auto workload = csv.Require("workload"), launches = csv.Require("launches"),
             whole = csv.Require("whole_step");
  std::array<platform::CsvReader::Column, kMetrics> columns;
  for (std::size_t m = 0; m < kMetrics; ++m) columns[m] = csv.Require(kMetricNames[m]);
  experiment.assumptions.push_back(
      "kernels_*: Nsight Compute's throughput of the peak while kernels run, weighted by time, on "
      "an H200 of 4.8 TB/s (data/h200/kernels.csv); the paper's TITAN RTX has 0.67 TB/s, and its "
      "profiler's choice of kernels is not told. Where a whole step was recorded, in one pass, L2 "
      "(as sectors) and DRAM are from it; SM and memory need ten passes, which were only had of a "
      "step's first kernels.");
  std::array<std::array<KernelFigure, kMetrics>, kKinds.size()> found;
  while (csv.Next()) {
    const auto name = csv.RequiredText(workload);
    const auto count = csv.Integer(launches, 1, 1'000'000);
    const bool is_whole = csv.Flag(whole, false);
    const Kind* kind = KindOf(name);
    if (kind == nullptr) continue;
    for (std::size_t m = 0; m < kMetrics; ++m) {
      const auto value = csv.OptionalNumber(columns[m], {0, 100});
      KernelFigure& figure = found[static_cast<std::size_t>(kind - kKinds.data())][m];
      if (!value || (figure.value && (figure.whole || !is_whole))) continue;
      figure = {*value / 100, is_whole,
                is_whole ? fmt::format("{}: whole step, {} kernels", name, count)
                         : fmt::format("{}: its first {} kernels", name, count)};
    }
  }
  if (!csv.ok()) return csv.error();
  for (std::size_t k = 0; k < kKinds.size(); ++k) {
    for (std::size_t m = 0; m < kMetrics; ++m) {
      const KernelFigure& figure = found[k][m];
      if (!figure.value) continue;
      experiment.rows.push_back({fmt::format("kernels_{}_{}", kMetricNames[m], kKinds[k].name),
                                 kKinds[k].table_1[m], *figure.value, "ratio", figure.note,
                                 !figure.whole});
    }
  }
  return {};
}

}  // namespace sharewell::research::reproduce
