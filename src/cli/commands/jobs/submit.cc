#include <unistd.h>

#include <algorithm>
#include <span>

#include "cli/args/when.h"
#include "cli/client/job_wait.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/commands/jobs/job_array.h"
#include "cli/commands/jobs/submit_request.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "json/value.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/job_tables.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"
#include "store/job_store.h"

namespace sharewell::cli {
namespace {

using core::JobRecord;
using core::Result;
using core::UsageError;
using Submissions = std::vector<core::Submission>;

constexpr std::size_t kMostConsidered = 1000;  // that a server looks at together
constexpr core::Seconds kPatience{1};          // with when it should start

// Sweeps of one server need names that differ, not secrets.
std::string ArrayId() {
  return fmt::format("{:x}-{:x}", platform::UnixNow() & 0xffffffffff, ::getpid());
}

// "  needs 18.2 GB ..."; of one that nothing is known of, only that.
std::string NeedsLine(const core::Needs& needs) {
  const bool known = needs.profile != core::Profile{} || needs.gpu_memory_upper || needs.duration;
  const std::string text = known || needs.from.empty() ? "needs " + report::NeedsInWords(needs)
                                                       : report::PlainText(needs.from);
  return "  " + report::Wrapped(text, TextWidth(), 4, 2) + "\n";
}

std::string NoteLine(const std::string& note) {
  return "  " + report::Wrapped("note: " + report::PlainText(note), TextWidth(), 4, 2) + "\n";
}

std::string Head(const JobRecord& job) {
  return fmt::format("job {} {}", job.number, report::PlainText(core::DisplayName(job.asked)));
}

std::string Submitted(const std::vector<JobRecord>& jobs) {
  const core::UnixMillis now = platform::UnixNow();
  const JobRecord& first = jobs.front();
  if (jobs.size() == 1) {
    std::string text =
        report::Wrapped(Head(first) + ": " + report::StateInWords(first, now), TextWidth(), 2) +
        "\n" + NeedsLine(first.believed);
    if (!first.note.empty()) text += NoteLine(first.note);
    return text;
  }
  const auto on =
      static_cast<std::size_t>(std::count_if(jobs.begin(), jobs.end(), report::HasItsPlace));
  const std::size_t wait = jobs.size() - on;
  std::string text =
      fmt::format("jobs {} to {}: {}\n", first.number, jobs.back().number,
                  wait == 0 ? fmt::format("all {} start", on)
                  : on == 0 ? fmt::format("all {} wait", wait)
                            : fmt::format("{} start{}, {} wait{}", on, on == 1 ? "s" : "", wait,
                                          wait == 1 ? "s" : ""));
  const auto waits = std::find_if(jobs.begin(), jobs.end(),
                                  [](const JobRecord& job) { return !report::HasItsPlace(job); });
  if (waits != jobs.end()) {
    text +=
        "  " +
        report::Wrapped(Head(*waits) + " " + report::StateInWords(*waits, now), TextWidth(), 4, 2) +
        "\n";
  }
  return text + NeedsLine(first.believed);
}

std::string WouldBe(const Considered& considered, std::size_t jobs) {
  const core::UnixMillis now = platform::UnixNow();
  std::string text = jobs == 1 ? "would " : fmt::format("the first of {} would ", jobs);
  if (considered.start) {
    const double seconds = static_cast<double>(*considered.start - now) / 1e3;
    text += seconds < 1 ? "start now" : "start in " + report::Duration(core::Seconds(seconds));
    if (!considered.where.empty()) text += " on " + considered.where;
  } else {
    text += "wait, nobody can tell how long";
  }
  if (!considered.why.empty()) text += ": " + report::PlainText(considered.why);
  text = report::Wrapped(text, TextWidth(), 2) + "\n" + NeedsLine(considered.job.believed);
  if (!considered.job.note.empty()) {
    text += NoteLine(considered.job.note);
  }
  return text;
}

class SubmitCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    request_.Add(app);
    app.add_flag("--dry-run", dry_run_, "show where and when it would start, without submitting it")
        ->disable_flag_override();
    app.add_flag("--wait", wait_, "wait until it ends, and exit with its exit code")
        ->disable_flag_override();
    flags_.Add(app);
  }
  std::vector<std::string>* CommandLine() override { return &request_.command; }

