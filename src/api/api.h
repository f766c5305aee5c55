// Api: /api/v1 on an HttpServer (docs/api.md). Turns requests into questions to the server's heart
// and answers into JSON; decides who may ask what (access.h).
//
// Made and destroyed by one thread, before the HttpServer is started and after it was stopped.
// Threads: the HTTP server's, one that reads (lists, files, the store), one for long requests and
// answers, some for studies that should take a moment and some for those that may take minutes (all
// fair_worker.h; a study is done in a process of its own, for which its thread waits), and one that
// finds when jobs should start (expected_starts.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/access/access.h"
#include "api/access/privacy.h"
#include "api/expected_starts.h"
#include "control/service/job_service.h"
#include "core/job/limits.h"
#include "core/projects.h"
#include "core/result.h"
#include "http/http_server.h"
#include "platform/process/work_stop.h"
#include "store/job_store.h"

namespace sharewell::api {

using Query = std::vector<std::pair<std::string, std::string>>;  // in order, decoded

// A piece of what a job has written. Pieces follow each other; the first may begin late, where
// older ones are gone.
struct LogPiece {
  std::string path;
  std::int64_t begin = 0;  // offset of its first byte in all that was written
};

struct LogPart {
  std::string bytes;
  std::int64_t next = 0;  // offset behind them
  bool all = false;       // nothing lies behind them now
};

// A file of the dashboard. All of it outlives the Api.
struct PageFile {
  std::string_view name;        // app.js: /dashboard/app.js; index.html: /
  std::string_view type;        // its content type
  std::string_view body, gzip;  // as it is, and compressed
};

struct GpuFigures {
  std::optional<double> busy, memory_used_bytes, power_watts;
};

// Told how many jobs have ended under which of the policies.
using WhatIfProgress = std::function<void(std::size_t policy, std::size_t done, std::size_t of)>;

// What a study is told of whoever asked for it.
struct StudyRun {
  const platform::WorkStop& stop;  // asked once they have left, or the server stops
  // CPU time that another process used for it; may be empty.
  std::function<void(core::Seconds used)> charge = {};
};

// The server's own machine.
struct MachineFigures {
  std::optional<double> cpu_busy, memory_bytes, memory_used_bytes;
};

// GET /usage?by=: a table of who held the GPUs, and what it cost.
struct UsageAsked {
  core::UnixMillis from = 0, to = 0;
  std::string by = "user";  // as it was given: who answers knows what there is
  bool csv = false;

  friend bool operator==(const UsageAsked&, const UsageAsked&) = default;
};

// What lies above this layer. A member that is empty is answered with 501. Strings are JSON
// objects. All but `starts`, `gpu_figures`, `machine`, `exposition`, `log_file`, `step` and
// `terminal` are called on the studies' threads, several at once; the first on its own, the others
// on the reading thread, and must be quick.
struct Studies {
  std::function<core::Result<std::string>(const std::string& model, const Query& query,
                                          const StudyRun& run)>
      predict;
  // `progress` may be empty.
  std::function<core::Result<std::string>(const std::vector<std::string>& policies, double days,
                                          const WhatIfProgress& progress, const StudyRun& run)>
      whatif;
  // POST /simulate: a trace's text, on this server's machines; `name` stands in messages.
  std::function<core::Result<std::string>(const std::string& trace, const std::string& name,
                                          const std::vector<std::string>& policies,
                                          const WhatIfProgress& progress, const StudyRun& run)>
      simulate;
  // With a submission: {"start_ms":..,"gpus":[..],"why":".."} of it; without: GET /forecast.
  std::function<core::Result<std::string>(const std::optional<core::Submission>& job,
                                          const StudyRun& run)>
      forecast;
  std::function<core::Result<Starts>()> starts;  // of the jobs that wait; empty: nobody knows
  std::function<core::Result<std::string>(const std::string& name)> profiles;  // empty: all
  std::function<std::map<std::string, GpuFigures>()> gpu_figures;              // by uuid
  std::function<MachineFigures()> machine;  // where the jobs run on it; empty: they do not
  // An error: nothing is there (any more), and why.
  std::function<core::Result<std::vector<LogPiece>>(std::int64_t number, std::uint32_t uid,
                                                    bool errors)>
      log_file;
  // Instead of `log_file` where another machine has it, as ReadLog gives it: it may take some
  // seconds, on the thread for what is long. An error: it cannot be read, and what to do.
  std::function<core::Result<LogPart>(const core::JobRecord& job, bool errors, std::int64_t offset,
                                      std::size_t most)>
      remote_log;
  // GET /jobs/{number}/step: what the watcher inside of it told, as it did; an error: it did not,
  // or it is not kept any more. On the reading thread.
  std::function<core::Result<std::string>(const core::JobRecord& job)> step;
  // The socket of that run's terminal.
  std::function<std::string(std::int64_t number, int attempt)> terminal;
  std::function<std::string()> exposition;  // more for /metrics, in its format
  std::function<std::string()> predictor;   // GET /predictor; quick
  // "shipped" or "retrained"; quick, on the network's thread.
  std::function<core::Result<void>(const std::string& what)> use_predictor;
  // What that user's runs taught is forgotten; quick, likewise.
  std::function<void(const std::string& user)> forget_user;
  // GET /jobs/{number}/samples, of the job as it is now; at most so many points a series.
  std::function<core::Result<std::string>(const core::JobRecord& job, std::size_t most)> samples;
  std::function<core::Result<std::string>()> pairs;  // GET /pairs
  // GET /usage, of so many seconds up to now.
  std::function<core::Result<std::string>(std::int64_t seconds)> usage;
  std::function<core::Result<std::string>(const UsageAsked& asked)> usage_table;  // JSON, or CSV
  // GET /jobs/{number}/neighbours, of the job as it is now.
  std::function<core::Result<std::string>(const core::JobRecord& job)> neighbours;
};

// How jobs of a user start of which nothing is known.
struct UnknownJobs {
  bool alone = false;            // on an idle GPU; else beside others too, as guests
  std::string from = "default";  // or the table of sharewell.toml

  friend bool operator==(const UnknownJobs&, const UnknownJobs&) = default;
};

struct ApiOptions {
  AccessOptions access;
  std::string_view openapi = {};  // docs/openapi.json; outlives the Api
  core::Seconds heartbeat{15};    // a comment on every event stream
  std::size_t most_studies = 32;  // that wait, of all users
  // What one user may take, and where that comes from; without it the defaults. Any thread.
  std::function<core::AccountLimits(const core::Account& who)> limits = {};
  // Must not wait; none: as guests.
  std::function<UnknownJobs(const core::Account& who)> unknown = {};
  Privacy privacy = {};
  core::Projects projects = {};     // as sharewell.toml has them; empty: there are none
  std::vector<PageFile> page = {};  // the dashboard; none: it is not built in
  // Where a browser finds the dashboard, "http://127.0.0.1:10401/"; empty: nowhere. Any thread.
  std::function<std::string()> dashboard = {};
};

// The form of every error.
http::HttpResponse Problem(int status, const std::string& detail);

struct ApiImpl;

class Api {
 public:
  // A store to read from, for what the board no longer has.
  using OpenJobs = std::function<core::Result<std::unique_ptr<store::JobStore>>()>;

  // Adds its routes. `server` and `service` must outlive it.
  Api(http::HttpServer& server, control::JobService& service, OpenJobs open_jobs, Studies studies,
      const ApiOptions& options);
  // REQUIRES: the server is stopped.
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

 private:
  std::shared_ptr<ApiImpl> impl_;  // shared with answers that come later
};

}  // namespace sharewell::api
