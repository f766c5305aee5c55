// What is known and what would be: profiles, predictions, what-ifs, forecasts; and what happens.
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/json_answer.h"
#include "core/text/quoted.h"
#include "platform/clock/wall_clock.h"

namespace sharewell::api {
namespace {

constexpr std::int64_t kUsualPoints = 240, kMostPoints = 2000;  // of a series
constexpr std::size_t kMostModel = std::size_t{16} << 20;
constexpr std::size_t kMostTrace = std::size_t{4} << 20;
constexpr std::size_t kMostUsageWaits = 64;

http::HttpResponse NotHere(const char* what) {
  return Problem(501, fmt::format("this server offers no {}", what));
}

// Of a study that somebody follows by a name; without a name nothing is told.
core::Result<WhatIfProgress> Followed(StudyProgress& all, const std::string& name,
                                      std::size_t policies) {
  if (name.empty()) return WhatIfProgress();
  auto entry = all.Begin(name, policies);
  if (!entry) {
    return core::UsageError("follow: another study has that name; choose one at random");
  }
  return WhatIfProgress(
      [entry = std::move(entry)](std::size_t policy, std::size_t done, std::size_t of) {
        entry->Emit(policy, done, of);
      });
}

void AskUsageTable(ApiImpl& api, const UsageAsked& asked, const ApiImpl::Who& who,
                   const http::Responder& responder) {
  api.InBulk(who.value_or(core::Account{}), responder, [&api, responder, asked] {
    auto answer = WithoutThrowing("the figures of use ended in an error",
                                  [&] { return api.studies.usage_table(asked); });
    if (!answer) return responder.Answer(api.ErrorAnswer(answer.error(), 500));
    if (!asked.csv) return responder.Answer(JsonAnswer(std::move(*answer)));
    responder.Answer({200,
                      "text/csv; charset=utf-8",
                      std::move(*answer),
                      {{"Content-Disposition", "attachment; filename=\"usage.csv\""}}});
  });
}

}  // namespace

void ApiImpl::AskUsage(std::int64_t seconds, const http::Responder& responder) {
  {
    const platform::MutexLock lock(usage_mutex);
    auto& asked = usage_asked[seconds];
    asked.push_back(responder);
    if (asked.size() > 1) return;  // it is under way
  }
  const auto take = [this, seconds] {
    const platform::MutexLock lock(usage_mutex);
    auto asked = std::move(usage_asked[seconds]);
    usage_asked.erase(seconds);
    return asked;
  };
  const auto study = [this, seconds, responder, take](const platform::WorkStop&) {
    const http::MeteredBlock metered(responder.meter().get());
    const core::Result<std::string> answer = WithoutThrowing(
        "the figures of use ended in an error", [&] { return studies.usage(seconds); });
    for (const http::Responder& one : take()) {
      one.Answer(answer ? JsonAnswer(*answer) : ErrorAnswer(answer.error(), 500));
    }
  };
  const auto taken =
      desk.Add("GET /usage", kMostUsageWaits, StudyDesk::Length::kShort, study).taken;
  if (taken == FairWorker::Taken::kYes) return;
  for (const http::Responder& one : take()) {
    one.Answer(Problem(503, "too many studies are waiting; try again later"));
  }
}

void ApiImpl::AddStudyRoutes() {
  Route("GET", "/api/v1/profiles",
        [this](const http::HttpRequest& request, const Who& who, const http::Responder& responder) {
          if (!studies.profiles) return responder.Answer(NotHere("profiles"));
          if (RefusedAllJobs(*this, who, responder)) return;
          LookUp(who, responder,
                 [this, name = QueryValue(http::ParseQuery(request.query), "name")] {
                   return studies.profiles(name);
                 });
        });
  Route("GET", "/api/v1/pairs",
        [this](const http::HttpRequest&, const Who& who, const http::Responder& responder) {
          if (!studies.pairs) return responder.Answer(NotHere("measured pairs"));
          if (RefusedAllJobs(*this, who, responder)) return;
          LookUp(who, responder, [this] { return studies.pairs(); });
        });
  // Of one job, which the reading thread finds.
  const auto of_job = [this](const std::string& path, const char* what, auto offers, auto study) {
    ReadThen("/api/v1/jobs/{number}" + path, [this, path, what, offers, study](
                                                 const http::HttpRequest& request, const Who& who,
                                                 const http::Responder& responder) {
      if (!offers()) return responder.Answer(NotHere(what));
      if (path == "/neighbours" && RefusedAllJobs(*this, who, responder)) return;
      const auto most = QueryNumber(http::ParseQuery(request.query), "most", 2, kMostPoints);
      if (!most) return responder.Answer(Problem(400, most.error().message));
      const auto number = JobNumber(request);
      const auto job =
          number ? FindJob(*number, who) : core::Result<control::JobPtr>(control::JobPtr());
      if (!job) return responder.Answer(ErrorAnswer(job.error(), 500));
      if (*job == nullptr) {
        return responder.Answer(
            Problem(404, fmt::format("there is no job {}; `sharewell jobs --all` lists them",
                                     core::Quoted(request.parameters.front()))));
      }
      LookUp(who, responder, [study, job = *job, points = most->value_or(kUsualPoints)] {
        return study(*job, static_cast<std::size_t>(points));
      });
    });
  };
  of_job(
      "/samples", "samples", [this] { return static_cast<bool>(studies.samples); },
      [this](const core::JobRecord& job, std::size_t most) { return studies.samples(job, most); });
  of_job(
      "/neighbours", "history of neighbours",
      [this] { return static_cast<bool>(studies.neighbours); },
      [this](const core::JobRecord& job, std::size_t) { return studies.neighbours(job); });
  Route("GET", "/api/v1/predictor",
        [this](const http::HttpRequest&, const Who&, const http::Responder& responder) {
          if (!studies.predictor) return responder.Answer(NotHere("predictor"));
          responder.Answer(JsonAnswer(studies.predictor()));
        });
  Route("POST", "/api/v1/predictor",
        [this](const http::HttpRequest& request, const Who& who, const http::Responder& responder) {
          if (!studies.use_predictor) return responder.Answer(NotHere("predictor"));
          if (!who->admin) {
            return responder.Answer(Problem(
                403, "choosing the predictor and forgetting what a user taught is for admins"));
          }
          const auto query = http::ParseQuery(request.query);
          if (const std::string user = QueryValue(query, "forget"); !user.empty()) {
            if (!studies.forget_user) return responder.Answer(NotHere("predictor"));
            studies.forget_user(user);
            return responder.Answer(JsonAnswer("{\"schema\":1}"));
          }
          const auto used = studies.use_predictor(QueryValue(query, "use"));
          if (!used) return responder.Answer(Problem(400, used.error().message));
          responder.Answer(JsonAnswer("{\"schema\":1}"));
        });
  Route("GET", "/api/v1/forecast",
        [this](const http::HttpRequest&, const Who& who, const http::Responder& responder) {
          if (!studies.forecast) return responder.Answer(NotHere("forecasts"));
          if (RefusedAllJobs(*this, who, responder)) return;
          Study(who, responder, StudyDesk::Length::kShort,
                [this](const StudyRun& run) { return studies.forecast(std::nullopt, run); });
        });
  // /simulations is the old name, and goes with the next release.
  for (const char* path : {"/api/v1/whatif", "/api/v1/simulations"}) {
    Route(
        "POST", path,
        [this](const http::HttpRequest& request, const Who& who, const http::Responder& responder) {
          if (!studies.whatif) return responder.Answer(NotHere("what-if studies"));
          auto asked = ParseWhatIf(request.body);
          if (!asked) return responder.Answer(Problem(400, asked.error().message));
          const auto told = Followed(progress, asked->follow, asked->policies.size());
          if (!told) return responder.Answer(Problem(400, told.error().message));
          Study(who, responder, StudyDesk::Length::kLong,
                [this, tell = *told, asked = std::move(*asked)](const StudyRun& run) {
                  return studies.whatif(asked.policies, asked.days, tell, run);
                });
        });
  }
  Route(
      "POST", "/api/v1/simulate",
      [this](http::HttpRequest request, const Who& who, const http::Responder& responder) {
        if (!studies.simulate) return responder.Answer(NotHere("simulations of traces"));
        auto asked = SimulateAskedOf(http::ParseQuery(request.query));
        if (!asked) return responder.Answer(Problem(400, asked.error().message));
        const auto told = Followed(progress, asked->follow, asked->policies.size());
        if (!told) return responder.Answer(Problem(400, told.error().message));
        Study(who, responder, StudyDesk::Length::kLong,
              [this, tell = *told, asked = std::move(*asked),
               trace = std::make_shared<const std::string>(std::move(request.body))](
                  const StudyRun& run) {
                return studies.simulate(*trace, asked.name, asked.policies, tell, run);
              });
      },
      kMostTrace);
  Route("GET", "/api/v1/whatif/{follow}",
        [this](const http::HttpRequest& request, const Who&, const http::Responder& responder) {
          // Not there yet, or over: no error, as whoever asks cannot know which.
          const auto state = progress.Find(request.parameters.front());
          using Count = std::optional<std::size_t>;
          responder.Answer(SchemaAnswer([&](json::Writer& writer) {
            writer.Field("state", !state                     ? "unknown"
                                  : state->done && state->of ? "running"
                                                             : "waiting");
            writer.Field("policy", state ? Count(state->part) : Count());
            writer.Field("policies", state ? Count(state->parts) : Count());
            writer.Field("jobs_done", state ? state->done : Count());
            writer.Field("jobs", state ? state->of : Count());
          }));
        });
  Route("GET", "/api/v1/usage",
        [this](const http::HttpRequest& request, const Who& who, const http::Responder& responder) {
          if (!studies.usage || !studies.usage_table) {
            return responder.Answer(NotHere("figures of use"));
          }
          if (!options.privacy.SeesAllUsage(who)) {
            return responder.Answer(RefusalAnswer(options.privacy.ForOperators(who)));
          }
          const auto query = http::ParseQuery(request.query);
          const auto table = UsageAskedOf(query, request.accept, platform::UnixNow());
          if (!table) return responder.Answer(Problem(400, table.error().message));
          if (*table) return AskUsageTable(*this, **table, who, responder);
          const auto seconds = QueryNumber(query, "seconds", kLeastUsage, kMostUsage);
          if (!seconds) return responder.Answer(Problem(400, seconds.error().message));
          AskUsage(seconds->value_or(kUsualUsage), responder);
        });
  Route(
      "POST", "/api/v1/predictions",
      [this](http::HttpRequest request, const Who& who, const http::Responder& responder) {
        if (!studies.predict) return responder.Answer(NotHere("predictions"));
        Study(who, responder, StudyDesk::Length::kShort,
              [this, query = http::ParseQuery(request.query),
               model = std::make_shared<const std::string>(std::move(request.body))](
                  const StudyRun& run) { return studies.predict(*model, query, run); });
      },
      kMostModel);
}

void ApiImpl::AddEventRoute() {
  streams = std::make_unique<EventStreams>(
      server, service.events(),
      [this](std::int64_t after, std::size_t most, std::shared_ptr<http::Meter> user,
             EventStreams::Told told) {
        auto work = [this, after, most, told = std::move(told)] {
          core::Result<EventStreams::Page> page;
          if (const auto jobs = Store(); !jobs) {
            page = tl::unexpected(jobs.error());
          } else if (auto newest = (*jobs)->LastEvent(); !newest) {
            page = tl::unexpected(newest.error());
          } else if (auto events = (*jobs)->Events(after, most); !events) {
            page = tl::unexpected(events.error());
          } else {
            page = EventStreams::Page{std::move(*events), *newest};
          }
          server.Post([told, page = std::move(page)] { told(page); });
        };
        return reading.Put(std::move(work), std::move(user));
      });
  server.Every(options.heartbeat, [this] { streams->Beat(); });
  Route("GET", "/api/v1/events",
        [this](const http::HttpRequest& request, const Who& who, const http::Responder& responder) {
          const Query query = http::ParseQuery(request.query);
          const auto job = QueryNumber(query, "job", 1, INT64_MAX);
          if (!job) return responder.Answer(Problem(400, job.error().message));
          auto after = QueryNumber(query, "after", 0, INT64_MAX - 1);
          if (!after) return responder.Answer(Problem(400, after.error().message));
          // A browser that comes back says it in a header; that is the newer word.
          if (!request.last_event_id.empty()) {
            after = QueryNumber({{"Last-Event-ID", request.last_event_id}}, "Last-Event-ID", 0,
                                INT64_MAX - 1);
            if (!after) return responder.Answer(Problem(400, after.error().message));
          }
          EventStreams::Sees sees;  // what is of no job, everybody may
          if (!options.privacy.SeesAllJobs(who)) {
            sees = [this, who](const core::Event& event) {
              return event.job == 0 || SeesLive(*this, who, event.job);
            };
          }
          streams->Open(responder, *after, job->value_or(0), std::move(sees));
        });
}

}  // namespace sharewell::api
