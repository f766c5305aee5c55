// What is known and what would be: profiles, predictions, what-ifs, forecasts; and what happens.
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/json_words.h"
#include "core/text/quoted.h"

namespace sharewell::api {
namespace {

constexpr std::int64_t kUsualPoints = 240, kMostPoints = 2000;  // of a series
constexpr std::size_t kMostModel = std::size_t{16} << 20;

http::HttpResponse NotHere(const char* what) {
  return Problem(501, fmt::format("this server offers no {}", what));
}

}  // namespace

void ApiImpl::AddStudyRoutes() {
  Route("GET", "/api/v1/profiles",
        [this](const http::HttpRequest& request, const Who& who, const http::Responder& responder) {
          if (!studies.profiles) return responder.Answer(NotHere("profiles"));
          Study(who, responder, [this, name = QueryValue(http::ParseQuery(request.query), "name")] {
            return studies.profiles(name);
          });
        });
  Route("GET", "/api/v1/pairs",
        [this](const http::HttpRequest&, const Who& who, const http::Responder& responder) {
          if (!studies.pairs) return responder.Answer(NotHere("measured pairs"));
          Study(who, responder, [this] { return studies.pairs(); });
        });
  ReadThen("/api/v1/jobs/{number}/samples", [this](const http::HttpRequest& request, const Who& who,
                                                   const http::Responder& responder) {
    if (!studies.samples) return responder.Answer(NotHere("samples"));
    const auto most = QueryNumber(http::ParseQuery(request.query), "most", 2, kMostPoints);
    if (!most) return responder.Answer(Problem(400, most.error().message));
    const auto number = JobNumber(request);
    const auto job = number ? FindJob(*number) : core::Result<control::JobPtr>(control::JobPtr());
    if (!job) return responder.Answer(ErrorAnswer(job.error(), 500));
    if (*job == nullptr) {
      return responder.Answer(
          Problem(404, fmt::format("there is no job {}; `sharewell jobs --all` lists them",
                                   core::Quoted(request.parameters.front()))));
    }
    Study(who, responder, [this, job = *job, points = most->value_or(kUsualPoints)] {
      return studies.samples(*job, static_cast<std::size_t>(points));
    });
  });
  Route("GET", "/api/v1/predictor",
        [this](const http::HttpRequest&, const Who&, const http::Responder& responder) {
          if (!studies.predictor) return responder.Answer(NotHere("predictor"));
          responder.Answer(JsonAnswer(studies.predictor()));
        });
  Route("POST", "/api/v1/predictor",
        [this](const http::HttpRequest& request, const Who& who, const http::Responder& responder) {
          if (!studies.use_predictor) return responder.Answer(NotHere("predictor"));
          if (!who->admin) {
            return responder.Answer(Problem(403, "choosing the predictor is for admins"));
          }
          const auto used =
              studies.use_predictor(QueryValue(http::ParseQuery(request.query), "use"));
          if (!used) return responder.Answer(Problem(400, used.error().message));
          responder.Answer(JsonAnswer("{\"schema\":1}"));
        });
  Route("GET", "/api/v1/forecast",
        [this](const http::HttpRequest&, const Who& who, const http::Responder& responder) {
          if (!studies.forecast) return responder.Answer(NotHere("forecasts"));
          Study(who, responder, [this] { return studies.forecast(std::nullopt); });
        });
  // /simulations is the old name, and goes with the next release.
  for (const char* path : {"/api/v1/whatif", "/api/v1/simulations"}) {
    Route(
        "POST", path,
        [this](const http::HttpRequest& request, const Who& who, const http::Responder& responder) {
          if (!studies.whatif) return responder.Answer(NotHere("what-if studies"));
          auto asked = ParseWhatIf(request.body);
          if (!asked) return responder.Answer(Problem(400, asked.error().message));
          Study(who, responder, [this, asked = std::move(*asked)] {
            return studies.whatif(asked.policies, asked.days);
          });
        });
  }
  Route(
      "POST", "/api/v1/predictions",
      [this](http::HttpRequest request, const Who& who, const http::Responder& responder) {
        if (!studies.predict) return responder.Answer(NotHere("predictions"));
        Study(who, responder,
              [this, query = http::ParseQuery(request.query),
               model = std::make_shared<const std::string>(std::move(request.body))] {
                return studies.predict(*model, query);
              });
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
        [this](const http::HttpRequest& request, const Who&, const http::Responder& responder) {
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
          streams->Open(responder, *after, job->value_or(0));
        });
}

}  // namespace sharewell::api
