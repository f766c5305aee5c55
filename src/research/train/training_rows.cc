#include "research/train/training_rows.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "advice/model_file.h"
#include "catalogue/workload_columns.h"
#include "core/result.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"
#include "predict/repeats.h"

namespace sharewell::research {
namespace {

namespace fs = std::filesystem;
using platform::CsvReader;
using predict::Figure;

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kNoisy =
    0.1;  // relative deviation of half-second rates at which a row counts half

// "tv:resnet50@224" is of family "resnet": what stands before the first digit, without the prefix.
std::string FamilyFromName(const std::string& workload) {
  const std::size_t colon = workload.find(':');
  std::string rest = colon == std::string::npos ? workload : workload.substr(colon + 1);
  const std::size_t end = rest.find_first_of("0123456789@_-.");
  rest = rest.substr(0, end);
  return rest.empty() ? workload.substr(0, colon) : rest;
}

struct Columns {
  explicit Columns(CsvReader& csv)
      : workload(catalogue::WorkloadColumns::Find(csv)),
        gpu(csv.Require("gpu")),
        model(csv.Find("model")),
        onnx(csv.Find("onnx")),
        family(csv.Find("family")),
        optimizer(csv.Find("optimizer")),
        host_time(csv.Find("host_time")),
        noise(csv.Find("steps_rel_std")),
        steps(csv.Find("steps_per_s")),
        util(csv.Find("gpu_util")),
        sm(csv.Find("gpm_sm")),
        dram(csv.Find("gpm_dram")),
        tensor(csv.Find("gpm_tensor")),
        memory(csv.Find("mem_used_bytes")),
        reserved(csv.Find("reserved_bytes")),
        pcie_tx(csv.Find("pcie_tx_mib_s")),
        pcie_rx(csv.Find("pcie_rx_mib_s")),
        cores(csv.Find("cpu_cores")),
        rss(csv.Find("host_rss_bytes")),
        power(csv.Find("power_w")) {
    csv.Require("workload");
  }
  catalogue::WorkloadColumns workload;
  CsvReader::Column gpu, model, onnx, family, optimizer, host_time, noise, steps, util, sm, dram,
      tensor, memory, reserved, pcie_tx, pcie_rx, cores, rss, power;
};

predict::Figures Measured(CsvReader& csv, const Columns& columns) {
  predict::Figures out;
  const auto put = [&](Figure figure, CsvReader::Column column, double unit,
                       platform::Range range) {
    const auto value = csv.OptionalNumber(column, range);
    if (value && (*value > 0 || predict::IsShare(figure))) {
      out[predict::Index(figure)] = *value * unit;
    }
  };
  constexpr platform::Range kPercent{0, 100.5};
  constexpr platform::Range kPositive{0, 1e18};
  put(Figure::kBusy, columns.util, 0.01, kPercent);
  put(Figure::kSm, columns.sm, 0.01, kPercent);
  put(Figure::kDram, columns.dram, 0.01, kPercent);
  put(Figure::kTensor, columns.tensor, 0.01, kPercent);
  put(Figure::kMemory, columns.memory, 1, kPositive);
  put(Figure::kReserved, columns.reserved, 1, kPositive);
  put(Figure::kCores, columns.cores, 1, {0, 1e6});
  put(Figure::kHostMemory, columns.rss, 1, kPositive);
  put(Figure::kPower, columns.power, 1, {0, 1e5});
  const auto tx = csv.OptionalNumber(columns.pcie_tx, kPositive);
  const auto rx = csv.OptionalNumber(columns.pcie_rx, kPositive);
  if (tx && rx && *tx + *rx > 0) out[predict::Index(Figure::kPcie)] = (*tx + *rx) * kMiB;
  const auto steps = csv.OptionalNumber(columns.steps, {0, 1e9});
  if (steps && *steps > 0) {
    out[predict::Index(Figure::kStepSeconds)] = 1 / *steps;
    const auto& busy = out[predict::Index(Figure::kBusy)];
    if (busy && *busy > 0) out[predict::Index(Figure::kBusySeconds)] = *busy / *steps;
  }
  return out;
}

class Reading {
 public:
  Reading(const catalogue::GpuCatalogue& catalogue, TrainingSet& out)
      : catalogue_(catalogue), out_(out) {}

