#include "cli/server_studies.h"

#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/values.h"
#include "cli/when.h"
#include "core/shown.h"
#include "platform/files/write_file.h"
#include "platform/process/job_folder.h"
#include "platform/process/old_logs.h"
#include "report/format.h"
#include "report/profiles_list.h"
#include "report/whatif.h"
#include "store/job_store.h"
#include "store/jobs/job_json.h"
#include "store/store.h"
#include "study/forecast.h"
#include "study/predicted_needs.h"
#include "study/prediction.h"
#include "study/whatif.h"

namespace sharewell::cli {
namespace {

using core::Result;

constexpr double kDayMillis = 86400e3;
// A thousand jobs take half of it; of what waits further back nobody can tell much anyway.
constexpr auto kMostExpecting = std::chrono::milliseconds(200);

// Every call opens the store anew: they are rare, and come on a thread of their own.
Result<std::string> Simulate(const StudyParts& parts, const std::vector<std::string>& policies,
                             double days) {
  auto jobs = store::OpenJobs(parts.store);
  if (!jobs) return tl::unexpected(std::move(jobs.error()));
  const core::UnixMillis now = UnixNow();
  store::JobFilter filter;
  filter.ended_since = now - static_cast<core::UnixMillis>(days * kDayMillis);
  filter.most = 20'000;
  const auto records = (*jobs)->Jobs(filter);
  if (!records) return tl::unexpected(records.error());
  const auto shared = (*jobs)->SharedRuns();
  if (!shared) return tl::unexpected(shared.error());
  std::vector<const core::JobRecord*> played;
  for (const core::JobRecord& record : *records) played.push_back(&record);
  study::WhatIfOptions options;
  options.now = now;
  options.max_slowdown = parts.max_slowdown;
  const auto result =
      study::WhatIf(played, *parts.service->View().cluster, *shared, policies, options);
  if (!result) return tl::unexpected(result.error());
  return report::WhatIfJson(*result);
}

// `asked`: a job that is not there yet; may be null.
Result<study::ForecastResult> PlayForward(const StudyParts& parts, const core::Submission* asked,
                                          study::ForecastOptions options) {
  auto jobs = store::OpenJobs(parts.store);
  if (!jobs) return tl::unexpected(std::move(jobs.error()));
  const auto shared = (*jobs)->SharedRuns();
  if (!shared) return tl::unexpected(shared.error());
  const std::vector<control::JobPtr> live = parts.service->board().Live();
  std::vector<const core::JobRecord*> records;
  for (const control::JobPtr& job : live) records.push_back(job.get());
  std::vector<core::GivenGpu> gpus;
  std::vector<core::GpuId> closed;
  const control::ServiceView view = parts.service->View();
  for (const control::GpuView& gpu : view.gpus) {
    if (gpu.drained || !gpu.problem.empty()) closed.emplace_back(gpus.size());
    gpus.push_back(gpu.gpu);
  }
  core::JobRecord considered;
  if (asked != nullptr) {
    considered.asked = *asked;
    if (asked->needs) considered.believed = *asked->needs;
  }
  options.policy = parts.policy;
  options.max_slowdown = parts.max_slowdown;
  return study::Forecast(records, *view.cluster, gpus, closed, *shared,
                         asked != nullptr ? &considered : nullptr, options);
}

Result<std::string> ToldForward(const StudyParts& parts,
                                const std::optional<core::Submission>& asked) {
  const auto result = PlayForward(parts, asked ? &*asked : nullptr, {.now = UnixNow()});
  if (!result) return tl::unexpected(result.error());
  return asked ? report::ConsideredJson(*result) : report::ForecastJson(*result);
}

Result<serve::Starts> ExpectedStarts(const StudyParts& parts) {
  const core::UnixMillis now = UnixNow();
  const auto until = std::chrono::steady_clock::now() + kMostExpecting;
  const auto result = PlayForward(
      parts, nullptr,
      {.now = now, .go_on = [until] { return std::chrono::steady_clock::now() < until; }});
  if (!result) return tl::unexpected(result.error());
  serve::Starts starts;
  for (const study::ExpectedStart& job : result->jobs) {
    // What could start now, and does not, waits for something that the forecast does not know.
    if (job.start && *job.start > now) starts.emplace(job.number, *job.start);
  }
  return starts;
}

Result<std::string> Profiles(const StudyParts& parts, const std::string& name) {
  auto store = store::Open(parts.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  store::ProfileFilter filter;
  if (!name.empty()) filter.name = name;
  const auto records = (*store)->Profiles(filter);
  if (!records) return tl::unexpected(records.error());
  return report::ProfilesListJson(*records);
}

std::string Asked(const serve::Query& query, std::string_view key, const std::string& usual) {
  for (const auto& [name, value] : query) {
    if (name == key) return value;
  }
  return usual;
}

std::string LogsAreGone(std::int64_t number) {
  const platform::LogRetention kept;
  return fmt::format(
      "the logs of job {} are not kept any more: they go {} days after a job has ended, and the "
      "oldest sooner when all take more than {} or {:.0f} % of the disk",
      number, kept.age.value / 86400, report::Size(kept.all), kept.of_disk * 100);
}

struct RemoveFile {
  std::string path;
  ~RemoveFile() { (void)std::remove(path.c_str()); }
};

// The readers map a file; what came over the wire becomes one for as long as it is read.
Result<std::string> Predict(const StudyParts& parts, const std::string& model,
                            const serve::Query& query) {
  study::PredictionAsk ask;
  const std::string name = Asked(query, "name", "model.onnx");
  const auto batch = ParseWhole("batch", Asked(query, "batch", "1"), 1, 1'000'000);
  if (!batch) return tl::unexpected(batch.error());
  const auto workers = ParseWhole("workers", Asked(query, "workers", "4"), 0, 1024);
  if (!workers) return tl::unexpected(workers.error());
  ask.batch = static_cast<std::int64_t>(*batch);
  ask.workers = static_cast<int>(*workers);
  ask.precision = Asked(query, "precision", "fp32");
  const auto& models = parts.machine->cluster.models();
  ask.gpu = Asked(query, "gpu", models.empty() ? "H200" : models.front().name);
  // Readers tell formats apart by content; of the name only its ending can matter.
  const auto dot = name.rfind('.');
  const std::string ending = dot == std::string::npos ? "" : name.substr(dot);
  const bool plain = ending.find('/') == std::string::npos && ending.size() < 16;
  ask.model = parts.state + "/predicting" + (plain ? ending : "");
  if (auto written = platform::WriteFile(ask.model, model); !written) {
    return tl::unexpected(std::move(written.error()));
  }
  const RemoveFile removed{ask.model};
  const auto trained = study::BuiltinModel();
  if (!trained) return tl::unexpected(trained.error());
  auto row = study::PredictOne(ask, trained->predictor, *parts.catalogue);
  if (!row) {
    // In the client's own words for it.
    core::Error error = std::move(row.error());
    const auto at = error.message.find(ask.model);
    if (at != std::string::npos) error.message.replace(at, ask.model.size(), core::Shown(name));
    return tl::unexpected(std::move(error));
  }
  row->ask.model = name;
  std::string json = "{\"schema\":1,\"needs\":";
  store::AppendNeeds(json, study::NeedsFrom(*row));
  return json + "}";
}

}  // namespace

serve::Studies ServerStudies(const StudyParts& parts) {
  serve::Studies studies;
  studies.predict = [parts](const std::string& model, const serve::Query& query) {
    return Predict(parts, model, query);
  };
  studies.simulate = [parts](const std::vector<std::string>& policies, double days) {
    return Simulate(parts, policies, days);
  };
  studies.forecast = [parts](const std::optional<core::Submission>& job) {
    return ToldForward(parts, job);
  };
  studies.starts = [parts] { return ExpectedStarts(parts); };
  studies.profiles = [parts](const std::string& name) { return Profiles(parts, name); };
  studies.gpu_figures = [parts] {
    std::map<std::string, serve::GpuFigures> figures;
    for (const control::GpuView& gpu : parts.machine->gpus) {
      const study::GpuNow now = parts.watch->Now(gpu.gpu.uuid);
      serve::GpuFigures& row = figures[gpu.gpu.uuid];
      row.busy = now.busy;
      if (now.memory_used) row.memory_used_bytes = now.memory_used->value;
      if (now.power) row.power_watts = now.power->value;
    }
    return figures;
  };
  studies.log_file = [state = parts.state](std::int64_t number,
                                           bool errors) -> Result<std::vector<serve::LogPiece>> {
    if (!platform::HasLogs(state, number)) return core::FailedError("{}", LogsAreGone(number));
    std::vector<serve::LogPiece> pieces;
    for (auto& [begin, path] : platform::LogFiles(
             state, number, errors ? platform::LogStream::kErr : platform::LogStream::kOut)) {
      pieces.push_back({std::move(path), begin});
    }
    return pieces;
  };
  return studies;
}

}  // namespace sharewell::cli
