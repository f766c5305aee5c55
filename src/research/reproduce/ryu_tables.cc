#include "research/reproduce/ryu_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "catalogue/pairs_file.h"
#include "interference/carry_over.h"
#include "interference/interference.h"
#include "platform/files/embedded.h"
#include "research/reproduce/experiment.h"

namespace sharewell::research::reproduce {
namespace {

// A row of the paper's table 1, and the loop of ours with a profile that stands for the model.
struct TableRow {
  const char *key, *name;
  const char *epoch, *cpu, *host_memory;  // as the paper prints them
  std::array<const char*, 5> device;      // SM, memory, L2, read, write
  core::Workload ours;
};

std::vector<TableRow> TableRows() {
  return {
      {"resnet50",
       "ResNet50",
       "830",
       "9%",
       "26%",
       {"54%", "46%", "27%", "27%", "18%"},
       {"tv:resnet50@224", 64, "bf16", 4}},
      {"data2vec",
       "Data2Vec",
       "2484",
       "10%",
       "10%",
       {"29%", "28%", "20%", "15%", "12%"},
       {"wav2vec2:32000", 8, "bf16", 2}},
      {"deepfm",
       "DeepFM",
       "3505",
       "9%",
       "60%",
       {"5%", "85%", "27%", "47%", "38%"},
       {"deepfm:4e6", 2048, "fp32", 4}},
      {"dlrm",
       "DLRM",
       "2696",
       "10%",
       "92%",
       {"10%", "4%", "4%", "4%", "0%"},
       {"dlrm:1e7", 4096, "fp32", 4}},
      {"transformer",
       "Transformer",
       "3497",
       "8%",
       "9%",
       {"36%", "69%", "37%", "48%", "20%"},
       {"enc:512x6", 32, "bf16", 1}},
      {"mobilenet",
       "MobileNetV2",
       "605",
       "11%",
       "42%",
       {"36%", "63%", "26%", "32%", "31%"},
       {"tv:mobilenet_v2@224", 64, "bf16", 4}},
  };
}

constexpr std::array<const char*, 5> kDevice{"sm", "memory", "l2", "dram_read", "dram_write"};

const ReproduceRow* RowNamed(const Experiment& experiment, const std::string& what) {
  for (const ReproduceRow& row : experiment.rows) {
    if (row.what == what) return &row;
  }
  return nullptr;
}

// "54% / 28%": theirs and ours; a star where ours is of a step's first kernels alone.
std::string DeviceCell(const Experiment& experiment, const TableRow& row, std::size_t metric) {
  const ReproduceRow* ours =
      RowNamed(experiment, fmt::format("kernels_{}_{}", kDevice[metric], row.key));
  if (ours == nullptr || !ours->ours) return fmt::format("{} / -", row.device[metric]);
  return fmt::format("{} / {:.0f}%{}", row.device[metric], 100 * *ours->ours,
                     ours->partial ? "*" : "");
}

PaperGrid TableOne(const Experiment& experiment, const core::Measurements& all) {
  PaperGrid grid{"Table 1",
                 "the paper's figure / ours. Epoch time: seconds of an epoch / of a million "
                 "samples. CPU and host memory: of 10 cores and 40 GB / of 16 cores and 126 GiB. * "
                 "of a step's first kernels alone",
                 {"model", "epoch time", "CPU", "host memory", "SM", "memory", "L2", "bdw (read)",
                  "bdw (write)", "host figures are of"},
                 {}};
  for (const TableRow& row : TableRows()) {
    const core::Profile* p = Measured(all, row.ours);
    SHAREWELL_CHECK(p != nullptr && p->cpu_cores && p->host_memory);
    const double samples = p->workload.batch * *p->steps_per_second;
    std::vector<std::string> cells{
        row.name, fmt::format("{} / {:.0f}", row.epoch, 1e6 / samples),
        fmt::format("{} / {:.0f}%", row.cpu, 100 * *p->cpu_cores / kH200HostCores),
        fmt::format("{} / {:.1f}%", row.host_memory, 100 * p->host_memory->value / kH200HostBytes)};
    for (std::size_t m = 0; m < kDevice.size(); ++m) {
      cells.push_back(DeviceCell(experiment, row, m));
    }
    cells.push_back(fmt::format("`{}` at batch {}", row.ours.name, row.ours.batch));
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

PaperGrid FigureOne(const Experiment& experiment) {
  PaperGrid grid{
      "Figure 1",
      "a row's epoch time beside a column's over that alone, on one H200 under MPS; the paper "
      "tells Data2Vec and MobileNetV2 (almost 1), and DLRM beside DeepFM (more than 3)",
      {""},
      {}};
  for (const TableRow& column : TableRows()) grid.columns.emplace_back(column.name);
  for (const TableRow& row : TableRows()) {
    std::vector<std::string> cells{row.name};
    for (const TableRow& column : TableRows()) {
      const ReproduceRow* found =
          RowNamed(experiment, fmt::format("measured_{}_with_{}", row.key, column.key));
      cells.push_back(found != nullptr && found->ours ? fmt::format("{:.2f}", *found->ours) : "");
    }
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

// One side of a measured pair: what the model says of its speed, what it was, and the pair's finer
// metrics.
struct Side {
  std::size_t base = 0, other = 0;  // of TableRows()
  double modelled = 0, measured = 0;
  double l2 = 0, dram = 0;  // of both together
};

std::optional<double> KernelRatio(const Experiment& experiment, const char* metric,
                                  const char* key) {
  const ReproduceRow* row = RowNamed(experiment, fmt::format("kernels_{}_{}", metric, key));
  return row == nullptr ? std::nullopt : row->ours;
}

core::Result<std::vector<Side>> Sides(const Experiment& experiment, const core::Measurements& all) {
  const auto measured =
      catalogue::ReadPairsText(platform::EmbeddedH200Packing(), "data/h200/packing.csv");
  RETURN_IF_ERROR(measured);
  const auto models = TableRows();
  const auto index = [&](const core::Workload& workload) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < models.size(); ++i) {
      if (models[i].ours == workload) return i;
    }
    return std::nullopt;
  };
  const interference::Interference sharing;
  std::vector<Side> sides;
  for (const core::PairMeasurement& pair : measured->pairs) {
    const auto a = index(pair.a), b = index(pair.b);
    if (!a || !b || !pair.alone_a || !pair.alone_b) continue;  // Data2Vec has no profile
    const std::array demands{interference::DemandOf(*Measured(all, pair.a)),
                             interference::DemandOf(*Measured(all, pair.b))};
    const std::array residents{interference::Resident{core::WorkloadId(0), demands.data()},
                               interference::Resident{core::WorkloadId(1), &demands[1]}};
    double l2 = 0, dram = 0;
    for (const std::size_t i : {*a, *b}) {
      l2 += KernelRatio(experiment, "l2", models[i].key).value_or(0);
      dram += KernelRatio(experiment, "dram_read", models[i].key).value_or(0) +
              KernelRatio(experiment, "dram_write", models[i].key).value_or(0);
    }
    const auto speed = [](double beside, double alone) { return std::min(1.0, beside / alone); };
    sides.push_back({*a, *b, sharing.Speed(core::GpuModelId(0), residents, 0),
                     speed(pair.steps_per_second_a, *pair.alone_a), l2, dram});
    sides.push_back({*b, *a, sharing.Speed(core::GpuModelId(0), residents, 1),
                     speed(pair.steps_per_second_b, *pair.alone_b), l2, dram});
  }
  return sides;
}

// The mean error when log(measured / modelled) is corrected by a straight line over the metric,
// fitted without the pairs that the held-out workload is in.
double HeldOutError(const std::vector<Side>& sides, double Side::*metric) {
  double error = 0;
  int counted = 0;
  for (std::size_t held = 0; held < TableRows().size(); ++held) {
    const auto in = [&](const Side& s) { return s.base == held || s.other == held; };
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const Side& s : sides) {
      if (in(s)) continue;
      const double residual = std::log(s.measured / s.modelled);
      n += 1;
      x += s.*metric;
      y += residual;
      xx += s.*metric * (s.*metric);
      xy += s.*metric * residual;
    }
    const double slope = (n * xy - x * y) / (n * xx - x * x);
    const double at_zero = (y - slope * x) / n;
    for (const Side& s : sides) {
      if (s.base != held) continue;
      const double corrected = std::min(1.0, s.modelled * std::exp(at_zero + slope * (s.*metric)));
      error += std::abs(corrected - s.measured);
      ++counted;
    }
  }
  return error / counted;
}

}  // namespace

core::Result<void> RyuTables(Experiment& experiment) {
  experiment.grids.push_back(TableOne(experiment, catalogue::BuiltinMeasurements()));
  experiment.grids.push_back(FigureOne(experiment));
  return {};
}

core::Result<void> FinerMetricRows(Experiment& experiment) {
  const auto sides = Sides(experiment, catalogue::BuiltinMeasurements());
  RETURN_IF_ERROR(sides);
  SHAREWELL_CHECK(!sides->empty());
  double error = 0;
  for (const Side& s : *sides) error += std::abs(s.modelled - s.measured) / sides->size();
  const std::string of = fmt::format(
      "mean absolute error of the speed, {} sides of pairs of five workloads", sides->size());
  experiment.rows.push_back({"speed_error_model", {}, error, "ratio", of});
  experiment.rows.push_back({"speed_error_with_l2",
                             {},
                             HeldOutError(*sides, &Side::l2),
                             "ratio",
                             "corrected by the pair's L2 throughput, each workload held out"});
  experiment.rows.push_back({"speed_error_with_dram_read_write",
                             {},
                             HeldOutError(*sides, &Side::dram),
                             "ratio",
                             "corrected by the pair's DRAM read and write, each workload held "
                             "out"});
  return {};
}

}  // namespace sharewell::research::reproduce
