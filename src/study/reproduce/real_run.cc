#include "study/reproduce/real_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/files/mapped_file.h"

namespace sharewell::study::reproduce {
namespace {

using core::Result;
using core::UsageError;
using Json = nlohmann::json;
using Number = std::optional<double>;

constexpr double kLongest = 1e8;  // seconds; nothing real lasts longer
constexpr std::size_t kMostJobs = 100000;
constexpr double kMostCores = 1e6;
constexpr double kLeastRate = 1e-9, kMostRate = 1e12;  // steps a second

// Reads one key after the other and keeps the first that is wrong.
class Reader {
 public:
  Reader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  const Json* Find(const char* key) const {
    const auto it = object_.is_object() ? object_.find(key) : object_.end();
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  Number Maybe(const char* key, double least, double most) {
    const Json* value = Find(key);
    if (value == nullptr) return std::nullopt;
    const double number = value->is_number() ? value->get<double>() : std::nan("");
    if (number >= least && number <= most) return number;
    Wrong(key, fmt::format("it is {}, not a number from {} to {}", core::Quoted(value->dump()),
                           least, most));
    return std::nullopt;
  }
  double Need(const char* key, double least, double most) {
    const Number number = Maybe(key, least, most);
    if (!number) Wrong(key, "it is missing");
    return number.value_or(least);
  }
  std::string Text(const char* key) {
    const Json* value = Find(key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    Wrong(key, "it is missing, or no text");
    return {};
  }
  bool Flag(const char* key) const {
    const Json* value = Find(key);
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }
  void Wrong(const char* key, const std::string& why) {
    if (problem_.empty()) problem_ = fmt::format("{}: '{}': {}", where_, key, why);
  }
  const std::string& problem() const { return problem_; }

 private:
  const Json& object_;
  std::string where_, problem_;
};

void ReadTold(const Json& needs, RealJob& job, std::string& problem, const std::string& where) {
  Reader in(needs, where + ": needs");
  job.told.gpu = "H200";
  if (const Json* gpu = in.Find("gpu"); gpu != nullptr && gpu->is_string()) {
    job.told.gpu = gpu->get<std::string>();
  }
  const auto amount = [&in](const char* key) { return in.Maybe(key, 0, 1e15); };
  job.told.steps_per_second = in.Maybe("steps_per_second", kLeastRate, kMostRate);
  job.told.busy = in.Maybe("busy", 0, 1);
  job.told.sm = in.Maybe("sm", 0, 1);
  job.told.dram = in.Maybe("dram", 0, 1);
  job.told.cpu_cores = in.Maybe("cpu_cores", 0, kMostCores);
  if (const Number v = amount("gpu_memory_bytes")) job.told.gpu_memory = core::Bytes(*v);
  if (const Number v = amount("host_memory_bytes")) job.told.host_memory = core::Bytes(*v);
  if (const Number v = amount("power_watts")) job.told.power = core::Watts(*v);
  if (const Number v = amount("pcie_bytes_per_second")) job.told.pcie = core::BytesPerSecond(*v);
  job.told_duration = in.Maybe("duration_seconds", 0, kLongest);
  if (const Json* source = in.Find("source"); source != nullptr) {
    job.told_measured = *source == "measured";
  }
  if (problem.empty()) problem = in.problem();
}

RealJob ReadJob(const Json& from, const std::string& where, std::string& problem) {
  RealJob job;
  Reader in(from, where);
  job.workload.name = in.Text("workload");
  job.workload.batch = static_cast<int>(in.Need("batch", 0, 1e9));
  job.workload.precision = in.Text("precision");
  job.workload.workers = static_cast<int>(in.Need("workers", 0, 1e6));
  job.submit = in.Need("submit_seconds", 0, kLongest);
  job.start = in.Need("start_seconds", 0, kLongest);
  job.end = in.Need("end_seconds", 0, kLongest);
  if (job.start < job.submit) {
    in.Wrong("start_seconds", fmt::format("it is {:g}, before the job was submitted at {:g}",
                                          job.start, job.submit));
  }
  if (job.end < job.start) {
    in.Wrong("end_seconds",
             fmt::format("it is {:g}, before the job was started at {:g}", job.end, job.start));
  }
  job.steady = in.Maybe("steady_seconds", 0, kLongest);
  job.rate = in.Maybe("steps_per_second", kLeastRate, kMostRate);
  job.alone_rate = in.Maybe("alone_steps_per_second", kLeastRate, kMostRate);
  if (const Json* from_what = in.Find("alone_from"); from_what != nullptr) {
    job.alone_here = *from_what == "slot";
  }
  job.steps = in.Maybe("steps", 1, 1e15);
  job.cores = in.Maybe("cores_asked", 0, kMostCores);
  job.attempts = static_cast<int>(in.Maybe("attempt", 0, 1e6).value_or(1));
  job.finished = in.Text("phase") == "finished";
  problem = in.problem();
  if (const Json* needs = in.Find("needs"); needs != nullptr) ReadTold(*needs, job, problem, where);
  job.told.workload = job.workload;
  return job;
}

// The machine as a cluster of one node.
std::string ClusterText(const Json* machine, std::string& problem) {
  const Json nothing = Json::object();
  Reader in(machine == nullptr ? nothing : *machine, "machine");
  const Json* gpus = in.Find("gpus");
  std::string model;
  if (gpus != nullptr && gpus->is_array() && !gpus->empty() && gpus->size() <= 64) {
    Reader first(gpus->front(), "machine: the first of gpus");
    model = first.Text("model");
    if (problem.empty()) problem = first.problem();
  } else {
    in.Wrong("gpus", "it is no list of 1 to 64 GPUs");
  }
  const double cores = in.Need("cores", 1, kMostCores);
  const double memory = in.Need("memory_bytes", 1, 1e18);
  if (problem.empty()) problem = in.problem();
  if (!problem.empty()) return {};
  if (const auto known = catalogue::GpuCatalogue::Builtin().Find(model); known) {
    model = known->name;
  } else {
    problem = fmt::format("machine: its GPU model {} is in no catalogue", core::Quoted(model));
    return {};
  }
  return fmt::format("[[nodes]]\ngpus = {}\ngpu = \"{}\"\ncores = {:.0f}\nmemory_gb = {:.3f}\n",
                     gpus->size(), model, cores, memory / (1024.0 * 1024 * 1024));
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
  const Json json = Json::parse(file->text(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return refuse("it is no JSON object");
  Reader in(json, "the record");
  if (in.Text("kind") != "mix-run") return refuse("it is no record of a mix");
  if (in.Maybe("schema", 0, 1e9) != 1) return refuse("its schema is not 1");
  RealRun run;
  run.file = path;
  run.policy = in.Text("policy");
  run.stub = in.Flag("stub");
  run.warm = in.Flag("warm");
  run.complete = in.Flag("complete");
  run.busy = in.Maybe("busy_mean", 0, 1);
  std::string problem = in.problem();
  // Without it nobody knows whether two records are of one mix.
  const Json* mix = in.Find("mix");
  const Json nothing = Json::object();
  Reader inside(mix == nullptr ? nothing : *mix, "mix");
  run.mix = inside.Text("sha256");
  if (run.mix.empty()) inside.Wrong("sha256", "it is empty");
  if (problem.empty()) problem = inside.problem();
  run.cluster = ClusterText(in.Find("machine"), problem);
  const Json* jobs = in.Find("jobs");
  if (jobs == nullptr || !jobs->is_array() || jobs->empty() || jobs->size() > kMostJobs) {
    return refuse("it has no jobs");
  }
  if (!run.complete) return refuse("not all of its jobs ended: it cannot be compared");
  for (const Json& job : *jobs) {
    if (!problem.empty()) break;
    run.jobs.push_back(ReadJob(job, fmt::format("job {}", run.jobs.size() + 1), problem));
  }
  // A makespan of 0 among them.
  if (problem.empty() && std::all_of(run.jobs.begin(), run.jobs.end(),
                                     [](const RealJob& job) { return job.end <= job.start; })) {
    problem = fmt::format(
        "job {}: 'end_seconds': it is {:g}, when it started, and so is every job's: nothing ran",
        run.jobs.size(), run.jobs.back().end);
  }
  if (!problem.empty()) return refuse(problem);
  return run;
}

}  // namespace sharewell::study::reproduce
