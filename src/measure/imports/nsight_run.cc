#include "measure/imports/nsight_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "collect/gpu/dcgm/dcgm_library.h"
#include "collect/gpu/gpus.h"
#include "core/text/quoted.h"
#include "import/ncu.h"
#include "platform/files/embedded.h"
#include "platform/files/mapped_file.h"
#include "platform/files/short_folder.h"
#include "platform/files/write_file.h"
#include "platform/process/child.h"
#include "platform/process/passed_signals.h"

namespace sharewell::measure {
namespace {

using core::ProfileRecord;
using core::Result;

constexpr core::Seconds kGrace{10};
constexpr const char* kHeading = "\"Kernel Name\"";  // of the table, which is there or not

// What one pass over a kernel counts. With more passes, as SM and memory throughput need, the GPU's
// memory is saved and restored for every kernel, which takes seconds each.
constexpr const char* kMetrics =
    "gpu__time_duration.sum,lts__t_sectors.avg.pct_of_peak_sustained_elapsed,"
    "dram__bytes_read.sum.pct_of_peak_sustained_elapsed,"
    "dram__bytes_write.sum.pct_of_peak_sustained_elapsed,"
    "sm__warps_active.avg.pct_of_peak_sustained_active";

// The first line of Nsight Compute's own that tells of an error; empty: none does.
std::string_view ErrorIn(std::string_view log) {
  constexpr std::string_view kMark = "==ERROR==";
  const std::size_t at = log.find(kMark);
  if (at == std::string_view::npos) return {};
  std::string_view line = log.substr(at + kMark.size());
  line = line.substr(0, line.find('\n'));
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  return line.substr(0, 300);
}

core::Error Refused(std::string_view said) {
  const bool rights = said.find("ERR_NVGPUCTRPERM") != std::string_view::npos;
  const bool taken = said.find("driver resource was unavailable") != std::string_view::npos;
  return core::Error{
      core::ErrorKind::kFailed,
      fmt::format("Nsight Compute: {}; {}", core::Quoted(std::string(said)),
                  rights  ? "run it as root, or let an admin allow counters to all users "
                            "(the driver's option NVreg_RestrictProfilingToAdminUsers=0)"
                  : taken ? "another program has the GPU's counters: start the agent with --gpm "
                            "off, or end the other profiler"
                          : "run the same command by hand with ncu before it to see more")};
}

std::string Preloaded(const std::string& library) {
  const char* const others = std::getenv("LD_PRELOAD");
  return others != nullptr && *others != 0 ? fmt::format("{}:{}", library, others) : library;
}

struct Pass {
  std::string text;   // Nsight Compute's log, with the table if it has one
  bool late = false;  // the job was ended by us
};
// Whether anything was counted is told by the table alone: a job that ends before it is warm is no
// error to Nsight Compute. `library`: what tells it that the job is warm; empty: from the start.
Result<Pass> RunOnce(const NsightRun& run, const std::string& library, const std::string& log) {
  platform::ChildOptions options;
  options.command = {run.program,
                     "--csv",
                     "--page",
                     "raw",
                     "--target-processes",
                     "all",
                     "--clock-control",
                     "none",
                     "--cache-control",
                     "none",
                     "--profile-from-start",
                     library.empty() ? "on" : "off",
                     "--launch-count",
                     std::to_string(run.kernels),
                     "--kill",
                     "yes",
                     "--metrics",
                     kMetrics,
                     "--log-file",
                     log};
  if (!library.empty()) {
    options.environment = {{"LD_PRELOAD", Preloaded(library)},
                           {"SHAREWELL_PROFILE_AFTER", fmt::format("{}", run.warm.value)}};
  }
  options.command.insert(options.command.end(), run.command.begin(), run.command.end());
  options.out.to = platform::ChildOutput::To::kNull;
  options.err.to = platform::ChildOutput::To::kNull;
  platform::PassedSignals signals;
  auto child = platform::Child::Start(options);
  RETURN_IF_ERROR(child);
  const auto begin = std::chrono::steady_clock::now();
  const auto over = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
           run.limit.value + (library.empty() ? 0 : run.warm.value);
  };
  bool late = false;
  std::optional<int> signal;
  while (!(*child)->Ended() && !late && !signal) {
    platform::Child* const one = child->get();
    platform::WaitForChildren({&one, 1}, core::Seconds{1});
    if (const auto next = signals.Next(); next && next->number != SIGWINCH) signal = next->number;
    late = over();
  }
  (*child)->Stop(kGrace);
  if (signal) return core::FailedError("interrupted while kernels were counted");
  const auto file = platform::MappedFile::Open(log);
  if (!file) {
    return core::FailedError(
        "Nsight Compute wrote nothing{}; run the same command by hand with ncu before it",
        late ? fmt::format(" within {:.0f} min", run.limit.value / 60) : "");
  }
  return Pass{std::string(file->text()), late};
}

// Before Hopper the counters are one program's, and DCGM's service may be that program. Later GPUs
// have some for each, so nobody's figures are cut off there.
std::optional<collect::DcgmPause> PausedDcgm() {
  const auto gpus = collect::FindGpus(collect::GivenNvmlLibrary());
  const bool old = gpus && std::any_of(gpus->begin(), gpus->end(),
                                       [](const collect::GpuFacts& gpu) { return !gpu.gpm; });
  if (!old) return std::nullopt;
  return std::optional<collect::DcgmPause>(std::in_place, collect::GivenDcgmLibrary());
}

}  // namespace

Result<ProfileRecord> MeasureKernels(const NsightRun& run) {
  const auto paused = PausedDcgm();
  const platform::ShortFolder folder;
  if (folder.path().empty()) {
    return core::FailedError("no folder could be made in /tmp: {}", std::strerror(errno));
  }
  const std::string library = folder.path() + "/profiler.so";
  RETURN_IF_ERROR(platform::WriteFile(library, platform::EmbeddedProfilerLibrary()));
  bool reached = true;
  for (const bool warm : {true, false}) {
    const auto pass = RunOnce(run, warm ? library : "",
                              fmt::format("{}/{}.csv", folder.path(), warm ? "warm" : "first"));
    RETURN_IF_ERROR(pass);
    const std::string_view said = ErrorIn(pass->text);
    if (pass->text.find(kHeading) == std::string::npos) {
      if (!said.empty()) return tl::unexpected(Refused(said));
      if (warm) reached = !pass->late;
      if (!warm && pass->late) {
        return core::FailedError("no kernel was counted within {:.0f} min, and the job was ended",
                                 run.limit.value / 60);
      }
      continue;
    }
    // These need several passes (docs/profiling.md).
    auto read = imports::ReadNcuText(pass->text, "Nsight Compute's table",
                                     {imports::KernelMetric::kSm, imports::KernelMetric::kMemory});
    RETURN_IF_ERROR(read);
    if (read->kernels.empty()) continue;
    read->source = "ncu";
    read->notes.push_back(
        warm
            ? fmt::format("kernels were counted in a run of their own, {:.0f} s after it had begun "
                          "to use the GPU",
                          run.warm.value)
            : fmt::format("kernels were counted in a run of their own from the first one on, as {}",
                          reached ? "it ended before it was warm"
                                  : "Nsight Compute could not be told when it was warm"));
    if (!said.empty())
      read->notes.push_back("not all of them were: " + core::Quoted(std::string(said)));
    return std::move(*read);
  }
  return core::FailedError(
      "Nsight Compute saw no kernel: the job uses no GPU, or ended before its first kernel");
}

}  // namespace sharewell::measure
