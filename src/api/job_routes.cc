// Jobs: listed, shown, explained, acted on; and what they have written.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "api/api_impl.h"
#include "api/json_answer.h"
#include "api/logs.h"
#include "api/project_use.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "store/jobs/job_json.h"

namespace sharewell::api {
namespace {

using control::JobPtr;
using core::JobRecord;
using core::Phase;

constexpr std::int64_t kMostListed = 10'000;
constexpr std::int64_t kListed = 100;
// A page of a list, and what is read of the store for it: whatever is queued, it can be listed, and
// other readers do not wait long for it.
constexpr std::size_t kMostPageBytes = std::size_t{1} << 20, kMostReadBytes = std::size_t{1} << 20;
constexpr std::size_t kMostListedCommand = 1000;

http::HttpResponse NoJob(const std::string& number) {
  return Problem(404, fmt::format("there is no job {}; `sharewell jobs --all` lists them",
                                  core::Quoted(number)));
}

struct Listing {
  std::vector<Phase> phases;
  std::string user;
  std::int64_t limit = kListed;
  std::optional<std::int64_t> below;
  bool live = false;
  std::optional<std::uint32_t> owner = {};  // theirs alone are shown

  bool Takes(const JobRecord& job) const {
    if (owner && core::OwnerUid(job) != *owner) return false;
    if (below && job.number >= *below) return false;
    if (live && core::IsOver(job.phase)) return false;
    if (!user.empty() && job.user.name != user) return false;
    return phases.empty() || std::find(phases.begin(), phases.end(), job.phase) != phases.end();
  }
  // Of phases that are the end of a job, those that are asked for.
  std::vector<Phase> Over() const {
    if (live) return {};
    if (phases.empty()) return {Phase::kFinished, Phase::kFailed, Phase::kCancelled};
    std::vector<Phase> over;
    std::copy_if(phases.begin(), phases.end(), std::back_inserter(over), core::IsOver);
    return over;
  }
};

core::Result<Listing> ParseListing(const Query& query) {
  Listing listing;
  std::string phases = QueryValue(query, "phase") + ",";
  for (std::size_t comma = 0; (comma = phases.find(',')) != std::string::npos;) {
    const std::string name = phases.substr(0, comma);
    phases.erase(0, comma + 1);
    if (name.empty()) continue;
    const auto phase = core::PhaseNamed(name);
    if (!phase) {
      return core::UsageError(
          "phase: {} is not a phase; the phases are held, waiting, starting, running, stopping, "
          "finished, "
          "failed and cancelled",
          core::Quoted(name));
    }
    listing.phases.push_back(*phase);
  }
  listing.user = QueryValue(query, "user");
  const auto limit = QueryNumber(query, "limit", 1, kMostListed);
  RETURN_IF_ERROR(limit);
  listing.limit = limit->value_or(kListed);
  const auto below = QueryNumber(query, "below", 1, INT64_MAX);
  RETURN_IF_ERROR(below);
  listing.below = *below;
  const auto live = QueryNumber(query, "live", 0, 1);
  RETURN_IF_ERROR(live);
  listing.live = live->value_or(0) == 1;
  return listing;
}

// As lists have it: without the environment, and of a long command its beginning and "...".
JobRecord Shortened(const JobRecord& job) {
  JobRecord brief = job;
  brief.asked.environment.clear();
  if (brief.told) brief.told->predicted.reset();
  std::vector<std::string>& command = brief.asked.command;
  std::size_t left = kMostListedCommand;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i].size() <= left) {
      left -= command[i].size();
      continue;
    }
    const auto inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    while (left > 0 && inside(command[i][left])) --left;  // not in the middle of a character
    command[i].resize(left);
    command.resize(i + 1);
    command.emplace_back("...");
    break;
  }
  return brief;
}

// Of what the store has below the last one that was read, is there more?
core::Result<bool> IsThereMore(store::JobStore& store, store::JobFilter filter,
                               std::int64_t below) {
  filter.below = below;
  filter.most = 1;
  const auto one = store.Jobs(filter);
  RETURN_IF_ERROR(one);
  return !one->empty();
}

