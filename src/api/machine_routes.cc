// The machine: its GPUs and what they do, the server itself, and figures for Prometheus.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/api_impl.h"
#include "api/json_answer.h"
#include "api/metrics/escape.h"
#include "api/metrics/exposition.h"
#include "core/text/quoted.h"
#include "core/version.h"

namespace sharewell::api {
namespace {

using control::GpuView;
using control::ServiceView;

void WriteMembers(json::Writer& writer, const GpuView& view,
                  const std::map<std::string, GpuFigures>& figures,
                  const std::vector<std::int64_t>& jobs) {
  GpuFigures now;
  if (const auto found = figures.find(view.gpu.uuid); found != figures.end()) now = found->second;
  writer.Field("index", view.gpu.index);
  writer.Field("uuid", view.gpu.uuid);
  writer.Field("model", view.gpu.model);
  writer.Field("memory_bytes", view.memory);
  writer.Field("simulated", view.simulated);
  writer.Field("drained", view.drained);
  writer.Field("problem", view.problem);
  writer.List("jobs", jobs, [&](std::int64_t job) { writer.Value(job); });
  writer.List("strangers", view.strangers, [&](const control::Stranger& one) {
    writer.Object([&] {
      writer.Field("pid", one.pid);
      writer.Field("user", one.user);
      writer.Field("memory_bytes", one.memory);
      writer.Field("busy", one.busy);
    });
  });
  writer.Field("busy", now.busy);
  writer.Field("memory_used_bytes", now.memory_used_bytes);
  writer.Field("power_watts", now.power_watts);
}

std::map<std::string, GpuFigures> FiguresOf(const Studies& studies) {
  return studies.gpu_figures ? studies.gpu_figures() : std::map<std::string, GpuFigures>{};
}

http::HttpResponse AllGpus(const ApiImpl& api, const ApiImpl::Who& who) {
  const ServiceView view = api.service.View();
  const auto figures = FiguresOf(api.studies);
  return SchemaAnswer([&](json::Writer& writer) {
    writer.List("gpus", view.gpus, [&](const GpuView& gpu) {
      writer.Object([&] { WriteMembers(writer, gpu, figures, SeenOf(api, who, gpu.jobs)); });
    });
  });
}

const GpuView* GpuNamed(const ServiceView& view, const std::string& name) {
  const auto found = std::find_if(view.gpus.begin(), view.gpus.end(), [&](const GpuView& gpu) {
    return gpu.gpu.uuid == name || std::to_string(gpu.gpu.index) == name;
  });
  return found == view.gpus.end() ? nullptr : &*found;
}

// Of all nodes of the cluster; absent: of one of them nobody knows.
std::optional<double> HostMemory(const ServiceView& view) {
  if (!view.cluster) return std::nullopt;
  double all = 0;
  for (const core::Node& node : view.cluster->nodes()) {
    if (!node.memory) return std::nullopt;
    all += node.memory->value;
  }
  return all;
}

void WriteMachine(json::Writer& writer, const Studies& studies) {
  if (!studies.machine) return writer.Null("machine");
  const MachineFigures now = studies.machine();
  writer.Object("machine", [&] {
    writer.Field("cpu_busy", now.cpu_busy);
    writer.Field("memory_bytes", now.memory_bytes);
    writer.Field("memory_used_bytes", now.memory_used_bytes);
  });
}

http::HttpResponse Node(const ServiceView& view, const Studies& studies) {
  const auto write = [&](json::Writer& writer) {
    writer.Field("name", view.node);
    writer.Field("cores", view.cores);
    writer.Field("cores_given", view.cores_given);
    writer.Field("simulated_cores", view.simulated_cores);
    writer.Field("memory_bytes", HostMemory(view));
    writer.Field("gpus", view.gpus.size());
    writer.Field("policy", view.policy);
    writer.Field("store_up", view.store_up);
    writer.Field("store_problem", view.store_problem);
    WriteMachine(writer, studies);
  };
  return SchemaAnswer([&](json::Writer& writer) {
    writer.Key("nodes");
    writer.List([&] { writer.Object([&] { write(writer); }); });
  });
}

class Figures {
 public:
  void Family(std::string_view name, std::string_view type, std::string_view help) {
    out_ += fmt::format("# HELP sharewell_{0} {1}\n# TYPE sharewell_{0} {2}\n", name, help, type);
    name_ = name;
  }
  void Sample(const std::string& labels, double value) { Sample("", labels, value); }
  void Sample(std::string_view suffix, const std::string& labels, double value) {
    out_ += fmt::format("sharewell_{}{}{} {}\n", name_, suffix, labels, value);
  }
  void One(std::string_view name, std::string_view type, std::string_view help, double value) {
    Family(name, type, help);
    Sample("", value);
  }
  std::string Take() && { return std::move(out_); }

