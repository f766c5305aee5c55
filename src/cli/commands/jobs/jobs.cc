#include <algorithm>
#include <map>
#include <set>

#include "cli/args/values.h"
#include "cli/args/when.h"
#include "cli/client/job_filter.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "core/result.h"
#include "json/value.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/job_tables.h"
#include "report/text/json.h"

namespace sharewell::cli {
namespace {

using core::JobRecord;
using core::Result;
using report::JobsShown;

constexpr std::uint64_t kMostJobs = 100'000;
constexpr std::size_t kMostWithAPlace = 10'000;
// Those that are over stay in sight for a while: a job that ended at once would seem lost.
constexpr std::size_t kMostJustOver = 5;
constexpr core::UnixMillis kJustOver = 10 * 60 * 1000;

class JobsCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_flag("-w,--watch", watch_, "refresh every second")->disable_flag_override();
    app.add_flag("--all", all_, "list jobs that ended, too")->disable_flag_override();
    filter_.Add(app);
    app.add_option("--limit", limit_, "list at most the newest N")
        ->type_name("N")
        ->capture_default_str();
    flags_.Add(app);
  }

  Result<ExitCode> Run() override {
    const auto limit = ParseWhole("--limit", limit_, 1, kMostJobs);
    RETURN_IF_ERROR(limit);
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    const auto shown = filter_.Find(*client);
    RETURN_IF_ERROR(shown);
    if (flags_.json) return PrintOut(AsJson(*client, *shown, *limit));
    return DrawScreen(watch_,
                      [&](std::size_t width) { return AsTable(*client, *shown, *limit, width); });
  }

 private:
  // Such jobs of those that are shown.
  static std::string With(const char* query, const JobsShown& shown) {
    const std::string of_these = JobsQuery(shown);
    const std::string such = query;
    return such + (such.empty() || of_these.empty() ? "" : "&") + of_these;
  }

  Result<std::string> AsJson(const ServerClient& client, const JobsShown& shown,
                             std::size_t limit) const {
    std::vector<json::Document> pages;
    std::size_t count = 0;
    std::string below;
    while (count < limit) {
      const std::string path =
          fmt::format("/jobs?limit={}{}", std::min<std::size_t>(limit - count, 1000), below);
      const auto body =
          client.Get(path + "&" + With(all_ || !shown.phases.empty() ? "" : "live=1", shown));
      if (!body) return body;
      auto page = json::Document::Parse(*body);
      const json::Value jobs = json::RootOf(page)["jobs"];
      if (!jobs.is_list()) {
        return core::FailedError("the server's answer has no jobs in it; check --server");
      }
      count += jobs.size();
      const auto next = page->root()["next"].Whole();
      const bool last = jobs.empty() || !next;
      pages.push_back(std::move(*page));
      if (last) break;
      below = fmt::format("&below={}", *next);
    }
    return report::JsonReport([&](json::Writer& out) {
      out.Key("jobs");
      out.List([&] {
        for (const json::Document& page : pages) {
          for (const json::Value job : page.root()["jobs"].items()) out.Value(job);
        }
      });
      if (pages.empty()) return;
      for (const char* key : {"counts", "next", "store_problem"})
        out.Field(key, pages.back().root()[key]);
    });
  }

  // What stands above a list that is made without the store; else empty.
  static std::string WithoutStore(const std::string& problem) {
    if (problem.empty()) return {};
    return fmt::format("The server's store cannot be read, so that older jobs are missing: {}\n\n",
                       report::PlainText(problem));
  }

  // Those on their places first, then those that wait, then those that have just ended; by number.
  // With --all or --state all of these by number alone.
  Result<std::string> AsTable(const ServerClient& client, const JobsShown& shown, std::size_t limit,
                              std::size_t width) const {
    const core::UnixMillis now = platform::UnixNow();
    const bool chosen = all_ || !shown.phases.empty();
    const auto listed =
        chosen ? client.Jobs(With("", shown), limit)
               : client.Jobs(With("phase=starting,running,stopping", shown), kMostWithAPlace);
    RETURN_IF_ERROR(listed);
    bool more = listed->next.has_value();
    // By number, so that one that goes from part to part between two questions is there once.
    std::map<std::int64_t, JobRecord> by_number;
    const auto take = [&](const JobsAnswer& part) {
      for (const JobRecord& job : part.jobs) by_number.insert_or_assign(job.number, job);
    };
    take(*listed);
    std::string problem = listed->store_problem;
    if (!chosen) {
      const auto waiting = client.Jobs(With("phase=held,waiting", shown), limit);
      RETURN_IF_ERROR(waiting);
      take(*waiting);
      more = waiting->next.has_value();
      auto over = client.Jobs(With("phase=finished,failed,cancelled", shown), kMostJustOver);
      RETURN_IF_ERROR(over);
      std::erase_if(over->jobs,
                    [&](const JobRecord& job) { return job.ended.value_or(0) < now - kJustOver; });
      take(*over);
      problem = over->store_problem;
    }
    const std::string missing = WithoutStore(problem);
    if (by_number.empty() && !missing.empty()) return missing + "No jobs run or wait.\n";
    std::vector<JobRecord> jobs;
    for (auto& [number, job] : by_number) jobs.push_back(std::move(job));
    if (jobs.empty()) return NoJobs(shown);
    if (!chosen) {
      if (!shown.flat) LeaveOutEndedOfLiveArrays(jobs);
      const auto place = [](const JobRecord& job) {
        return report::HasItsPlace(job) ? 0 : core::IsOver(job.phase) ? 2 : 1;
      };
      std::stable_sort(jobs.begin(), jobs.end(),
                       [&](const JobRecord& a, const JobRecord& b) { return place(a) < place(b); });
    }
    if (const auto gpus = client.Gpus()) report::PutNeighbours(jobs, *gpus);
    std::string text = missing + report::JobsTable(jobs, now, width, shown.flat);
    if (more) {
      text += fmt::format("\nThere are more{}: --limit N\n", chosen ? "" : " that wait");
    }
    return text;
  }

  // The last few that ended are not how many of the array have ended: a count of them would say so.
  static void LeaveOutEndedOfLiveArrays(std::vector<JobRecord>& jobs) {
    std::set<std::string> live;
    for (const JobRecord& job : jobs) {
      if (!core::IsOver(job.phase)) live.insert(core::ArrayOf(job.asked));
    }
    live.erase("");
    std::erase_if(jobs, [&](const JobRecord& job) {
      return core::IsOver(job.phase) && live.contains(core::ArrayOf(job.asked));
    });
  }

  std::string NoJobs(const JobsShown& shown) const {
    if (!shown.TakesAll()) {
      return "No such jobs; `sharewell jobs --all` shows those of all users and states.\n";
    }
    return all_ ? "No job was submitted yet; `sharewell submit -- COMMAND...` submits one.\n"
                : "No jobs run or wait; `sharewell jobs --all` shows those that are over.\n";
  }

  bool watch_ = false;
  bool all_ = false;
  JobFilterFlags filter_;
  std::string limit_ = "100";
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewJobsCommand() { return std::make_unique<JobsCommand>(); }

}  // namespace sharewell::cli