struct ListedJobs {
  std::vector<JobPtr> jobs;         // newest first; one more than is shown, where there is one
  std::optional<std::int64_t> cut;  // the last one, where the store has more than was read
  std::string store_problem;        // why only the board was read
};

// Of what is over, what the store has: it alone has all of it. Unchanged on failure.
core::Result<void> AddKept(ApiImpl& api, const Listing& listing, const store::JobFilter& filter,
                           ListedJobs& to) {
  const auto store = api.Store();
  RETURN_IF_ERROR(store);
  auto kept = (*store)->Jobs(filter);
  RETURN_IF_ERROR(kept);
  if (!kept->empty() && kept->size() < filter.most) {
    const auto more = IsThereMore(**store, filter, kept->back().number);
    RETURN_IF_ERROR(more);
    if (*more) to.cut = kept->back().number;
  }
  for (JobRecord& record : *kept) {
    if (api.service.board().Find(record.number) != nullptr || !listing.Takes(record)) continue;
    to.jobs.push_back(std::make_shared<const JobRecord>(std::move(record)));
  }
  return {};
}

// The board has the newest word on what it knows, and all there is while the store is away.
ListedJobs Listed(ApiImpl& api, const Listing& listing) {
  const auto most = static_cast<std::size_t>(listing.limit) + 1;
  ListedJobs listed;
  std::vector<JobPtr>& jobs = listed.jobs;
  jobs = api.service.board().NewestLive(most, listing.below,
                                        [&](const JobRecord& job) { return listing.Takes(job); });
  if (const auto over = listing.Over(); !over.empty()) {
    for (const JobPtr& job : api.service.board().Over()) {
      if (listing.Takes(*job)) jobs.push_back(job);
    }
    store::JobFilter filter;
    if (!listing.user.empty()) filter.user = listing.user;
    filter.phases = over;
    filter.below = listing.below;
    filter.most = most;
    filter.most_bytes = kMostReadBytes;
    const auto kept = AddKept(api, listing, filter, listed);
    if (!kept) listed.store_problem = kept.error().message;
    const auto newer = [](const JobPtr& a, const JobPtr& b) { return a->number > b->number; };
    std::sort(jobs.begin(), jobs.end(), newer);
    const auto same = [](const JobPtr& a, const JobPtr& b) { return a->number == b->number; };
    jobs.erase(std::unique(jobs.begin(), jobs.end(), same), jobs.end());
    // Below the cut only the board was read: that is for the next page.
    const auto& cut = listed.cut;
    if (cut) std::erase_if(jobs, [&](const JobPtr& job) { return job->number < *cut; });
  }
  jobs.resize(std::min(jobs.size(), most));
  return listed;
}

void List(ApiImpl& api, const http::HttpRequest& request, const ApiImpl::Who& who,
          const http::Responder& responder) {
  auto listing = ParseListing(http::ParseQuery(request.query));
  if (!listing) return responder.Answer(Problem(400, listing.error().message));
  if (const Privacy& privacy = api.options.privacy; !privacy.SeesAllJobs(who)) {
    if (!who) return responder.Answer(RefusalAnswer(privacy.ForOperators(who)));
    listing->owner = who->uid;
    if (listing->user.empty()) listing->user = who->name;  // the store reads no others
  }
  ListedJobs listed = Listed(api, *listing);
  std::optional<std::int64_t> next = listed.cut;
  if (listed.jobs.size() > static_cast<std::size_t>(listing->limit)) {
    listed.jobs.pop_back();
    next = listed.jobs.back()->number;
  }
  const auto write = [&api, next, problem = listed.store_problem](const auto& told) mutable {
    return SchemaAnswer([&](json::Writer& writer) {
      writer.Key("jobs");
      writer.List([&] {
        for (std::size_t i = 0; i < told.size(); ++i) {
          if (i > 0 && writer.size() > kMostPageBytes) {
            next = told[i - 1]->number;
            break;
          }
          store::WriteJob(writer, Shortened(*told[i]), false);
        }
      });
      writer.Object("counts", [&] {
        for (const auto& [phase, count] : api.service.board().Counts()) {
          writer.Field(core::NameOf(phase), count);
        }
      });
      writer.Field("store_problem", problem.empty() ? std::nullopt : std::optional(problem));
      writer.Field("next", next);
    });
  };
  api.AnswerExpecting(responder, std::move(listed.jobs), write);
}