  Result<ExitCode> Run() override {
    if (dry_run_ && wait_)
      return UsageError(
          "submit: --dry-run submits no job that --wait could wait for; give one of them");
    auto one = request_.One();
    RETURN_IF_ERROR(one);
    const auto axes = ParseAxes(request_.array);
    RETURN_IF_ERROR(axes);
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    if (!request_.model.empty()) {
      const auto gpus = client->Gpus();
      RETURN_IF_ERROR(gpus);
      RETURN_IF_ERROR(request_.PutPrediction(*client, *gpus, *one));
    }
    Submissions jobs = {*one};
    if (!axes->empty()) {
      auto all = Expand(*one, *axes, request_.GivenNames(), ArrayId());
      RETURN_IF_ERROR(all);
      jobs = std::move(*all);
    }
    if (one->image.empty() && client->IsHere()) {
      RETURN_IF_ERROR(CheckCommand(jobs.front()));
    }
    if (dry_run_)
      return flags_.json ? PrintOut(DryRun(*client, jobs)) : PrintText(DryRun(*client, jobs));
    return Submit(*client, jobs);
  }

 private:
  Result<std::string> DryRun(const ServerClient& client, const Submissions& jobs) const {
    const std::span<const core::Submission> all = jobs;
    const auto body = client.Post(
        "/jobs?dry_run=1", SubmissionsJson(all.first(std::min(all.size(), kMostConsidered))));
    if (!body) return body;
    if (flags_.json) return JsonText(*body);
    const auto considered = ConsideredFromAnswer(*body);
    RETURN_IF_ERROR(considered);
    return WouldBe(*considered, jobs.size());
  }

  Result<ExitCode> Submit(const ServerClient& client, const Submissions& jobs) const {
    auto answer = client.Submit(jobs);
    RETURN_IF_ERROR(answer);
    PutExpectedStart(client, *answer);
    if (!wait_) {
      return flags_.json ? PrintOut(AsJson(*answer)) : PrintText(Submitted(*answer));
    }
    // The answer goes to stderr: with --wait stdout is for what comes of it.
    if (!flags_.json) WriteErr(Submitted(*answer));
    std::vector<std::int64_t> numbers;
    for (const JobRecord& job : *answer) numbers.push_back(job.number);
    const auto over = WaitForJobs(client, numbers);
    RETURN_IF_ERROR(over);
    std::string text;
    for (const JobRecord& job : *over) {
      text += Head(job) + " " + report::StateInWords(job, platform::UnixNow());
      if (!job.note.empty()) text += "; " + report::PlainText(job.note);
      text += '\n';
    }
    auto told = flags_.json ? PrintOut(AsJson(*over)) : PrintText(text);
    if (!told) return told;
    return static_cast<ExitCode>(ExitCodeOf(*over));
  }

  // Of the first that waits. It is submitted whatever comes of this.
  static void PutExpectedStart(const ServerClient& client, std::vector<JobRecord>& jobs) {
    const auto waits = std::find_if(jobs.begin(), jobs.end(), [](const JobRecord& job) {
      return job.phase == core::Phase::kWaiting;
    });
    if (waits == jobs.end()) return;
    const auto now = client.Job(waits->number, kPatience);
    if (now && now->phase == core::Phase::kWaiting) waits->expected_start = now->expected_start;
  }

  static Result<std::string> AsJson(const std::vector<JobRecord>& jobs) {
    return report::JsonReport([&](json::Writer& out) {
      out.List("jobs", jobs, [&](const JobRecord& job) {
        const auto parsed = json::Document::Parse(store::JobToJson(job));
        out.Value(json::RootOf(parsed));
      });
    });
  }

  SubmitRequest request_;
  bool dry_run_ = false;
  bool wait_ = false;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewSubmitCommand() { return std::make_unique<SubmitCommand>(); }

}  // namespace sharewell::cli
