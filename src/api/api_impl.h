// ApiImpl: what the routes of Api share. One source a group of routes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/event_streams.h"
#include "api/expected_starts.h"
#include "api/fair_worker.h"
#include "api/study_desk.h"
#include "api/study_progress.h"
#include "api/worker.h"
#include "http/routes.h"
#include "json/writer.h"
#include "platform/mutex.h"

namespace sharewell::api {

// What `work` answers; what it throws is an error that begins with `what`.
core::Result<std::string> WithoutThrowing(const char* what,
                                          const std::function<core::Result<std::string>()>& work);

struct ApiImpl : std::enable_shared_from_this<ApiImpl> {
  using Who = std::optional<core::Account>;  // absent: nobody in particular

  ApiImpl(http::HttpServer& server, control::JobService& service, Api::OpenJobs open,
          Studies studies, const ApiOptions& options);
  void AddRoutes();
  void AddJobRoutes();
  void AddSubmitRoute();
  void AddMachineRoutes();
  void AddStudyRoutes();
  void AddLimitsRoute();
  void AddTokenRoutes();
  void AddSignInRoutes();
  void AddEventRoute();
  void AddPageRoutes();

  // A route under /api/v1, with who asks. Runs on the server's thread.
  using Handler = std::function<void(http::HttpRequest, const Who&, const http::Responder&)>;
  void Route(const char* method, const std::string& path, Handler handler,
             std::size_t most_body = std::size_t{64} << 10);
  // The same for what is read from board, files or store, on the reading thread.
  using Reader = std::function<http::HttpResponse(const http::HttpRequest&, const Who&)>;
  void Read(const std::string& path, Reader reader);
  void ReadThen(const std::string& path, Handler reader);  // it may leave the answer for later
  core::AccountLimits LimitsOf(const core::Account& who) const;
  // A study, on a thread for such; bounded, in all and for one user, whose studies are done one by
  // one. It ends when its client leaves.
  void Study(const Who& who, const http::Responder& responder, StudyDesk::Length length,
             std::function<core::Result<std::string>(const StudyRun& run)> work);
  // GET /usage: those who ask while it is being found are told together. It is nobody's study: it
  // waits behind no what-if, and what it takes is bounded by what it is asked of (Studies::usage).
  void AskUsage(std::int64_t seconds, const http::Responder& responder);
  // What is read from the store and takes a moment, as pages ask for it again and again: no study,
  // so that whoever has several pages open is not at a limit. In bulk.
  void LookUp(const Who& who, const http::Responder& responder,
              std::function<core::Result<std::string>()> work);
  bool Later(const http::Responder& responder,
             std::function<void()> work);  // on the reading thread
  // What is long, and would keep readers waiting: on a thread for such, users in turn.
  void InBulk(const core::Account& who, const http::Responder& responder,
              std::function<void()> work);
  // Answers with what `make` makes on the reading thread: where one of `jobs` waits, as soon as is
  // known when it should start, and with that in its record.
  using Jobs = std::vector<control::JobPtr>;
  void AnswerExpecting(const http::Responder& responder, Jobs jobs,
                       std::function<http::HttpResponse(const Jobs&)> make);

  // From the board, else from the store: the reading thread. Null: there is none that they may see.
  core::Result<control::JobPtr> FindJob(std::int64_t number, const Who& who);
  core::Result<store::JobStore*> Store();  // the reading thread
  http::HttpResponse ErrorAnswer(const core::Error& error, int failed) const;
  // 507 where the store cannot be written, else `failed`.
  int FailedStatus(int failed) const { return service.View().store_up ? failed : 507; }

  http::HttpServer& server;
  control::JobService& service;
  Api::OpenJobs open_jobs;
  Studies studies;
  ApiOptions options;
  Access access;                           // the server's thread
  std::unique_ptr<store::JobStore> store;  // the reading thread
  Worker reading;
  StudyProgress progress;  // outlives the studies
  platform::Mutex usage_mutex;
  std::map<std::int64_t, std::vector<http::Responder>> usage_asked
      SHAREWELL_GUARDED_BY(usage_mutex);  // by seconds
  FairWorker bulk;
  StudyDesk desk;
  ExpectedStarts starts;
  std::unique_ptr<EventStreams> streams;
};

void AddSpeedRoute(ApiImpl& api);
void AddProjectsRoute(ApiImpl& api);

// Whether that job of the board may be seen; those of the store alone are hidden from whoever does
// not see all. Any thread.
bool SeesLive(const ApiImpl& api, const ApiImpl::Who& who, std::int64_t number);
std::vector<std::int64_t> SeenOf(const ApiImpl& api, const ApiImpl::Who& who,
                                 std::vector<std::int64_t> jobs);
// What tells of all users' jobs is not for this one: it was answered so.
bool RefusedAllJobs(const ApiImpl& api, const ApiImpl::Who& who, const http::Responder& responder);
// With a word to whoever asked wrongly.
http::HttpResponse RefusalAnswer(const Refusal& refusal);
bool SeesEnvironment(const std::optional<core::Account>& who, const core::JobRecord& job);
std::string JobText(const core::JobRecord& job, const std::optional<core::Account>& who);
// "jobs": whole records.
void WriteJobs(json::Writer& writer, const std::vector<control::JobPtr>& jobs,
               const std::optional<core::Account>& who);

// GET /usage, in seconds.
constexpr std::int64_t kLeastUsage = 60, kUsualUsage = 7LL * 86400, kMostUsage = 3650LL * 86400;

// Values behind the question mark.
std::string QueryValue(const Query& query, std::string_view name);  // empty: not given
core::Result<std::optional<std::int64_t>> QueryNumber(const Query& query, std::string_view name,
                                                      std::int64_t least, std::int64_t most);
std::optional<std::int64_t> JobNumber(
    const http::HttpRequest& request);  // {number}; absent: it is none

}  // namespace sharewell::api