// The jobs that are on its GPUs now.
std::vector<std::int64_t> Neighbours(const JobRecord& job, const control::ServiceView& view) {
  std::set<std::int64_t> others;
  for (const control::GpuView& gpu : view.gpus) {
    const bool here = std::any_of(job.gpus.begin(), job.gpus.end(),
                                  [&](const auto& given) { return given.uuid == gpu.gpu.uuid; });
    if (here) others.insert(gpu.jobs.begin(), gpu.jobs.end());
  }
  others.erase(job.number);
  return {others.begin(), others.end()};
}

// How it ended, or why it waits, or why it is where it is.
std::string FirstReason(const JobRecord& job) {
  if (core::IsOver(job.phase)) {
    std::string text = fmt::format("it {}", core::EndedAs(job.phase));
    const bool code = job.phase == Phase::kFailed && job.exit_code;
    return code ? text + fmt::format(" with exit code {}", *job.exit_code) : text;
  }
  const bool says_held = job.reason.empty() || (job.hold && core::SaysHeld(*job.hold));
  if (job.phase == Phase::kHeld && !says_held && !job.paused) return "held: " + job.reason;
  return job.reason;
}

// The policy's own reasons, and what else decides, one sentence each.
std::vector<std::string> WhyOf(const ApiImpl& api, const ApiImpl::Who& who, const JobRecord& job,
                               const std::optional<control::JobsAhead>& ahead) {
  std::vector<std::string> why;
  const bool over = core::IsOver(job.phase);
  if (const std::string first = FirstReason(job); !first.empty()) why.push_back(first);
  if (over && !job.note.empty()) why.push_back(job.note);
  if (job.paused && (job.phase == Phase::kHeld || job.phase == Phase::kWaiting)) {
    const std::string size =
        job.seen.gpu_memory ? core::SizeText(*job.seen.gpu_memory) + " of " : "";
    why.push_back(fmt::format(
        "it is paused: its {}GPU memory {} in host memory, and it goes on where it was{}", size,
        size.empty() ? "lies" : "lie",
        job.phase == Phase::kHeld ? fmt::format(" with `sharewell resume {}`", job.number) : ""));
  }
  if (ahead) why.push_back(control::InWords(*ahead));
  if (const auto in = ProjectInWords(api.options.projects, job, api.service)) why.push_back(*in);
  const bool placed = job.phase == Phase::kStarting || job.phase == Phase::kRunning ||
                      job.phase == Phase::kStopping;
  if (const auto others = Neighbours(job, api.service.View()); placed && !others.empty()) {
    const auto seen = SeenOf(api, who, others);
    const std::size_t hidden = others.size() - seen.size();
    why.push_back(hidden > 0
                      ? fmt::format("it shares its GPU with {}", core::Count(others.size(), "job"))
                      : fmt::format("it shares its GPU with job{} {}", seen.size() == 1 ? "" : "s",
                                    fmt::join(seen, ", ")));
  }
  // While nothing is known of it, the reason says so.
  const bool known = job.believed.sources.busy != core::Source::kAssumed;
  if (placed && known && job.guest_memory) why.push_back(core::GuestInWords(job));
  if (!job.believed.from.empty()) {
    why.push_back(fmt::format("what it needs is {}: {}", core::NameOf(job.believed.sources.busy),
                              job.believed.from));
  }
  if (job.told) {
    if (const std::string told = core::InWords(*job.told); !told.empty()) {
      why.push_back(fmt::format("it has told that it trains {}", told));
    }
  }
  if (job.slowdown) {
    why.push_back(
        fmt::format("it {} {:.2f} times as long as alone", over ? "ran" : "runs", *job.slowdown));
  }
  if (const std::string slower = core::SlowerInWords(job); !slower.empty()) {
    why.push_back(fmt::format("it {} {}; how fast it is alone has not been seen",
                              over ? "was" : "is", slower));
  }
  if (!over && !job.note.empty()) why.push_back(job.note);
  if (why.empty()) why.push_back(fmt::format("it is {}", core::NameOf(job.phase)));
  return why;
}

