#include <algorithm>
#include <map>

#include "cli/args/server_flags.h"
#include "cli/args/values.h"
#include "cli/args/when.h"
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
    app.add_option("--user", user_, "list only this user's jobs")->type_name("USER");
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
    if (flags_.json) return PrintOut(AsJson(*client, *limit));
    return DrawScreen(watch_, [&](std::size_t width) { return AsTable(*client, *limit, width); });
  }

 private:
  std::string With(const std::string& query) const {
    if (user_.empty()) return query;
    return query + (query.empty() ? "" : "&") + "user=" + QueryText(user_);
  }

  Result<std::string> AsJson(const ServerClient& client, std::size_t limit) const {
    std::vector<json::Document> pages;
    std::size_t count = 0;
    std::string below;
    while (count < limit) {
      const std::string path =
          fmt::format("/jobs?limit={}{}", std::min<std::size_t>(limit - count, 1000), below);
      const auto body = client.Get(path + "&" + With(all_ ? "" : "live=1"));
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

  // Those on their places first, then those that wait, then those that are over; by number.
  Result<std::string> AsTable(const ServerClient& client, std::size_t limit,
                              std::size_t width) const {
    const core::UnixMillis now = platform::UnixNow();
    const auto shown = all_ ? client.Jobs(With(""), limit)
                            : client.Jobs(With("phase=starting,running,stopping"), kMostWithAPlace);
    RETURN_IF_ERROR(shown);
    bool more = shown->next.has_value();
    // By number, so that one that goes from part to part between two questions is there once.
    std::map<std::int64_t, JobRecord> by_number;
    const auto take = [&](const JobsAnswer& part) {
      for (const JobRecord& job : part.jobs) by_number.insert_or_assign(job.number, job);
    };
    take(*shown);
    std::string problem = shown->store_problem;
    if (!all_) {
      const auto waiting = client.Jobs(With("phase=held,waiting"), limit);
      RETURN_IF_ERROR(waiting);
      take(*waiting);
      more = waiting->next.has_value();
      auto over = client.Jobs(With("phase=finished,failed,cancelled"), kMostJustOver);
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
    if (jobs.empty()) {
      return std::string(
          all_ ? "No job was submitted yet; `sharewell submit -- COMMAND...` submits one.\n"
               : "No jobs run or wait; `sharewell jobs --all` shows those that are "
                 "over.\n");
    }
    const auto place = [](const JobRecord& job) {
      return report::HasItsPlace(job) ? 0 : core::IsOver(job.phase) ? 2 : 1;
    };
    if (!all_) {
      std::stable_sort(jobs.begin(), jobs.end(),
                       [&](const JobRecord& a, const JobRecord& b) { return place(a) < place(b); });
    }
    if (const auto gpus = client.Gpus()) report::PutNeighbours(jobs, *gpus);
    std::string text = missing + report::JobsTable(jobs, now, width);
    if (more) {
      text += fmt::format("\nThere are more{}: --limit N\n", all_ ? "" : " that wait");
    }
    return text;
  }

  bool watch_ = false;
  bool all_ = false;
  std::string user_;
  std::string limit_ = "100";
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewJobsCommand() { return std::make_unique<JobsCommand>(); }

}  // namespace sharewell::cli
