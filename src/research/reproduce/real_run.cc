#include "research/reproduce/real_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "json/reader.h"
#include "platform/files/mapped_file.h"

namespace sharewell::research::reproduce {
namespace {

using core::Result;
using core::UsageError;
using json::Reader;
using json::Value;

constexpr double kLongest = 1e8;  // seconds; nothing real lasts longer
constexpr std::size_t kMostJobs = 100000;
constexpr double kMostCores = 1e6;
constexpr json::Within kRates{1e-9, 1e12};  // steps a second

Reader PartOf(const Reader& whole, Value part, std::string place) {
  return {part, std::move(place), json::Trust::kSent, whole.error()};
}

void ReadTold(Reader in, RealJob& job) {
  constexpr json::Within kAmount{0, 1e15};
  job.told.gpu = in.TextOr("gpu", "H200");
  in.Number("steps_per_second", job.told.steps_per_second, kRates);
  in.Number("busy", job.told.busy, {0, 1});
  in.Number("sm", job.told.sm, {0, 1});
  in.Number("dram", job.told.dram, {0, 1});
  in.Number("cpu_cores", job.told.cpu_cores, {0, kMostCores});
  in.Number("gpu_memory_bytes", job.told.gpu_memory, kAmount);
  in.Number("host_memory_bytes", job.told.host_memory, kAmount);
  in.Number("power_watts", job.told.power, kAmount);
  in.Number("pcie_bytes_per_second", job.told.pcie, kAmount);
  in.Number("duration_seconds", job.told_duration, {0, kLongest});
  if (in.Has("source")) {
    const auto source = in.Member("source").Text();
    job.told_measured = source == "observed" || source == "measured";  // as older servers say
  }
}

RealJob ReadJob(Reader in) {
  RealJob job;
  job.workload.name = in.NeedText("workload");
  job.workload.batch = static_cast<int>(in.NeedNumber("batch", {0, 1e9}));
  job.workload.precision = in.NeedText("precision");
  job.workload.workers = static_cast<int>(in.NeedNumber("workers", {0, 1e6}));
  job.submit = in.NeedNumber("submit_seconds", {0, kLongest});
  job.start = in.NeedNumber("start_seconds", {0, kLongest});
  job.end = in.NeedNumber("end_seconds", {0, kLongest});
  in.Expect(job.start >= job.submit,
            "start_seconds: it is {:g}, before the job was submitted at {:g}", job.start,
            job.submit);
  in.Expect(job.end >= job.start, "end_seconds: it is {:g}, before the job was started at {:g}",
            job.end, job.start);
  in.Number("steady_seconds", job.steady, {0, kLongest});
  in.Number("steps_per_second", job.rate, kRates);
  in.Number("alone_steps_per_second", job.alone_rate, kRates);
  job.alone_here = in.Member("alone_from").Text() == "slot";
  in.Number("steps", job.steps, {1, 1e15});
  in.Number("cores_asked", job.cores, {0, kMostCores});
  job.attempts = static_cast<int>(in.NumberOr("attempt", 1, {0, 1e6}));
  job.finished = in.NeedText("phase") == "finished";
  if (in.Has("needs")) ReadTold(PartOf(in, in.Member("needs"), in.place() + "needs: "), job);
  job.told.workload = job.workload;
  return job;
}

// The machine as a cluster of one node.
std::string ClusterText(Reader in) {
  const auto gpus = in.NeedList("gpus", 64);
  in.Expect(!gpus.empty(), "gpus: it is no list of 1 to 64 GPUs");
  if (!in.ok()) return {};
  std::string model = PartOf(in, gpus.front(), in.place() + "gpus[0]: ").NeedText("model");
  const double cores = in.NeedNumber("cores", {1, kMostCores});
  const double memory = in.NeedNumber("memory_bytes", {1, 1e18});
  const auto known = catalogue::GpuCatalogue::Builtin().Find(model);
  in.Expect(known.has_value(), "its GPU model {} is in no catalogue", core::Quoted(model));
  if (!in.ok()) return {};
  return fmt::format("[[nodes]]\ngpus = {}\ngpu = \"{}\"\ncores = {:.0f}\nmemory_gb = {:.3f}\n",
                     gpus.size(), known->name, cores, memory / (1024.0 * 1024 * 1024));
}

}  // namespace

double RealRun::Makespan() const {
  double last = 0;
  for (const RealJob& job : jobs) last = std::max(last, job.end);
  return last;
}

double RealRun::Jct() const {
  double sum = 0;
  for (const RealJob& job : jobs) sum += job.end - job.submit;
  return sum / static_cast<double>(jobs.size());
}

Result<RealRun> ReadRealRun(const std::string& path) {
  const auto refuse = [&path](const std::string& why) {
    return UsageError("{}: {}; give records that tools/lab/run_mix.py wrote (docs/formats/run.md)",
                      core::Quoted(path), why);
  };
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  const auto parsed = json::Document::Parse(file->text());
  if (!parsed) return refuse(parsed.error().message);
  std::string problem;
  Reader in(parsed->root(), "", json::Trust::kSent, problem);
  if (!parsed->root().is_object()) return refuse("it is no JSON object");
  if (in.Member("kind").Text() != "mix-run") return refuse("it is no record of a mix");
  if (in.Member("schema").Number() != 1) return refuse("its schema is not 1");
  RealRun run;
  run.file = path;
  run.policy = in.NeedText("policy");
  in.Flag("stub", run.stub);
  in.Flag("warm", run.warm);
  in.Flag("complete", run.complete);
  in.Number("busy_mean", run.busy, {0, 1});
  // Without it nobody knows whether two records are of one mix.
  run.mix = in.Part("mix").NeedText("sha256");
  in.Expect(!run.mix.empty(), "mix: sha256: it is empty");
  run.cluster = ClusterText(PartOf(in, in.Need("machine"), "machine: "));
  const Value jobs = parsed->root()["jobs"];
  if (!jobs.is_list() || jobs.empty() || jobs.size() > kMostJobs) return refuse("it has no jobs");
  if (!run.complete) return refuse("not all of its jobs ended: it cannot be compared");
  for (const Value job : jobs.items()) {
    if (!problem.empty()) break;
    run.jobs.push_back(ReadJob(PartOf(in, job, fmt::format("job {}: ", run.jobs.size() + 1))));
  }
  // A makespan of 0 among them.
  if (problem.empty() && std::all_of(run.jobs.begin(), run.jobs.end(),
                                     [](const RealJob& job) { return job.end <= job.start; })) {
    problem = fmt::format(
        "job {}: end_seconds: it is {:g}, when it started, and so is every job's: nothing ran",
        run.jobs.size(), run.jobs.back().end);
  }
  if (!problem.empty()) return refuse(problem);
  return run;
}

}  // namespace sharewell::research::reproduce