void WriteAhead(json::Writer& writer, const std::optional<control::JobsAhead>& ahead) {
  if (!ahead) return writer.Null("ahead");
  writer.Object("ahead", [&] {
    writer.Field("jobs", ahead->jobs);
    writer.List("of", ahead->groups, [&](const auto& group) {
      writer.Object([&] {
        writer.Field("user", group.user);
        writer.Field("jobs", group.jobs);
        writer.Field("because", control::NameOf(group.why));
      });
    });
  });
}

http::HttpResponse Explain(const ApiImpl& api, const ApiImpl::Who& who, const JobRecord& job,
                           const std::optional<control::JobsAhead>& ahead) {
  return SchemaAnswer([&](json::Writer& writer) {
    writer.Field("number", job.number);
    writer.Field("phase", core::NameOf(job.phase));
    writer.Field("why", WhyOf(api, who, job, ahead));
    WriteAhead(writer, ahead);
    writer.Field("expected_start_ms", job.expected_start);
  });
}

// Whose jobs go before it; how many do is no secret.
void HideOthers(control::JobsAhead& ahead, const ApiImpl::Who& who) {
  for (control::JobsAhead::Group& group : ahead.groups) {
    if (!who || group.user != who->name) group.user = "others";
  }
}

// Answers come on the loop's thread, which must not be held up: what is written is written later.
void ShowWhy(ApiImpl& api, const ApiImpl::Who& who, const JobPtr& job,
             const http::Responder& responder) {
  const auto explain = [&api, who, responder](const JobPtr& told,
                                              std::optional<control::JobsAhead> ahead) {
    if (ahead && !api.options.privacy.SeesAllJobs(who)) HideOthers(*ahead, who);
    api.AnswerExpecting(responder, {told}, [&api, who, ahead](const ApiImpl::Jobs& jobs) {
      return Explain(api, who, *jobs.front(), ahead);
    });
  };
  if (job->phase != Phase::kWaiting) return explain(job, std::nullopt);
  api.service.Ahead(job->number, [job, explain, weak = api.weak_from_this()](
                                     const core::Result<std::optional<control::JobsAhead>>& ahead) {
    if (const auto inside = weak.lock()) explain(job, ahead.value_or(std::nullopt));
  });
}

// As it was told. Shapes and operators say what somebody works on, so it is for whoever may read
// what the job wrote.
http::HttpResponse ShowStep(const ApiImpl& api, const ApiImpl::Who& who, const JobRecord& job) {
  if (const auto may = Access::Touch(who, core::OwnerUid(job)); !may)
    return RefusalAnswer(may.error());
  if (!api.studies.step) return Problem(501, "this server keeps no told steps");
  auto step = api.studies.step(job);
  if (!step) return Problem(404, step.error().message);
  return {200, "application/json", std::move(*step), {}};
}

// Where its client connects: the kernel lets nobody in there but the job's user and root.
http::HttpResponse ShowTerminal(const ApiImpl& api, const ApiImpl::Who& who, const JobRecord& job) {
  if (const auto may = Access::Touch(who, job.user.uid); !may) return RefusalAnswer(may.error());
  if (!api.studies.terminal) return Problem(501, "this server has no terminals");
  if (!job.asked.terminal) {
    return Problem(409, fmt::format("job {} has no terminal; only jobs of `sharewell run` have one",
                                    job.number));
  }
  const bool placed = job.phase == Phase::kStarting || job.phase == Phase::kRunning ||
                      job.phase == Phase::kStopping;
  if (!placed) {
    return Problem(409, fmt::format("job {} is {}: it has a terminal while it runs", job.number,
                                    core::NameOf(job.phase)));
  }
  return SchemaAnswer([&](json::Writer& writer) {
    writer.Field("number", job.number);
    writer.Field("path", api.studies.terminal(job.number, job.attempt));
  });
}

