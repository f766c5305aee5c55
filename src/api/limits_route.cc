// GET /limits: what one user may take of the server, and has taken.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "api/api_impl.h"
#include "api/json_answer.h"
#include "control/service/jobs/admission.h"
#include "core/text/quoted.h"

namespace sharewell::api {
namespace {

// What is counted here; the others are counted elsewhere, or there is nothing to count.
std::map<std::string_view, double> UsedBy(const ApiImpl& api, const std::string& user,
                                          const http::HttpUse& use) {
  double jobs = 0, running = 0, bytes = 0, gpus = 0;
  for (const control::JobPtr& job : api.service.board().Live()) {
    if (job->user.name != user) continue;
    ++jobs;
    bytes += static_cast<double>(control::BytesOf(job->asked));
    if (job->phase == core::Phase::kHeld || job->phase == core::Phase::kWaiting) continue;
    ++running;
    gpus += job->asked.gpus;
  }
  std::map<std::string_view, double> used = {
      {"queued_jobs", jobs},
      {"running_jobs", running},
      {"queued_bytes", bytes},
      {"gpus", gpus},
      {"connections", static_cast<double>(use.connections)},
      {"streams", static_cast<double>(use.streams)},
      {"request_bytes", static_cast<double>(use.bytes)},
      {"server_seconds_per_minute", std::round(use.server.value * 1e3) / 1e3},
      {"studies", static_cast<double>(api.desk.CountOf(user))}};
  if (const auto hours = api.service.GpuHoursOfWeek(user)) {
    used["gpu_hours_a_week"] = std::round(*hours * 100) / 100;
  }
  return used;
}

std::string_view UnitName(core::LimitUnit unit) {
  switch (unit) {
    case core::LimitUnit::kBytes:
      return "bytes";
    case core::LimitUnit::kSecondsAMinute:
      return "seconds_per_minute";
    case core::LimitUnit::kHours:
      return "hours";
    case core::LimitUnit::kTime:
      return "seconds";
    case core::LimitUnit::kCount:
      break;
  }
  return "count";
}

http::HttpResponse Told(const ApiImpl& api, const core::Account& who, const http::HttpUse& use) {
  const core::AccountLimits limits = api.LimitsOf(who);
  const auto counted = UsedBy(api, who.name, use);
  std::size_t i = 0;
  const auto write = [&](json::Writer& writer, const core::LimitKey& key) {
    const double value = core::ValueOf(limits.limits, key);
    const bool is_limit = key.is_bytes() || !core::IsNoLimit(value);
    const auto found = counted.find(key.name);
    std::optional<double> used;
    if (found != counted.end()) used = found->second;
    writer.Field("name", key.name);
    writer.Field("what", key.what);
    writer.Field("unit", UnitName(key.unit));
    writer.Field("limit", is_limit ? std::optional(value) : std::nullopt);
    writer.Field("used", used);
    writer.Field("left",
                 used && is_limit ? std::optional(std::max(0.0, value - *used)) : std::nullopt);
    writer.Field("from", i < limits.from.size() ? std::optional(limits.from[i]) : std::nullopt);
    ++i;
  };
  const UnknownJobs unknown = api.options.unknown ? api.options.unknown(who) : UnknownJobs{};
  return SchemaAnswer([&](json::Writer& writer) {
    writer.Field("user", who.name);
    writer.Field("unknown", unknown.alone ? "alone" : "guest");
    writer.Field("unknown_from", unknown.from);
    writer.List("limits", core::LimitKeys(),
                [&](const core::LimitKey& key) { writer.Object([&] { write(writer, key); }); });
  });
}

// What the HTTP server counts is asked on its thread.
void Answer(ApiImpl& api, const core::Account& who, const http::Responder& responder) {
  api.server.Post([&api, who, responder] {
    api.Later(responder, [&api, who, responder, use = api.server.UseOf(who.uid)] {
      responder.Answer(Told(api, who, use));
    });
  });
}

}  // namespace

core::AccountLimits ApiImpl::LimitsOf(const core::Account& who) const {
  if (options.limits) return options.limits(who);
  return {control::UsualLimits(who), {}};
}

void ApiImpl::AddLimitsRoute() {
  ReadThen("/api/v1/limits", [this](const http::HttpRequest& request, const Who& who,
                                    const http::Responder& responder) {
    if (!who) {
      return responder.Answer(
          RefusalAnswer({401, "whose limits? Give a token, or ask through the server's socket"}));
    }
    const std::string name = QueryValue(http::ParseQuery(request.query), "user");
    if (name.empty() || name == who->name) return Answer(*this, *who, responder);
    if (!who->admin) {
      return responder.Answer(Problem(403, "the limits of other users are shown to admins alone"));
    }
    const auto other = AccountNamed(name);
    if (!other) {
      return responder.Answer(
          Problem(404, fmt::format("there is no user {} on this machine", core::Quoted(name))));
    }
    Answer(*this, *other, responder);
  });
}

}  // namespace sharewell::api