  core::Result<void> File(const std::string& path) {
    const auto mapped = platform::MappedFile::Open(path);
    RETURN_IF_ERROR(mapped);
    CsvReader csv(mapped->text(), path);
    const Columns columns(csv);
    while (csv.Next()) {
      const core::Workload workload = columns.workload.Read(csv);
      predict::Row row;
      row.workload = workload.name;
      row.precision_word = workload.precision;
      row.measured = Measured(csv, columns);
      row.family = std::string(csv.Text(columns.family));
      if (row.family.empty()) row.family = FamilyFromName(row.workload);
      if (const auto noise = csv.OptionalNumber(columns.noise, {0, 100})) {
        row.weight = 1 / (1 + (*noise / kNoisy) * (*noise / kNoisy));
      }
      row.query.host_time = csv.OptionalNumber(columns.host_time, {0.01, 100}).value_or(1);
      row.query.workers = workload.workers;
      const std::string graph = std::string(
          csv.Text(columns.model).empty() ? csv.Text(columns.onnx) : csv.Text(columns.model));
      if (!csv.ok()) return csv.error();
      if (graph.empty()) {
        ++out_.without_graph;
        continue;
      }
      const std::string where = fmt::format("{}: line {}", path, csv.line());
      auto run = RunOf(workload.precision, csv.Text(columns.optimizer));
      if (!run) return tl::unexpected(std::move(run.error()).Within(where));
      row.query.run = *run;
      const auto gpu = Gpu(csv.Text(columns.gpu));
      if (!gpu) return tl::unexpected(core::Error(gpu.error()).Within(where));
      row.query.gpu = *gpu;
      const auto read = Graph(path, graph, std::max(1, workload.batch));
      if (!read) return tl::unexpected(core::Error(read.error()).Within(where));
      row.query.graph = *read;
      out_.rows.push_back(std::move(row));
    }
    if (!csv.ok()) return csv.error();
    return {};
  }

 private:
  static core::Result<graph::Run> RunOf(const std::string& precision, std::string_view optimizer) {
    graph::Run run;
    if (!precision.empty()) {
      const auto word = graph::ParsePrecision(precision);
      RETURN_IF_ERROR(word);
      run.precision = *word;
    }
    if (!optimizer.empty()) {
      const auto word = graph::ParseOptimizer(optimizer);
      RETURN_IF_ERROR(word);
      run.optimizer = *word;
    }
    return run;
  }

  core::Result<const core::GpuModel*> Gpu(std::string_view name) {
    const auto found = catalogue_.Find(name);
    RETURN_IF_ERROR(found);
    for (const core::GpuModel& gpu : out_.gpus) {
      if (gpu.name == found->name) return &gpu;
    }
    out_.gpus.push_back(*found);
    return &out_.gpus.back();
  }

  core::Result<const graph::Graph*> Graph(const std::string& profiles, const std::string& name,
                                          int batch) {
    const fs::path beside = fs::path(profiles).parent_path();
    fs::path file = beside / name;
    std::error_code ignored;
    if (!fs::exists(file, ignored)) file = beside / "onnx" / name;
    const auto key = std::make_pair(file.string(), batch);
    const auto known = graphs_.find(key);
    if (known != graphs_.end()) return known->second;
    auto read = advice::ReadModel(file.string(), {.batch = batch, .named = {}});
    RETURN_IF_ERROR(read);
    out_.graphs.push_back(std::move(*read));
    return graphs_[key] = &out_.graphs.back();
  }

  const catalogue::GpuCatalogue& catalogue_;
  TrainingSet& out_;
  std::map<std::pair<std::string, int>, const graph::Graph*> graphs_;
};

}  // namespace

void MergeRepeats(TrainingSet& set) {
  set.measured = set.rows.size();
  set.rows = predict::MergeRepeats(set.rows);
}

core::Result<TrainingSet> ReadTrainingSet(const std::vector<std::string>& paths,
                                          const catalogue::GpuCatalogue& catalogue) {
  TrainingSet out;
  Reading reading(catalogue, out);
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(reading.File(path));
  }
  if (out.rows.empty()) {
    return core::UsageError(
        "{}: no row names the graph of its model (column model or onnx), so nothing can be learnt",
        paths.empty() ? "no profiles" : paths[0]);
  }
  return out;
}

}  // namespace sharewell::research
