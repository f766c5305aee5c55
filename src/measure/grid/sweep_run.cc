// What sweep and colocate have in common: from a request to a RunSpec, from a record to a summary.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "measure/grid/sweep.h"
#include "platform/files/mapped_file.h"

namespace sharewell::measure {
namespace {

constexpr std::size_t kLastWords = 16 * 1024;

// The mean of the first of these metrics that was read; GPM's PCIe figures are the steadier ones.
std::optional<core::BytesPerSecond> MeanOf(const core::ProfileRecord& record,
                                           std::initializer_list<std::string_view> metrics) {
  for (const std::string_view metric : metrics) {
    std::optional<core::BytesPerSecond> sum;
    for (const core::Figure& figure : record.figures) {
      if (figure.metric != metric) continue;
      sum = sum.value_or(core::BytesPerSecond(0)) + core::BytesPerSecond(figure.mean);
    }
    if (sum) return sum;
  }
  return std::nullopt;
}

// Of the GPU that has most of it.
std::optional<double> MostOf(const core::ProfileRecord& record, std::string_view metric) {
  std::optional<double> most;
  for (const core::Figure& figure : record.figures) {
    if (figure.metric == metric) most = std::max(most.value_or(figure.mean), figure.mean);
  }
  return most;
}

// The end of what it wrote.
std::string LastWords(const std::string& log) {
  const auto file = platform::MappedFile::Open(log, platform::MappedFile::Access::kSparse);
  if (!file) return {};
  const auto text = file->text();
  return std::string(text.substr(text.size() - std::min(text.size(), kLastWords)));
}

std::string LastLine(const std::string& text) {
  const auto end = text.find_last_not_of("\r\n\t ");
  if (end == std::string::npos) return {};
  const auto begin = text.find_last_of("\r\n", end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

WatchOptions WatchFor(const Measuring& measuring, const GridOptions& options) {
  WatchOptions watch = options.watch;
  watch.interval = measuring.interval;
  watch.warmup = measuring.warmup;
  watch.until = measuring.seconds ? Until::kFor : Until::kSettled;
  if (measuring.seconds) watch.window = *measuring.seconds;
  watch.at_most = measuring.at_most;
  return watch;
}

RunSpec RunSpecFor(const RunRequest& request, const GridOptions& options) {
  RunSpec spec{.name = request.name, .command = request.command};
  spec.environment = request.environment;
  // What the spec says itself comes later in the list, and so wins.
  const auto ahead = [&](const char* name, const std::string& value) {
    spec.environment.emplace(spec.environment.begin(), name, value);
  };
  spec.cpus = request.cpus;
  spec.memory = request.memory;
  spec.throughput = request.throughput;
  spec.workload = request.workload;
  if (request.threads) {
    for (const char* name :
         {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"}) {
      ahead(name, fmt::format("{}", *request.threads));
    }
  }
  if (!options.gpus.empty() && request.gpus != 0) spec.gpu = options.gpus.front().name;
  if (request.gpus) {
    for (int i = 0; i < *request.gpus; ++i) spec.gpus.push_back(fmt::format("{}", i));
    ahead("CUDA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(spec.gpus, ",")));
    ahead("CUDA_DEVICE_ORDER", "PCI_BUS_ID");  // as NVML counts
  }
  spec.out = {.to = platform::ChildOutput::To::kFile, .file = request.log};
  spec.err = spec.out;
  return spec;
}

RunSummary SummaryOf(const core::ProfileRecord& record) {
  RunSummary summary;
  summary.profile = record.profile;
  summary.pcie_sent =
      MeanOf(record, {"gpu_gpm_pcie_sent_bytes_per_second", "gpu_pcie_sent_bytes_per_second"});
  summary.pcie_received = MeanOf(
      record, {"gpu_gpm_pcie_received_bytes_per_second", "gpu_pcie_received_bytes_per_second"});
  summary.device_busy = MostOf(record, "gpu_busy_ratio");
  summary.device_sm = MostOf(record, "gpu_sm_ratio");
  summary.device_dram = MostOf(record, "gpu_dram_ratio");
  if (const auto power = MostOf(record, "gpu_power_watts")) {
    summary.device_power = core::Watts(*power);
  }
  summary.uncertainty = record.uncertainty;
  summary.settled = record.settled;
  summary.warmup = record.warmup;
  summary.window = record.window;
  summary.exit_code = record.exit_code;
  summary.profile_id = record.id;
  summary.throughput_source = record.throughput_source;
  summary.bound_by = record.bound_by;
  summary.notes = record.notes;
  return summary;
}

std::optional<Failure> FailureOf(const core::ProfileRecord& record, const std::string& log,
                                 bool memory_killed) {
  if (!record.exit_code || *record.exit_code == 0) {
    if (record.profile.steps_per_second || !record.figures.empty()) return std::nullopt;
    return Failure{"it ended before anything could be measured; give it more steps", false};
  }
  const std::string words = LastWords(log);
  const std::string lower = core::LowerCase(words);
  Failure failure;
  failure.why = *record.exit_code > 128 ? fmt::format("ended by signal {}", *record.exit_code - 128)
                                        : fmt::format("exit code {}", *record.exit_code);
  failure.out_of_memory = memory_killed || lower.find("out of memory") != std::string::npos ||
                          lower.find("outofmemory") != std::string::npos ||
                          lower.find("cannot allocate memory") != std::string::npos ||
                          lower.find("memoryerror") != std::string::npos;
  if (failure.out_of_memory)
    failure.why += memory_killed ? ", out of host memory" : ", out of memory";
  if (const auto line = LastLine(words); !line.empty()) {
    failure.why += fmt::format("; its last words: {}", core::QuotedEnd(line));
  }
  return failure;
}

core::Result<std::string> FreshLog(const std::string& folder, const std::string& key) {
  const auto logs = std::filesystem::path(folder) / "logs";
  std::error_code error;
  std::filesystem::create_directories(logs, error);
  if (error) return core::FailedError("{}: cannot be made: {}", logs.string(), error.message());
  const auto log = logs / (key + ".txt");
  std::filesystem::remove(log, error);
  return log.string();
}

}  // namespace sharewell::measure