void Act(ApiImpl& api, control::Action action, const JobRecord& job, const core::Account& who,
         const http::Responder& responder) {
  if (core::IsOver(job.phase)) {
    return responder.Answer(
        Problem(409, fmt::format("job {} is over: it {}", job.number, core::EndedAs(job.phase))));
  }
  api.service.Act(
      action, job.number, who,
      [responder, who, weak = api.weak_from_this()](core::Result<JobPtr> acted) {
        if (acted) return responder.Answer(JsonAnswer(JobText(**acted, who)));
        const auto inside = weak.lock();
        responder.Answer(Problem(inside ? inside->FailedStatus(409) : 409, acted.error().message));
      });
}

}  // namespace

void ApiImpl::AddJobRoutes() {
  ReadThen("/api/v1/jobs",
           [this](const http::HttpRequest& request, const Who& who,
                  const http::Responder& responder) { List(*this, request, who, responder); });

  // On the reading thread, and only where the board does not know it, from the store.
  const auto show = [this](const std::string& path, auto make) {
    ReadThen("/api/v1/jobs/{number}" + path,
             [this, make](const http::HttpRequest& request, const Who& who,
                          const http::Responder& responder) {
               const auto number = JobNumber(request);
               if (!number) return responder.Answer(NoJob(request.parameters.front()));
               const auto job = FindJob(*number, who);
               if (!job) return responder.Answer(ErrorAnswer(job.error(), 500));
               if (*job == nullptr) return responder.Answer(NoJob(request.parameters.front()));
               make(request, who, *job, responder);
             });
  };
  show("", [this](const http::HttpRequest&, const Who& who, const JobPtr& job,
                  const http::Responder& to) {
    AnswerExpecting(to, {job},
                    [who](const Jobs& told) { return JsonAnswer(JobText(*told.front(), who)); });
  });
  show("/why", [this](const http::HttpRequest&, const Who& who, const JobPtr& job,
                      const http::Responder& to) { ShowWhy(*this, who, job, to); });
  show("/logs", [this](const http::HttpRequest& request, const Who& who, const JobPtr& job,
                       const http::Responder& to) { ShowLog(*this, request, who, job, to); });
  show("/step", [this](const http::HttpRequest&, const Who& who, const JobPtr& job,
                       const http::Responder& to) { to.Answer(ShowStep(*this, who, *job)); });
  show("/terminal",
       [this](const http::HttpRequest&, const Who& who, const JobPtr& job,
              const http::Responder& to) { to.Answer(ShowTerminal(*this, who, *job)); });

  using control::Action;
  for (const auto& [word, action] :
       {std::pair("cancel", Action::kCancel), std::pair("hold", Action::kHold),
        std::pair("release", Action::kRelease), std::pair("pause", Action::kPause),
        std::pair("resume", Action::kResume)}) {
    Route("POST", fmt::format("/api/v1/jobs/{{number}}/{}", word),
          [this, action = action](const http::HttpRequest& request, const Who& who,
                                  const http::Responder& responder) {
            const auto number = JobNumber(request);
            if (!number) return responder.Answer(NoJob(request.parameters.front()));
            Later(responder, [this, action, number = *number, who, responder] {
              const auto job = FindJob(number, who);
              if (!job) return responder.Answer(ErrorAnswer(job.error(), 500));
              if (*job == nullptr) return responder.Answer(NoJob(std::to_string(number)));
              const auto may = Access::Touch(who, core::OwnerUid(**job));
              if (!may) return responder.Answer(RefusalAnswer(may.error()));
              Act(*this, action, **job, *who, responder);
            });
          });
  }
}

}  // namespace sharewell::api
