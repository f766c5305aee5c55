#include "server/live/studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "control/service/jobs/kept_usage.h"
#include "core/result.h"
#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "engine/local/run/job_files.h"
#include "engine/local/run/job_folder.h"
#include "engine/local/run/old_logs.h"
#include "platform/clock/wall_clock.h"
#include "report/measure/profiles_list.h"
#include "report/simulation/whatif.h"
#include "report/text/format.h"
#include "server/learn/learner_json.h"
#include "server/learn/measured.h"
#include "server/live/neighbours.h"
#include "server/live/step_reader.h"
#include "server/live/study_worker.h"
#include "server/live/usage.h"
#include "simulation/replay/forecast.h"
#include "simulation/replay/trace_whatif.h"
#include "simulation/replay/whatif.h"
#include "simulation/scenario.h"
#include "store/job_store.h"
#include "store/store.h"
#include "trace/reader.h"

namespace sharewell::server {
namespace {

using core::Result;

constexpr double kDayMillis = 86400e3;
// A thousand jobs take half of it; of what waits further back nobody can tell much anyway.
constexpr auto kMostExpecting = std::chrono::milliseconds(200);

// Every call opens the store anew: they are rare, and come on a thread of their own.
Result<std::string> Simulate(const StudyParts& parts, const std::vector<std::string>& policies,
                             double days, const api::WhatIfProgress& progress,
                             const api::StudyRun& run) {
  auto jobs = store::OpenJobs(parts.store);
  RETURN_IF_ERROR(jobs);
  const core::UnixMillis now = platform::UnixNow();
  store::JobFilter filter;
  filter.ended_since = now - static_cast<core::UnixMillis>(days * kDayMillis);
  filter.most = 20'000;
  filter.most_bytes = std::size_t{64} << 20;  // of memory about three times that
  const auto records = (*jobs)->Jobs(filter);
  RETURN_IF_ERROR(records);
  const auto shared = (*jobs)->SharedRuns();
  RETURN_IF_ERROR(shared);
  std::vector<const core::JobRecord*> played;
  for (const core::JobRecord& record : *records) played.push_back(&record);
  simulation::WhatIfOptions options;
  options.now = now;
  options.max_slowdown = parts.max_slowdown;
  options.match_patience = parts.match_patience;
  const auto cluster = parts.service->View().cluster;
  return InWorker(
      SimulationKind(), run,
      [&](const api::WhatIfProgress& tell) -> Result<std::string> {
        options.progress = tell;
        const auto result = simulation::WhatIf(played, *cluster, *shared, policies, options);
        RETURN_IF_ERROR(result);
        return report::WhatIfJson(*result);
      },
      progress);
}

constexpr std::size_t kMostTraceJobs = 20'000;

// A trace that somebody brings, on this server's machines.
Result<std::string> SimulateTrace(const StudyParts& parts, const std::string& text,
                                  const std::string& name, const std::vector<std::string>& policies,
                                  const core::Cluster& cluster,
                                  const api::WhatIfProgress& progress) {
  const auto trace = trace::ReadTraceText(text, name);
  RETURN_IF_ERROR(trace);
  if (trace->jobs.size() > kMostTraceJobs) {
    return core::UsageError(
        "{} has {} jobs, and a server plays {} at most: `sharewell simulate` has no such limit",
        core::Quoted(name), trace->jobs.size(), kMostTraceJobs);
  }
  const auto scenario = simulation::BuildScenario(
      *trace, name, cluster, catalogue::BuiltinMeasurements(), *parts.catalogue, {});
  RETURN_IF_ERROR(scenario);
  simulation::WhatIfOptions options;
  options.max_slowdown = parts.max_slowdown;
  options.match_patience = parts.match_patience;
  options.progress = progress;
  const auto result = simulation::TraceWhatIf(*scenario, policies, options);
  RETURN_IF_ERROR(result);
  return report::WhatIfJson(*result);
}

// What a forecast begins with, looked up where that may be done.
struct QueueNow {
  std::vector<core::SharedRun> shared;
  std::map<std::string, control::KeptUsage> used;  // by user, as stored with the end of a run
  std::vector<control::JobPtr> live;
  control::ServiceView view;
};

Result<QueueNow> LookAtQueue(const StudyParts& parts) {
  auto jobs = store::OpenJobs(parts.store);
  RETURN_IF_ERROR(jobs);
  auto shared = (*jobs)->SharedRuns();
  RETURN_IF_ERROR(shared);
  const auto kept = (*jobs)->KeptUnder(std::string(control::kUsageFacts));
  RETURN_IF_ERROR(kept);
  QueueNow queue{std::move(*shared), {}, parts.service->board().Live(), parts.service->View()};
  for (const auto& [user, text] : *kept) {
    if (const auto used = control::KeptUsageFrom(text)) queue.used.emplace(user, *used);
  }
  return queue;
}

// What users have used by now: as it was stored, and what their runs have used since.
std::map<std::string, double> UsageNow(const QueueNow& queue, core::UnixMillis now) {
  std::map<std::string, double> usage;
  for (const auto& [user, used] : queue.used) usage[user] = control::UsageAt(used, now);
  for (const control::JobPtr& job : queue.live) {
    const auto since = job->resumed ? job->resumed : job->started;
    const bool runs = job->phase != core::Phase::kWaiting && job->phase != core::Phase::kHeld;
    if (!runs || !since) continue;
    const auto stored = queue.used.find(job->user.name);
    const auto from = stored == queue.used.end() ? *since : std::max(*since, stored->second.at);
    usage[job->user.name] += std::max(0.0, static_cast<double>(now - from) / 1e3) * job->asked.gpus;
  }
  return usage;
}

// `asked`: a job that is not there yet; may be null.
Result<simulation::ForecastResult> PlayForward(const StudyParts& parts, const QueueNow& queue,
                                               const core::Submission* asked,
                                               simulation::ForecastOptions options) {
  std::vector<const core::JobRecord*> records;
  for (const control::JobPtr& job : queue.live) records.push_back(job.get());
  std::vector<core::GivenGpu> gpus;
  std::vector<core::GpuId> closed;
  for (const control::GpuView& gpu : queue.view.gpus) {
    if (!gpu.usable()) closed.emplace_back(gpus.size());
    gpus.push_back(gpu.gpu);
  }
  core::JobRecord considered;
  if (asked != nullptr) {
    considered.asked = *asked;
    if (asked->needs) considered.believed = *asked->needs;
  }
  options.policy = parts.policy;
  options.max_slowdown = parts.max_slowdown;
  options.usage = UsageNow(queue, options.now);
  options.match_patience = parts.match_patience;
  options.projects = parts.projects;
  return simulation::Forecast(records, *queue.view.cluster, gpus, closed, queue.shared,
                              asked != nullptr ? &considered : nullptr, options);
}

Result<std::string> ToldForward(const StudyParts& parts,
                                const std::optional<core::Submission>& asked,
                                const api::StudyRun& run) {
  const auto queue = LookAtQueue(parts);
  RETURN_IF_ERROR(queue);
  const core::UnixMillis now = platform::UnixNow();
  return InWorker(ForecastKind(), run, [&](const api::WhatIfProgress&) -> Result<std::string> {
    const auto result = PlayForward(parts, *queue, asked ? &*asked : nullptr, {.now = now});
    RETURN_IF_ERROR(result);
    return asked ? report::ConsideredJson(*result) : report::ForecastJson(*result);
  });
}

// Nobody's study: it has a thread of its own here, and so much time.
Result<api::Starts> ExpectedStarts(const StudyParts& parts) {
  const core::UnixMillis now = platform::UnixNow();
  const auto until = std::chrono::steady_clock::now() + kMostExpecting;
  const auto queue = LookAtQueue(parts);
  RETURN_IF_ERROR(queue);
  const auto result = PlayForward(
      parts, *queue, nullptr,
      {.now = now, .go_on = [until] { return std::chrono::steady_clock::now() < until; }});
  RETURN_IF_ERROR(result);
  api::Starts starts;
  for (const simulation::ExpectedStart& job : result->jobs) {
    // What could start now, and does not, waits for something that the forecast does not know.
    if (job.start && *job.start > now) starts.emplace(job.number, *job.start);
  }
  return starts;
}

Result<std::string> Profiles(const StudyParts& parts, const std::string& name) {
  auto store = store::Open(parts.store);
  RETURN_IF_ERROR(store);
  store::ProfileFilter filter;
  if (!name.empty()) filter.name = name;
  const auto records = (*store)->Profiles(filter);
  RETURN_IF_ERROR(records);
  return report::ProfilesListJson(*records);
}

std::string Asked(const api::Query& query, std::string_view key, const std::string& usual) {
  for (const auto& [name, value] : query) {
    if (name == key) return value;
  }
  return usual;
}

std::string LogsAreGone(std::int64_t number) {
  const engine::LogRetention kept;
  return fmt::format(
      "the logs of job {} are not kept any more: they go {} days after a job has ended, and the "
      "oldest sooner when all take more than {} or {:.0f} % of the disk",
      number, kept.age.value / 86400, report::Size(kept.all), kept.of_disk * 100);
}

Result<std::string> Predict(const StudyParts& parts, const std::string& model,
                            const api::Query& query, const api::StudyRun& run) {
  advice::PredictionAsk ask;
  const std::string name = Asked(query, "name", "model.onnx");
  const auto batch = core::ParseWhole("batch", Asked(query, "batch", "1"), 1, 1'000'000);
  RETURN_IF_ERROR(batch);
  const auto workers = core::ParseWhole("workers", Asked(query, "workers", "4"), 0, 1024);
  RETURN_IF_ERROR(workers);
  ask.batch = static_cast<std::int64_t>(*batch);
  ask.workers = static_cast<int>(*workers);
  ask.precision = Asked(query, "precision", "fp32");
  ask.optimizer = Asked(query, "optimizer", "sgd");
  const auto gpus = core::ParseWhole("gpus", Asked(query, "gpus", "1"), 1, 64);
  RETURN_IF_ERROR(gpus);
  ask.gpus = static_cast<int>(*gpus);
  const auto& models = parts.machine->cluster.models();
  ask.gpu = Asked(query, "gpu", models.empty() ? "H200" : models.front().name);
  const ModelInMemory file(model);
  if (file.fd < 0) {
    return core::FailedError("there is no memory for the model: {}", std::strerror(errno));
  }
  return PredictInWorker(*parts.learner, std::move(ask), file.fd, *parts.catalogue, name, run);
}

}  // namespace

api::Studies ServerStudies(const StudyParts& parts) {
  api::Studies studies;
  studies.predictor = [parts] {
    return LearnerJson(parts.learner->State(), parts.advisor->Taught());
  };
  studies.use_predictor = [parts](const std::string& what) { return parts.learner->Use(what); };
  studies.forget_user = [parts](const std::string& user) {
    parts.advisor->Forget(user);
    parts.learner->Forget(user);
  };
  studies.exposition = [parts] { return LearnerMetrics(parts.learner->State()); };
  studies.predict = [parts](const std::string& model, const api::Query& query,
                            const api::StudyRun& run) { return Predict(parts, model, query, run); };
  studies.whatif = [parts](const std::vector<std::string>& policies, double days,
                           const api::WhatIfProgress& progress, const api::StudyRun& run) {
    return Simulate(parts, policies, days, progress, run);
  };
  studies.simulate = [parts](const std::string& trace, const std::string& name,
                             const std::vector<std::string>& policies,
                             const api::WhatIfProgress& progress, const api::StudyRun& run) {
    const auto cluster = parts.service->View().cluster;
    return InWorker(
        SimulationKind(), run,
        [&](const api::WhatIfProgress& tell) {
          return SimulateTrace(parts, trace, name, policies, *cluster, tell);
        },
        progress);
  };
  studies.usage = [keeper = std::make_shared<UsageKeeper>(
                       parts.store, [service = parts.service] { return service->View(); },
                       parts.watch == nullptr)](std::int64_t seconds) {
    return keeper->Answer(seconds);
  };
  studies.usage_table = [parts](const api::UsageAsked& asked) {
    return UsageTableText(parts.store, parts.service->View(), asked, parts.prices);
  };
  studies.forecast = [parts](const std::optional<core::Submission>& job, const api::StudyRun& run) {
    return ToldForward(parts, job, run);
  };
  studies.starts = [parts] { return ExpectedStarts(parts); };
  studies.profiles = [parts](const std::string& name) { return Profiles(parts, name); };
  studies.samples = [parts](const core::JobRecord& job, std::size_t most) {
    return JobSamplesJson(parts.store, parts.watch == nullptr ? "" : parts.service->View().node,
                          job, most);
  };
  studies.neighbours = [parts](const core::JobRecord& job) {
    return NeighboursJson(parts.store, job);
  };
  studies.pairs = [parts] { return PairsJson(parts.store); };
  studies.gpu_figures = [parts] {
    std::map<std::string, api::GpuFigures> figures;
    if (parts.watch == nullptr) return figures;  // of a cluster: each node's monitor knows
    for (const control::GpuView& gpu : parts.machine->gpus) {
      const server::GpuNow now = parts.watch->Now(gpu.gpu.uuid);
      api::GpuFigures& row = figures[gpu.gpu.uuid];
      row.busy = now.busy;
      if (now.memory_used) row.memory_used_bytes = now.memory_used->value;
      if (now.power) row.power_watts = now.power->value;
    }
    return figures;
  };
  if (parts.watch != nullptr) {
    studies.machine = [watch = parts.watch] {
      const server::MachineNow now = watch->Machine();
      api::MachineFigures figures;
      figures.cpu_busy = now.cpu_busy;
      if (now.memory) figures.memory_bytes = now.memory->value;
      if (now.memory && now.memory_available) {
        figures.memory_used_bytes = (*now.memory - *now.memory_available).value;
      }
      return figures;
    };
  }
  studies.log_file = [state = parts.state, store = parts.store_id, slurm = parts.watch == nullptr](
                         std::int64_t number, std::uint32_t uid,
                         bool errors) -> Result<std::vector<api::LogPiece>> {
    if (slurm) {
      return core::FailedError(
          "Slurm writes the output of job {0} to a file of its user's; `scontrol show job {0}` "
          "names "
          "it (StdOut)",
          number);
    }
    const std::string folder = engine::LogFolder(state, store, uid, number);
    if (!engine::HasLogs(folder)) return core::FailedError("{}", LogsAreGone(number));
    std::vector<api::LogPiece> pieces;
    for (auto& [begin, path] :
         engine::LogFiles(folder, errors ? engine::LogStream::kErr : engine::LogStream::kOut)) {
      pieces.push_back({std::move(path), begin});
    }
    return pieces;
  };
  studies.step = [state = parts.state,
                  store = parts.store_id](const core::JobRecord& job) -> Result<std::string> {
    const std::string folder = engine::LogFolder(state, store, job.user.uid, job.number);
    std::ifstream file(folder + "/" + kStepFile);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!text.empty()) return text;
    return core::FailedError("job {} has told of no step{}", job.number,
                             job.told ? " that is still kept: it goes with the job's logs"
                             : core::IsOver(job.phase)
                                 ? ": it did not run PyTorch, or was not watched (--no-watch)"
                                 : " yet: a job that trains with PyTorch tells of its second one");
  };
  studies.terminal = [state = parts.state](std::int64_t number, int attempt) {
    return engine::JobFolder(state, number, attempt) + "/" + engine::kTerminalFile;
  };
  return studies;
}

}  // namespace sharewell::server
