// GET /jobs/{number}/speed: how fast a job stepped over its life, and what it told of itself.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "api/api_impl.h"
#include "api/json_answer.h"
#include "core/result.h"
#include "core/text/quoted.h"

namespace sharewell::api {
namespace {

using core::JobRecord;
using core::SpeedHistory;

// What was predicted of it, by its model's file or by the step that it told. Null: nothing was.
const core::Needs* PredictedPace(const JobRecord& job) {
  const auto predicted = [](const core::Needs& needs) {
    return needs.sources.pace == core::Source::kPredicted && needs.profile.steps_per_second;
  };
  if (predicted(job.believed)) return &job.believed;
  const bool told = job.told && job.told->predicted && predicted(*job.told->predicted);
  return told ? &*job.told->predicted : nullptr;
}

void WritePrediction(json::Writer& writer, const JobRecord& job) {
  const core::Needs* needs = PredictedPace(job);
  if (needs == nullptr) return writer.Null("prediction");
  writer.Object("prediction", [&] {
    writer.Field("low", needs->pace_low);
    writer.Field("middle", *needs->profile.steps_per_second);
    writer.Field("high", needs->pace_high);
    writer.Field("gpu", needs->profile.gpu);
  });
}

void WriteMetric(json::Writer& writer, const core::JobMetric& metric) {
  writer.Object([&] {
    writer.Field("name", metric.last.name);
    writer.Field("value", metric.last.value);
    writer.Field("step", metric.last.step);
    writer.Field("time_ms", metric.last.at);
    writer.List("points", metric.points.points(), [&](const core::MetricPoint& point) {
      writer.Object([&] {
        writer.Field("from_ms", point.from);
        writer.Field("to_ms", point.to);
        writer.Field("value", point.value);
      });
    });
  });
}

http::HttpResponse SpeedAnswer(const ApiImpl& api, const ApiImpl::Who& who, const JobRecord& job,
                               const SpeedHistory& history) {
  return SchemaAnswer([&](json::Writer& writer) {
    writer.Field("number", job.number);
    writer.List("points", history.points(), [&](const core::SpeedPoint& point) {
      writer.Object([&] {
        writer.Field("from_ms", point.from);
        writer.Field("to_ms", point.to);
        writer.Field("steps_per_second", point.PerSecond());
      });
    });
    writer.List("neighbours", history.beside(), [&](const core::BesideStretch& one) {
      writer.Object([&] {
        writer.Field("from_ms", one.from);
        writer.Field("to_ms", one.to);
        writer.Field("jobs", SeenOf(api, who, one.jobs));
      });
    });
    writer.Field("steps_per_second", history.PerSecond());
    writer.Field("steps_per_second_alone",
                 job.alone ? std::optional(job.alone->steps_per_second) : std::nullopt);
    WritePrediction(writer, job);
    writer.List("metrics", history.metrics().all(),
                [&](const core::JobMetric& metric) { WriteMetric(writer, metric); });
  });
}

http::HttpResponse ShowSpeed(ApiImpl& api, const ApiImpl::Who& who, const JobRecord& job) {
  if (const auto live = api.service.Speed(job.number)) return SpeedAnswer(api, who, job, *live);
  const auto store = api.Store();
  if (!store) return api.ErrorAnswer(store.error(), 500);
  const auto stored = (*store)->SpeedOf(job.number);
  if (!stored) return api.ErrorAnswer(stored.error(), 500);
  return SpeedAnswer(api, who, job, stored->value_or(SpeedHistory()));
}

}  // namespace

void AddSpeedRoute(ApiImpl& api) {
  api.Read("/api/v1/jobs/{number}/speed", [&api](const http::HttpRequest& request,
                                                 const ApiImpl::Who& who) {
    const std::string& asked = request.parameters.front();
    const auto number = JobNumber(request);
    const auto job = number ? api.FindJob(*number, who) : core::Result<control::JobPtr>(nullptr);
    if (!job) return api.ErrorAnswer(job.error(), 500);
    if (*job != nullptr) return ShowSpeed(api, who, **job);
    return Problem(404, fmt::format("there is no job {}; `sharewell jobs --all` lists them",
                                    core::Quoted(asked)));
  });
}

}  // namespace sharewell::api