 private:
  std::string out_;
  std::string_view name_;
};

void PutTally(Figures& page, const control::JobTally& tally) {
  page.Family("jobs_ended_total", "counter", "Jobs that ended since the server began, by phase.");
  for (const auto& [phase, count] : {std::pair(core::Phase::kFinished, tally.finished),
                                     std::pair(core::Phase::kFailed, tally.failed),
                                     std::pair(core::Phase::kCancelled, tally.cancelled)}) {
    page.Sample(fmt::format("{{phase=\"{}\"}}", core::NameOf(phase)), static_cast<double>(count));
  }
  page.Family("job_wait_seconds", "histogram",
              "From submission to the first start, of jobs that started since the server began.");
  std::int64_t so_far = 0;
  for (std::size_t i = 0; i < tally.waits.size(); ++i) {
    so_far += tally.waits[i];
    const std::string bound = i < control::JobTally::kWaitBounds.size()
                                  ? fmt::format("{}", control::JobTally::kWaitBounds[i])
                                  : "+Inf";
    page.Sample("_bucket", fmt::format("{{le=\"{}\"}}", bound), static_cast<double>(so_far));
  }
  page.Sample("_sum", "", tally.waited.value);
  page.Sample("_count", "", static_cast<double>(so_far));
}

std::string ServerFigures(const ServiceView& view, std::map<core::Phase, std::size_t> counts,
                          const http::HttpFigures& http) {
  Figures page;
  page.Family("jobs", "gauge", "Jobs that are not over, by phase.");
  for (const auto phase : {core::Phase::kHeld, core::Phase::kWaiting, core::Phase::kStarting,
                           core::Phase::kRunning, core::Phase::kStopping}) {
    page.Sample(fmt::format("{{phase=\"{}\"}}", core::NameOf(phase)),
                static_cast<double>(counts[phase]));
  }
  PutTally(page, view.tally);
  const auto label = [](const GpuView& gpu) {
    return fmt::format("{{gpu=\"{}\",UUID=\"{}\"}}", gpu.gpu.index, LabelValue(gpu.gpu.uuid));
  };
  page.Family("gpu_jobs", "gauge", "Jobs on the GPU.");
  for (const GpuView& gpu : view.gpus) {
    page.Sample(label(gpu), static_cast<double>(gpu.jobs.size()));
  }
  page.Family("gpu_usable", "gauge", "1: the GPU answers and takes new jobs.");
  for (const GpuView& gpu : view.gpus) {
    page.Sample(label(gpu), gpu.usable() ? 1 : 0);
  }
  page.One("cores_given", "gauge", "Cores that jobs have.", view.cores_given);
  page.One("decisions_total", "counter", "Decisions since the start.",
           static_cast<double>(view.decisions));
  page.One("decision_p99_seconds", "gauge", "99th percentile of the last 1000 decisions' times.",
           view.decision_p99.value);
  page.One("jobs_store_up", "gauge", "1: jobs can be stored.", view.store_up ? 1 : 0);
  page.Family("http_requests_total", "counter", "Answers to HTTP requests.");
  page.Sample("{code=\"2xx\"}", static_cast<double>(http.requests - http.refused - http.failed));
  page.Sample("{code=\"4xx\"}", static_cast<double>(http.refused));
  page.Sample("{code=\"5xx\"}", static_cast<double>(http.failed));
  page.One("http_connections", "gauge", "Connections that are no streams.",
           static_cast<double>(http.connections));
  page.One("http_streams", "gauge", "Event streams.", static_cast<double>(http.streams));
  return std::move(page).Take();
}

std::string StartFigures(const Starts& starts) {
  if (starts.empty()) return {};
  Figures page;
  page.Family("job_expected_start_timestamp_seconds", "gauge",
              "When a job that waits should start; left out where nobody knows.");
  for (const auto& [job, start] : starts) {
    page.Sample(fmt::format("{{job=\"{}\"}}", job), static_cast<double>(start) / 1e3);
  }
  return std::move(page).Take();
}

}  // namespace

void ApiImpl::AddMachineRoutes() {
  Read("/api/v1", [this](const http::HttpRequest&, const Who&) {
    const ServiceView view = service.View();
    return SchemaAnswer([&](json::Writer& writer) {
      writer.Field("version", core::kVersion);
      writer.Field("node", view.node);
      writer.Field("policy", view.policy);
      writer.Field("since_ms", view.since);
    });
  });
  Read("/api/v1/routes", [this](const http::HttpRequest&, const Who&) {
    return SchemaAnswer([&](json::Writer& writer) { writer.Field("routes", server.Routes()); });
  });
  Read("/api/v1/openapi.json", [this](const http::HttpRequest&, const Who&) {
    if (options.openapi.empty()) return Problem(501, "this server has no description of its API");
    return JsonAnswer(std::string(options.openapi));
  });
  Read("/api/v1/gpus",
       [this](const http::HttpRequest&, const Who& who) { return AllGpus(*this, who); });
  Read("/api/v1/nodes",
       [this](const http::HttpRequest&, const Who&) { return Node(service.View(), studies); });
  ReadThen("/metrics", [this](const http::HttpRequest&, const Who&,
                              const http::Responder& responder) {
    const auto answer = [this, responder](const Starts& starts_now) {
      std::string page = ServerFigures(service.View(), service.board().Counts(), server.Figures());
      page += StartFigures(starts_now);
      if (studies.exposition) page += studies.exposition();
      responder.Answer({200, std::string(kExpositionType), std::move(page), {}});
    };
    // Where users do not see each other's jobs, nobody learns their numbers here.
    if (options.privacy.jobs || service.board().Counts()[core::Phase::kWaiting] == 0) {
      return answer({});
    }
    starts.WhenKnown(
        [this, answer, responder] { Later(responder, [this, answer] { answer(starts.All()); }); });
  });
  Read("/healthz", [this](const http::HttpRequest&, const Who&) {
    const std::string problem = control::ProblemOf(service.View());
    if (!problem.empty()) return http::HttpResponse{.status = 503, .body = problem + "\n"};
    std::string ok = "ok\n";
    for (const std::string& missing : server.Missing()) ok += missing + "\n";
    return http::HttpResponse{.body = std::move(ok)};
  });

  for (const bool drained : {true, false}) {
    Route("POST", fmt::format("/api/v1/gpus/{{gpu}}/{}", drained ? "drain" : "undrain"),
          [this, drained](const http::HttpRequest& request, const Who& who,
                          const http::Responder& responder) {
            const std::string name = request.parameters.front();
            if (GpuNamed(service.View(), name) == nullptr) {
              return responder.Answer(
                  Problem(404, fmt::format("there is no GPU {}; `sharewell top` lists them",
                                           core::Quoted(name))));
            }
            if (!who->admin) {
              return responder.Answer(Problem(403, "draining a GPU is for admins"));
            }
            service.Drain(name, drained, *who,
                          [name, responder, weak = weak_from_this()](core::Result<void> done) {
                            const auto inside = weak.lock();
                            if (!done || !inside) {
                              return responder.Answer(Problem(
                                  inside ? inside->FailedStatus(409) : 503,
                                  done ? "the server is shutting down" : done.error().message));
                            }
                            const ServiceView view = inside->service.View();
                            const GpuView* gpu = GpuNamed(view, name);
                            if (gpu == nullptr) return;  // 500: it was there a moment ago
                            responder.Answer(SchemaAnswer([&](json::Writer& writer) {
                              WriteMembers(writer, *gpu, FiguresOf(inside->studies), gpu->jobs);
                            }));
                          });
          });
  }
}

}  // namespace sharewell::api
