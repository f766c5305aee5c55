#include "serve/api/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/shown.h"
#include "serve/api/inside.h"
#include "serve/api/json_words.h"
#include "store/jobs/job_json.h"

namespace sharewell::serve {
namespace {

constexpr std::size_t kMostReading = 4096;

}  // namespace

HttpResponse Problem(int status, const std::string& detail) {
  return {status,
          "application/problem+json",
          fmt::format("{{\"type\":\"about:blank\",\"title\":{},\"status\":{},\"detail\":{}}}\n",
                      JsonText(ReasonOf(status)), status, JsonText(detail)),
          {}};
}

HttpResponse RefusalAnswer(const Refusal& refusal) {
  HttpResponse answer = Problem(refusal.status, refusal.words);
  if (refusal.status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

Api::Api(HttpServer& server, Desk& desk, OpenJobs open_jobs, Studies studies,
         const ApiOptions& options)
    : inside_(std::make_shared<ApiInside>(server, desk, std::move(open_jobs), std::move(studies),
                                          options)) {
  inside_->AddRoutes();
}

Api::~Api() {
  inside_->streams.reset();  // nothing is heard of any more
  inside_->starts.Stop();    // before those that it hands answers to
  inside_->reading.Stop();
  inside_->studying_thread.Stop();
}

ApiInside::ApiInside(HttpServer& http, Desk& at, Api::OpenJobs open, Studies study,
                     const ApiOptions& given)
    : server(http),
      desk(at),
      open_jobs(std::move(open)),
      studies(std::move(study)),
      options(given),
      access(given.access),
      reading(kMostReading),
      studying_thread(given.most_studies),
      starts(at.events(), studies.starts) {}

void ApiInside::AddRoutes() {
  // Once for the head, before a body is taken; handlers ask again who it is.
  server.SetGate([this](const HttpRequest& request) -> std::optional<HttpResponse> {
    const auto allowed = access.Admit(request);
    if (allowed) return std::nullopt;
    return RefusalAnswer(allowed.error());
  });
  AddJobRoutes();
  AddSubmitRoute();
  AddMachineRoutes();
  AddStudyRoutes();
  AddEventRoute();
}

void ApiInside::Route(const char* method, const std::string& path, Handler handler,
                      std::size_t most_body) {
  server.Route(
      method, path,
      [this, handler = std::move(handler)](HttpRequest request, const Responder& responder) {
        const auto who = access.Admit(request);
        if (!who) return responder.Answer(RefusalAnswer(who.error()));
        handler(std::move(request), *who, responder);
      },
      most_body);
}

bool ApiInside::Later(const Responder& responder, std::function<void()> work) {
  if (reading.Put(std::move(work))) return true;
  responder.Answer(Problem(503, "too many questions wait already; try again in a moment"));
  return false;
}

void ApiInside::ReadThen(const std::string& path, Handler reader) {
  Route("GET", path,
        [this, reader = std::move(reader)](HttpRequest request, const Who& who,
                                           const Responder& responder) {
          Later(responder, [reader, request = std::move(request), who, responder] {
            reader(request, who, responder);
          });
        });
}

void ApiInside::Read(const std::string& path, Reader reader) {
  ReadThen(path, [reader = std::move(reader)](const HttpRequest& request, const Who& who,
                                              const Responder& responder) {
    responder.Answer(reader(request, who));
  });
}

void ApiInside::AnswerExpecting(const Responder& responder, Jobs jobs,
                                std::function<HttpResponse(const Jobs&)> make) {
  const auto waits = [](const control::JobPtr& job) { return job->phase == core::Phase::kWaiting; };
  if (std::none_of(jobs.begin(), jobs.end(), waits)) return responder.Answer(make(jobs));
  starts.WhenKnown([this, responder, waits, jobs = std::move(jobs), make = std::move(make)] {
    Later(responder, [this, responder, waits, jobs, make] {
      Jobs told = jobs;
      for (control::JobPtr& job : told) {
        const auto start = waits(job) ? starts.Of(job->number) : std::nullopt;
        if (!start) continue;
        core::JobRecord with = *job;
        with.expected_start = start;
        job = std::make_shared<const core::JobRecord>(std::move(with));
      }
      responder.Answer(make(told));
    });
  });
}

void ApiInside::Study(const Who& who, const Responder& responder,
                      std::function<core::Result<std::string>()> work) {
  const std::string name = who ? who->name : std::string();
  {
    const std::lock_guard lock(mutex);
    std::size_t& mine = studying[name];
    if (mine >= options.most_studies_of_one) {
      return responder.Answer(
          Problem(429, "so many studies of yours are under way already; wait for one to end"));
    }
    ++mine;
  }
  const auto done = [this, name] {
    const std::lock_guard lock(mutex);
    if (--studying[name] == 0) studying.erase(name);
  };
  const bool put = studying_thread.Put([this, responder, work = std::move(work), done] {
    core::Result<std::string> answer = core::FailedError("the study ended without a result");
    try {
      answer = work();
    } catch (const std::exception& exception) {
      answer = core::FailedError("the study ended without a result: {}", exception.what());
    }
    done();
    responder.Answer(answer ? JsonAnswer(std::move(*answer)) : ErrorAnswer(answer.error(), 500));
  });
  if (put) return;
  done();
  responder.Answer(Problem(503, "too many studies wait already; try again later"));
}

core::Result<store::JobStore*> ApiInside::Store() {
  if (store == nullptr) {
    auto opened = open_jobs();
    if (!opened) return tl::unexpected(opened.error());
    store = std::move(*opened);
  }
  return store.get();
}

core::Result<control::JobPtr> ApiInside::FindJob(std::int64_t number) {
  if (control::JobPtr job = desk.board().Find(number)) return job;
  const auto jobs = Store();
  if (!jobs) return tl::unexpected(jobs.error());
  auto found = (*jobs)->Jobs({.number = number, .most = 1});
  if (!found) return tl::unexpected(found.error());
  if (found->empty()) return control::JobPtr();
  return std::make_shared<const core::JobRecord>(std::move(found->front()));
}

HttpResponse ApiInside::ErrorAnswer(const core::Error& error, int failed) const {
  switch (error.kind) {
    case core::ErrorKind::kUsage:
      return Problem(400, error.message);
    case core::ErrorKind::kAbsent:
      return Problem(404, error.message);
    case core::ErrorKind::kFailed:
      break;
  }
  return Problem(FailedStatus(failed), error.message);
}

bool SeesEnvironment(const std::optional<core::Account>& who, const core::JobRecord& job) {
  return who && (who->admin || who->uid == job.user.uid);
}

std::string JobText(const core::JobRecord& job, const std::optional<core::Account>& who) {
  std::string out;
  store::AppendJob(out, job, SeesEnvironment(who, job));
  // A document of its own says which schema it is of.
  out.insert(1, "\"schema\":1,");
  return out;
}

std::string JobsText(const std::vector<control::JobPtr>& jobs,
                     const std::optional<core::Account>& who) {
  std::string out = "{\"schema\":1,\"jobs\":";
  out.reserve(1024 + jobs.size() * 1400);
  AppendList(out, jobs, [&](std::string& text, const control::JobPtr& job) {
    store::AppendJob(text, *job, SeesEnvironment(who, *job));
  });
  return out;
}

std::string QueryValue(const Query& query, std::string_view name) {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

core::Result<std::optional<std::int64_t>> QueryNumber(const Query& query, std::string_view name,
                                                      std::int64_t least, std::int64_t most) {
  const std::string text = QueryValue(query, name);
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return core::UsageError("{}: {} is not a number from {} to {}", name, core::Shown(text), least,
                            most);
  }
  return value;
}

std::optional<std::int64_t> JobNumber(const HttpRequest& request) {
  const std::string& text = request.parameters.front();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return number;
}

}  // namespace sharewell::serve
