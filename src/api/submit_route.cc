// POST /jobs: submissions, for real or to see what would become of them.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/json_answer.h"
#include "core/result.h"
#include "platform/mutex.h"

namespace sharewell::api {
namespace {

using control::JobPtr;

constexpr std::size_t kMostSubmission = std::size_t{32} << 20;
constexpr std::size_t kParsedAtOnce = std::size_t{64} << 10;  // bytes; longer ones on a thread
constexpr std::size_t kWrittenAtOnce = 16;                    // jobs; likewise
constexpr std::size_t kMostConsidered = 1000;

// Answers come on the loop's thread, which must not be held up.
void Submit(ApiImpl& api, std::vector<core::Submission> jobs, const core::Account& who,
            const http::Responder& responder) {
  api.service.Submit(
      std::move(jobs), who,
      [who, responder, weak = api.weak_from_this()](core::Result<std::vector<JobPtr>> submitted) {
        const auto inside = weak.lock();
        if (!submitted) {
          const auto& error = submitted.error();
          return responder.Answer(inside ? inside->ErrorAnswer(error, 409)
                                         : Problem(503, error.message));
        }
        const bool many = submitted->size() > kWrittenAtOnce;
        const auto answer = [who, responder, jobs = std::move(*submitted)] {
          responder.Answer(JsonAnswer(
              SchemaText([&](json::Writer& writer) { WriteJobs(writer, jobs, who); }), 201));
        };
        if (inside && many) {
          inside->InBulk(who, responder, answer);
        } else {
          answer();
        }
      });
}

bool ComeAfterOthers(const std::vector<core::Submission>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return !job.after.empty(); });
}

// How jobs ended that were over long ago is asked of the store here, on the reading thread, so that
// the loop finds it on the board.
void LookUpEarlier(ApiImpl& api, const std::vector<core::Submission>& jobs) {
  const control::JobBoard& board = api.service.board();
  std::set<std::int64_t> unknown;
  for (const core::Submission& job : jobs) {
    for (const std::int64_t before : job.after) {
      if (unknown.count(before) == 0 && !board.PhaseOf(before)) unknown.insert(before);
    }
  }
  if (unknown.empty()) return;
  const auto store = api.Store();
  if (!store) return;  // whoever admits them finds that out too
  const auto phases = (*store)->PhasesOf({unknown.begin(), unknown.end()});
  if (!phases) return;
  for (const auto& [number, phase] : *phases) {
    if (core::IsOver(phase)) board.Remember(number, phase);
  }
}

// What each would be believed to need, put together as the answers come in.
struct Considered {
  std::vector<core::Submission> jobs;
  core::Account who;
  platform::Mutex mutex;
  std::size_t missing SHAREWELL_GUARDED_BY(mutex) = 0;
  // Written with the mutex held, and read once nothing is missing.
  std::vector<JobPtr> records;
  std::optional<core::Error> error;
};

core::Result<std::string> WithForecast(const Studies& studies, const Considered& considered,
                                       const StudyRun& run) {
  std::string forecast = "null";
  if (studies.forecast) {
    core::Submission job = considered.jobs.front();
    if (!job.needs) job.needs = considered.records.front()->believed;
    auto made = studies.forecast(job, run);
    RETURN_IF_ERROR(made);
    forecast = std::move(*made);
  }
  return SchemaText([&](json::Writer& writer) {
    WriteJobs(writer, considered.records, considered.who);
    writer.Key("forecast");
    writer.Raw(forecast);
  });
}

void Consider(ApiImpl& api, std::vector<core::Submission> jobs, const core::Account& who,
              const http::Responder& responder) {
  if (jobs.size() > kMostConsidered) {
    return responder.Answer(
        Problem(400, fmt::format("a dry run takes at most {} jobs at once", kMostConsidered)));
  }
  const auto all = std::make_shared<Considered>();  // shared by the answers
  all->jobs = std::move(jobs);
  all->who = who;
  all->records.resize(all->jobs.size());
  {
    const platform::MutexLock lock(all->mutex);
    all->missing = all->jobs.size();
  }
  for (std::size_t i = 0; i < all->records.size(); ++i) {
    api.service.Consider(
        all->jobs[i], who,
        [all, i, responder, weak = api.weak_from_this()](core::Result<core::JobRecord> record) {
          {
            const platform::MutexLock lock(all->mutex);
            if (record) {
              all->records[i] = std::make_shared<const core::JobRecord>(std::move(*record));
            } else if (!all->error) {
              all->error = record.error();
            }
            if (--all->missing > 0) return;
          }
          const auto inside = weak.lock();
          if (!inside) return;  // the server goes down; the client is told by the answer's end
          if (all->error) return responder.Answer(inside->ErrorAnswer(*all->error, 409));
          inside->Study(all->who, responder, StudyDesk::Length::kShort,
                        [all, raw = inside.get()](const StudyRun& run) {
                          return WithForecast(raw->studies, *all, run);
                        });
        });
  }
}

}  // namespace

void ApiImpl::AddSubmitRoute() {
  Route(
      "POST", "/api/v1/jobs",
      [this](http::HttpRequest request, const Who& who, const http::Responder& responder) {
        if (const auto may = access.RunAs(*who); !may) {
          return responder.Answer(RefusalAnswer(may.error()));
        }
        const bool dry = QueryValue(http::ParseQuery(request.query), "dry_run") == "1";
        const std::size_t size = request.body.size();
        auto work = [this, dry, who = *who, responder, body = std::move(request.body)] {
          auto jobs = ParseSubmissions(body);
          if (!jobs) return responder.Answer(ErrorAnswer(jobs.error(), 400));
          const auto go_on = [this, dry, who, responder](std::vector<core::Submission> all) {
            dry ? Consider(*this, std::move(all), who, responder)
                : Submit(*this, std::move(all), who, responder);
          };
          if (!ComeAfterOthers(*jobs)) return go_on(std::move(*jobs));
          Later(responder, [this, go_on, all = std::move(*jobs)]() mutable {
            LookUpEarlier(*this, all);
            go_on(std::move(all));
          });
        };
        if (size <= kParsedAtOnce) return work();
        InBulk(*who, responder, std::move(work));
      },
      kMostSubmission);
}

}  // namespace sharewell::api
