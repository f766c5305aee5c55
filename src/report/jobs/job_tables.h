// Jobs and GPUs of a running server for a terminal: the list, one job's page, who shares what.
// Pure: the time is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/job_metrics.h"
#include "core/job/job_record.h"
#include "core/text/plain_text.h"
#include "core/units.h"
#include "report/jobs/job_rows.h"

namespace sharewell::report {

// A GPU of the server as it is now. Unknown is absent.
// A process on a GPU that is no job.
struct StrangerNow {
  int pid = 0;
  std::string user;
  core::Bytes memory;
  bool busy = false;
};

struct GpuNow {
  core::GivenGpu gpu;
  std::optional<core::Bytes> memory, memory_used;
  bool simulated = false, drained = false;
  std::string problem;
  std::vector<StrangerNow> strangers = {};
  std::vector<std::int64_t> jobs;
  std::optional<core::Ratio> busy;
  std::optional<core::Watts> power;
};

struct NodeNow {
  std::string name, policy;
  std::optional<double> cores, cores_given;
  bool simulated_cores = false;
  bool store_up = true;
  std::string store_problem;
  // Of the machine that the jobs run on; unknown where the server does not read it.
  std::optional<core::Ratio> cpu_busy = {};
  std::optional<core::Bytes> memory = {}, memory_used = {};
};

// What people call it (core::NameOf), fit for a terminal.
std::string GpuName(const core::GivenGpu& gpu);
// "GPU 0 (H200)", "GPUs 0, 1 (simulated H200)", "no GPU".
std::string GpusInWords(const std::vector<core::GivenGpu>& gpus);

// What a job is believed to need and from where, in one line: "18.2 GB of GPU memory (at most 22.1
// GB), GPU busy 92 %, 3.1 cores (predicted: resnet50.onnx at batch 64)".
std::string NeedsInWords(const core::Needs& needs);

// Where it is or when it should start, in one line: "runs on GPU 0 (H200) beside job 12", "waits:
// no GPU has room; should start in about 4 min, as believed now", "finished after 2m 10s".
std::string StateInWords(const core::JobRecord& job, core::UnixMillis now);
// Of a job that waits: "should start in about 4 min, as believed now".
std::string StartInWords(core::UnixMillis start, core::UnixMillis now);

bool HasItsPlace(const core::JobRecord& job);  // it starts, runs, or is on its way out

// A running job's speed against itself alone.
std::optional<core::Ratio> SpeedAgainstAlone(const core::JobRecord& job);
// How long it has run, all attempts together; absent: it has not.
std::optional<core::Seconds> RanFor(const core::JobRecord& job, core::UnixMillis now);

using core::PlainText;  // text of others, on a terminal
// At most `width` characters, the last of them "…" where something is missing.
std::string CutTo(std::string text, std::size_t width);

// Whom running jobs share with now: JobRecord::beside tells it of the time of their start.
void PutNeighbours(std::vector<core::JobRecord>& jobs, const std::vector<GpuNow>& gpus);

// One row a job, or an array unless `flat`, in the order given; below it why they wait, run or have
// failed, each reason once. Where `width` is small the least important columns are left out.
std::string JobsTable(const std::vector<core::JobRecord>& jobs, core::UnixMillis now,
                      std::size_t width, bool flat = false);

// Everything that is known of one, what was believed beside what was measured.
std::string JobPage(const core::JobRecord& job, core::UnixMillis now, std::size_t width,
                    const core::JobMetrics& metrics = {});

// Every GPU with the jobs on it and the speed each keeps, then jobs without one; of users and
// states that are left out neither jobs nor GPUs. `running`: all that run.
std::string TopPage(const NodeNow& node, const std::vector<GpuNow>& gpus,
                    const std::vector<core::JobRecord>& running,
                    const std::map<std::string, std::int64_t>& counts, core::UnixMillis now,
                    std::size_t width, const JobsShown& shown = {});

}  // namespace sharewell::report
