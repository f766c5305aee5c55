#include "api/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/api_impl.h"
#include "api/json_answer.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "http/meter.h"
#include "store/jobs/job_json.h"

namespace sharewell::api {
namespace {

constexpr std::size_t kMostReading = 4096;

http::HttpResponse TooManyWait() {
  return Problem(503, "too many requests are waiting; try again in a moment");
}

}  // namespace

http::HttpResponse Problem(int status, const std::string& detail) {
  return {status,
          "application/problem+json",
          json::Write(json::Style::kLine,
                      [&](json::Writer& writer) {
                        writer.Object([&] {
                          writer.Field("type", "about:blank");
                          writer.Field("title", http::ReasonOf(status));
                          writer.Field("status", status);
                          writer.Field("detail", detail);
                        });
                      }),
          {}};
}

http::HttpResponse RefusalAnswer(const Refusal& refusal) {
  http::HttpResponse answer = Problem(refusal.status, refusal.words);
  if (refusal.status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

Api::Api(http::HttpServer& server, control::JobService& service, OpenJobs open_jobs,
         Studies studies, const ApiOptions& options)
    : impl_(std::make_shared<ApiImpl>(server, service, std::move(open_jobs), std::move(studies),
                                      options)) {
  impl_->AddRoutes();
}

Api::~Api() {
  impl_->streams.reset();  // nothing is heard of any more
  impl_->starts.Stop();    // before those that it hands answers to
  impl_->bulk.Stop();
  impl_->reading.Stop();
  impl_->desk.Stop();
}

ApiImpl::ApiImpl(http::HttpServer& http, control::JobService& at, Api::OpenJobs open, Studies study,
                 const ApiOptions& given)
    : server(http),
      service(at),
      open_jobs(std::move(open)),
      studies(std::move(study)),
      options(given),
      access(given.access),
      reading(kMostReading),
      bulk(1, kMostReading),
      desk(given.most_studies),
      starts(at.events(), studies.starts) {}

void ApiImpl::AddRoutes() {
  // Once for the head, before a body is taken; handlers ask again who it is.
  server.SetGate([this](const http::HttpRequest& request) {
    http::HttpServer::Admission admission;
    const auto allowed = access.Admit(request);
    if (!allowed) {
      admission.refusal = RefusalAnswer(allowed.error());
    } else if (*allowed) {
      admission.uid = (*allowed)->uid;
      admission.admin = (*allowed)->admin;
    }
    return admission;
  });
  AddJobRoutes();
  AddSubmitRoute();
  AddMachineRoutes();
  AddStudyRoutes();
  AddLimitsRoute();
  AddSpeedRoute(*this);
  AddProjectsRoute(*this);
  AddTokenRoutes();
  AddSignInRoutes();
  AddEventRoute();
  AddPageRoutes();
}

void ApiImpl::Route(const char* method, const std::string& path, Handler handler,
                    std::size_t most_body) {
  server.Route(
      method, path,
      [this, handler = std::move(handler)](http::HttpRequest request,
                                           const http::Responder& responder) {
        const auto who = access.Admit(request);
        if (!who) return responder.Answer(RefusalAnswer(who.error()));
        handler(std::move(request), *who, responder);
      },
      most_body);
}

bool ApiImpl::Later(const http::Responder& responder, std::function<void()> work) {
  if (reading.Put(std::move(work), responder.meter())) return true;
  responder.Answer(TooManyWait());
  return false;
}

// How many of one user's wait is bounded by the user's connections, and by their bytes.
void ApiImpl::InBulk(const core::Account& who, const http::Responder& responder,
                     std::function<void()> work) {
  const auto taken = bulk.Put(who.name, kMostReading, [responder, work = std::move(work)] {
    const http::MeteredBlock metered(responder.meter().get());
    work();
  });
  if (taken != FairWorker::Taken::kYes) responder.Answer(TooManyWait());
}

void ApiImpl::ReadThen(const std::string& path, Handler reader) {
  Route("GET", path,
        [this, reader = std::move(reader)](http::HttpRequest request, const Who& who,
                                           const http::Responder& responder) {
          Later(responder, [reader, request = std::move(request), who, responder] {
            reader(request, who, responder);
          });
        });
}

void ApiImpl::Read(const std::string& path, Reader reader) {
  ReadThen(path, [reader = std::move(reader)](const http::HttpRequest& request, const Who& who,
                                              const http::Responder& responder) {
    responder.Answer(reader(request, who));
  });
}

void ApiImpl::AnswerExpecting(const http::Responder& responder, Jobs jobs,
                              std::function<http::HttpResponse(const Jobs&)> make) {
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

core::Result<std::string> WithoutThrowing(const char* what,
                                          const std::function<core::Result<std::string>()>& work) {
  try {
    return work();
  } catch (const std::exception& exception) {
    return core::FailedError("{}: {}", what, exception.what());
  }
}

void ApiImpl::Study(const Who& who, const http::Responder& responder, StudyDesk::Length length,
                    std::function<core::Result<std::string>(const StudyRun& run)> work) {
  const core::Account asking = who.value_or(core::Account{});
  // Nobody in particular has what a user has.
  const std::int64_t most = who ? LimitsOf(*who).limits.studies : core::Limits{}.studies;
  const auto study = [this, responder, work = std::move(work)](const platform::WorkStop& stop) {
    const http::MeteredBlock metered(responder.meter().get());
    const StudyRun run{stop, [&](core::Seconds used) {
                         if (responder.meter() != nullptr) responder.meter()->Charge(used);
                       }};
    auto answer = WithoutThrowing("the study ended without a result", [&] { return work(run); });
    responder.Answer(answer ? JsonAnswer(std::move(*answer)) : ErrorAnswer(answer.error(), 500));
  };
  const auto [taken, stop] = desk.Add(asking.name, static_cast<std::size_t>(most), length, study);
  if (taken == FairWorker::Taken::kYes) {
    return responder.WhenGone([ends = stop] { ends->Ask(); });
  }
  if (taken == FairWorker::Taken::kTooManyOfAll) {
    return responder.Answer(Problem(503, "too many studies are waiting; try again later"));
  }
  responder.Answer(Problem(
      429, fmt::format("{} of yours wait or are under way, and the limit for one user is {} "
                       "(limits.studies): wait for one to end; {}",
                       core::Count(desk.CountOf(asking.name), "study", "studies"), most,
                       core::WhoRaises("studies"))));
}

void ApiImpl::LookUp(const Who& who, const http::Responder& responder,
                     std::function<core::Result<std::string>()> work) {
  InBulk(who.value_or(core::Account{}), responder, [this, responder, work = std::move(work)] {
    auto answer = WithoutThrowing("it could not be read", work);
    responder.Answer(answer ? JsonAnswer(std::move(*answer)) : ErrorAnswer(answer.error(), 500));
  });
}

core::Result<store::JobStore*> ApiImpl::Store() {
  if (store == nullptr) {
    auto opened = open_jobs();
    RETURN_IF_ERROR(opened);
    store = std::move(*opened);
  }
  return store.get();
}

core::Result<control::JobPtr> ApiImpl::FindJob(std::int64_t number, const Who& who) {
  const auto seen = [&](control::JobPtr job) {
    return options.privacy.Sees(who, *job) ? std::move(job) : control::JobPtr();
  };
  if (control::JobPtr job = service.board().Find(number)) return seen(std::move(job));
  const auto jobs = Store();
  RETURN_IF_ERROR(jobs);
  auto found = (*jobs)->Jobs({.number = number, .most = 1});
  RETURN_IF_ERROR(found);
  if (found->empty()) return control::JobPtr();
  return seen(std::make_shared<const core::JobRecord>(std::move(found->front())));
}

bool SeesLive(const ApiImpl& api, const ApiImpl::Who& who, std::int64_t number) {
  const Privacy& privacy = api.options.privacy;
  if (privacy.SeesAllJobs(who)) return true;
  const control::JobPtr job = api.service.board().Find(number);
  return job != nullptr && privacy.Sees(who, *job);
}

std::vector<std::int64_t> SeenOf(const ApiImpl& api, const ApiImpl::Who& who,
                                 std::vector<std::int64_t> jobs) {
  std::erase_if(jobs, [&](std::int64_t number) { return !SeesLive(api, who, number); });
  return jobs;
}

bool RefusedAllJobs(const ApiImpl& api, const ApiImpl::Who& who, const http::Responder& responder) {
  const Privacy& privacy = api.options.privacy;
  if (privacy.SeesAllJobs(who)) return false;
  responder.Answer(RefusalAnswer(privacy.ForOperators(who)));
  return true;
}

http::HttpResponse ApiImpl::ErrorAnswer(const core::Error& error, int failed) const {
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
  return who && (who->admin || who->uid == core::OwnerUid(job));
}

std::string JobText(const core::JobRecord& job, const std::optional<core::Account>& who) {
  return SchemaText([&](json::Writer& writer) {
    store::WriteJobMembers(writer, job, SeesEnvironment(who, job));
  });
}

void WriteJobs(json::Writer& writer, const std::vector<control::JobPtr>& jobs,
               const std::optional<core::Account>& who) {
  writer.List("jobs", jobs, [&](const control::JobPtr& job) {
    store::WriteJob(writer, *job, SeesEnvironment(who, *job));
  });
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
    return core::UsageError("{}: {} is not a number from {} to {}", name, core::Quoted(text), least,
                            most);
  }
  return value;
}

std::optional<std::int64_t> JobNumber(const http::HttpRequest& request) {
  const std::string& text = request.parameters.front();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return number;
}

}  // namespace sharewell::api
