#include "study/reproduce/ryu_measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "platform/files/builtin_measurements.h"
#include "platform/files/csv.h"
#include "platform/files/embedded.h"
#include "study/reproduce/experiment.h"

namespace sharewell::study::reproduce {
namespace {

struct Kind {
  const char* name;                    // the paper's model
  const char* ours;                    // the workload of its kind
  double sm, memory, l2, read, write;  // table 1
};
constexpr std::array<Kind, 6> kKinds{{
    {"resnet50", "tv:resnet50@224", 0.54, 0.46, 0.27, 0.27, 0.18},
    {"data2vec", "wav2vec2:32000", 0.29, 0.28, 0.20, 0.15, 0.12},
    {"deepfm", "deepfm:4e6", 0.05, 0.85, 0.27, 0.47, 0.38},
    {"dlrm", "dlrm:4e6", 0.10, 0.04, 0.04, 0.04, 0.00},
    {"transformer", "enc:512x6", 0.36, 0.69, 0.37, 0.48, 0.20},
    {"mobilenet", "tv:mobilenet_v2@224", 0.36, 0.63, 0.26, 0.32, 0.31},
}};

const Kind* KindOf(const core::Workload& workload) {
  for (const Kind& kind : kKinds) {
    if (workload.name == kind.ours) return &kind;
  }
  return nullptr;
}

struct Packed {
  const Kind *base, *other;
  double stretch;  // of the base's epoch
};

// Both ways of every measured pair of the six; the first measurement of a pair stands.
std::vector<Packed> PackedPairs() {
  const core::Measurements all = platform::FirstSitting();
  const auto alone = [&](const core::Workload& workload) -> double {
    const core::Profile* profile = Measured(all, workload);
    return profile == nullptr ? 0 : *profile->steps_per_second;
  };
  std::vector<Packed> packed;
  for (const core::PairMeasurement& pair : all.pairs) {
    const Kind *a = KindOf(pair.a), *b = KindOf(pair.b);
    const double rate_a = pair.alone_a.value_or(alone(pair.a));
    const double rate_b = pair.alone_b.value_or(alone(pair.b));
    if (a == nullptr || b == nullptr || !pair.fits || rate_a <= 0 || rate_b <= 0) continue;
    const bool known = std::any_of(packed.begin(), packed.end(),
                                   [&](const Packed& p) { return p.base == a && p.other == b; });
    if (known) continue;
    packed.push_back({a, b, rate_a / pair.steps_per_second_a});
    packed.push_back({b, a, rate_b / pair.steps_per_second_b});
  }
  return packed;
}

}  // namespace

void MeasuredPackingRows(Experiment& experiment) {
  const auto packed = PackedPairs();
  SHAREWELL_CHECK(!packed.empty());
  experiment.assumptions.push_back(
      "measured_*: epoch time packed over alone as measured on one H200 under MPS (data/h200/"
      "pairs.csv); Data2Vec is stood for by wav2vec2, its architecture. The paper: TITAN RTX. The "
      "whole matrix: docs/reproduce.md; to measure your own: sharewell colocate zoo/packing.toml.");
  // What the paper's text tells; the rest it draws.
  struct Told {
    std::string_view base, other;
    double paper;
    const char* note;
  };
  constexpr std::array<Told, 3> kTold{{
      {"data2vec", "mobilenet", 1.0, "the paper: no contention"},
      {"mobilenet", "data2vec", 1.0, "the paper: no contention"},
      {"dlrm", "deepfm", 3.0,
       "the paper: more than tripled, in 40 GB of host memory of which the two want 152 %; ours "
       "has "
       "125 GiB"},
  }};
  for (const Kind& base : kKinds) {
    for (const Kind& other : kKinds) {
      const auto found = std::find_if(packed.begin(), packed.end(), [&](const Packed& p) {
        return p.base == &base && p.other == &other;
      });
      if (found == packed.end()) continue;
      ReproduceRow row{fmt::format("measured_{}_with_{}", base.name, other.name),
                       {},
                       found->stretch,
                       "times",
                       ""};
      for (const Told& told : kTold) {
        if (told.base != base.name || told.other != other.name) continue;
        row.paper = told.paper;
        row.note = told.note;
      }
      experiment.rows.push_back(std::move(row));
    }
  }
  const auto less = [](const Packed& a, const Packed& b) { return a.stretch < b.stretch; };
  const auto [best, worst] = std::minmax_element(packed.begin(), packed.end(), less);
  const auto pair = [](const Packed& p) {
    return fmt::format("{} beside {}", p.base->name, p.other->name);
  };
  experiment.rows.push_back({"measured_least", {}, best->stretch, "times", pair(*best)});
  experiment.rows.push_back({"measured_most", {}, worst->stretch, "times", pair(*worst)});
  double sum = 0;
  for (const Packed& p : packed) sum += p.stretch;
  experiment.rows.push_back(
      {"measured_mean",
       {},
       sum / static_cast<double>(packed.size()),
       "times",
       fmt::format("{} epochs in {} pairs, those of two equal ones among them", packed.size(),
                   packed.size() / 2)});
}

core::Result<void> KernelRows(Experiment& experiment) {
  platform::CsvReader csv(platform::EmbeddedH200Kernels(), "data/h200/kernels.csv");
  const auto workload = csv.Require("workload"), passes = csv.Require("passes"),
             launches = csv.Require("launches");
  const auto sm = csv.Require("sm"), memory = csv.Require("memory"), l2 = csv.Require("l2"),
             read = csv.Require("dram_read"), write = csv.Require("dram_write");
  experiment.assumptions.push_back(
      "kernels_*: Nsight Compute's throughput of the peak while kernels run, weighted by time, "
      "over "
      "the first kernels of one training step (the notes say how many; the step was not profiled "
      "to its end), on an H200 of 4.8 TB/s; the paper's TITAN RTX has 0.67 TB/s, and its "
      "profiler's "
      "choice of kernels is not told.");
  while (csv.Next()) {
    const Kind* kind = KindOf({std::string(csv.RequiredText(workload)), 0, "", 0});
    const auto several = csv.Integer(passes, 1, 1000);
    const auto count = csv.Integer(launches, 1, 1'000'000);
    // One pass has neither SM nor memory throughput.
    if (kind == nullptr || several == 1) continue;
    const auto add = [&](const char* what, double paper, platform::CsvReader::Column column) {
      const auto value = csv.OptionalNumber(column, {0, 100});
      if (!value) return;
      experiment.rows.push_back({fmt::format("kernels_{}_{}", what, kind->name), paper,
                                 *value / 100, "ratio", fmt::format("{} kernels", count)});
    };
    add("sm", kind->sm, sm);
    add("memory", kind->memory, memory);
    add("l2", kind->l2, l2);
    add("dram_read", kind->read, read);
    add("dram_write", kind->write, write);
  }
  if (!csv.ok()) return csv.error();
  return {};
}

}  // namespace sharewell::study::reproduce
