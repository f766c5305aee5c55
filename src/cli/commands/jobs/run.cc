// `sharewell run`: an interactive job, which has this terminal and ends with it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "cli/client/job_terminal.h"
#include "cli/client/job_wait.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/commands/jobs/submit_request.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "json/value.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/job_tables.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using core::JobRecord;
using core::Phase;
using core::Result;
using std::chrono::steady_clock;

constexpr auto kLookAgain = std::chrono::seconds(5);  // whether an event was missed
constexpr core::Seconds kOneWait{60};
constexpr auto kFirstTry = std::chrono::milliseconds(5);
constexpr auto kLongestTry = std::chrono::milliseconds(200);
constexpr auto kServerPatience = std::chrono::minutes(5);  // while the job waits
constexpr auto kEndPatience = std::chrono::seconds(10);    // with what is known of its end

bool HasPlace(Phase phase) {
  return phase == Phase::kStarting || phase == Phase::kRunning || phase == Phase::kStopping;
}

std::string JobLine(const JobRecord& job) {
  std::string text =
      fmt::format("job {} {}: {}", job.number, report::PlainText(core::DisplayName(job.asked)),
                  report::StateInWords(job, platform::UnixNow()));
  if (core::IsOver(job.phase) && !job.note.empty()) text += "; " + report::PlainText(job.note);
  return report::Wrapped(text, kTextWidth, 2) + "\n";
}

class RunJobCommand : public Command {
 public:
  RunJobCommand() { request_.verb = "run"; }

  void AddFlags(CLI::App& app) override {
    request_.AddNeeds(app);
    flags_.AddServer(app);
  }
  std::vector<std::string>* CommandLine() override { return &request_.command; }

  Result<ExitCode> Run() override {
    auto one = request_.One();
    RETURN_IF_ERROR(one);
    one->terminal = true;
    one->requeue = false;
    PutTerminalType(*one);
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    if (!client->IsHere()) {
      return core::UsageError(
          "run: the server is on another machine, and a job's terminal cannot be reached from "
          "here; use `sharewell submit -- COMMAND` and `sharewell logs -f JOB`, or log in there");
    }
    if (!request_.model.empty()) {
      const auto gpus = client->Gpus();
      RETURN_IF_ERROR(gpus);
      RETURN_IF_ERROR(request_.PutPrediction(*client, *gpus, *one));
    }
    if (one->image.empty()) {
      RETURN_IF_ERROR(CheckCommand(*one));
    }
    return SubmitAndSit(*client, *one);
  }

 private:
  // What programs draw with.
  static void PutTerminalType(core::Submission& one) {
    for (const char* name : {"TERM", "COLORTERM"}) {
      const auto has = [&](const auto& variable) { return variable.first == name; };
      const bool given = std::any_of(one.environment.begin(), one.environment.end(), has);
      const char* value = std::getenv(name);
      if (!given && value != nullptr) one.environment.emplace_back(name, value);
    }
  }

  static Result<ExitCode> SubmitAndSit(const ServerClient& client, const core::Submission& one) {
    std::optional<NotedSignals> signals(std::in_place);  // until it is at its terminal
    const auto submitted = client.Submit({&one, 1});
    RETURN_IF_ERROR(submitted);
    JobRecord job = submitted->front();
    // With its expected start, where it waits.
    if (job.phase == Phase::kWaiting) job = client.Job(job.number).value_or(job);
    WriteErr(JobLine(job));
    const auto socket = AwaitTerminal(client, *signals, job);
    if (const int signal = signals->came(); signal != 0) {
      return TakeBack(client, job.number, signal);
    }
    if (!socket && core::IsOver(job.phase)) return Ended(job);
    if (!socket) {
      TakeBack(client, job.number, 0);
      return tl::unexpected(socket.error());
    }
    const TerminalEnd end = SitAtTerminal(*socket);
    signals.reset();
    if (end.signal != 0) {
      WriteErr(fmt::format("job {} ends, as its terminal was closed\n", job.number));
      return static_cast<ExitCode>(128 + end.signal);
    }
    if (end.code && !end.more) return static_cast<ExitCode>(*end.code);
    return AwaitEnd(client, job.number, end.code);
  }

  // The terminal is closed before the server has heard of it.
  static ExitCode AwaitEnd(const ServerClient& client, std::int64_t number,
                           std::optional<int> code) {
    const auto until = steady_clock::now() + kEndPatience;
    for (auto pause = kFirstTry; steady_clock::now() < until;
         pause = std::min(2 * pause, kLongestTry)) {
      const auto job = client.Job(number);
      if (job && core::IsOver(job->phase)) return Ended(*job);
      std::this_thread::sleep_for(pause);
    }
    WriteErr(
        fmt::format("the terminal of job {0} is closed, and the server does not say why; "
                    "`sharewell job {0}` may tell more later\n",
                    number));
    return static_cast<ExitCode>(code.value_or(kFailed));
  }

  static ExitCode Ended(const JobRecord& job) {
    WriteErr(JobLine(job));
    return static_cast<ExitCode>(ExitCodeOf({job}));
  }

  static ExitCode TakeBack(const ServerClient& client, std::int64_t number, int signal) {
    const auto done = client.Post(fmt::format("/jobs/{}/cancel", number), "");
    WriteErr(
        done ? fmt::format("job {} is cancelled\n", number)
             : fmt::format("job {} could not be cancelled: {}\n", number, done.error().message));
    return static_cast<ExitCode>(128 + signal);
  }

  // A connected socket once the job has its place. An error: `job` is over, a signal came, or the
  // message says why.
  static Result<int> AwaitTerminal(const ServerClient& client, const NotedSignals& signals,
                                   JobRecord& job) {
    auto pause = kFirstTry;
    auto heard = steady_clock::now();
    bool complained = false;
    while (signals.came() == 0 && !core::IsOver(job.phase)) {
      if (HasPlace(job.phase)) {
        auto socket = Connect(client, job.number);
        if (socket || socket.error().kind != core::ErrorKind::kAbsent) return socket;
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestTry);
      } else {
        AwaitChange(client, signals, job.number);
      }
      auto now = client.Job(job.number);
      if (signals.came() != 0) break;
      if (!now) {
        if (now.error().kind == core::ErrorKind::kUsage ||
            steady_clock::now() - heard > kServerPatience) {
          return tl::unexpected(now.error());
        }
        if (!complained) WriteErr("the server does not answer; waiting for it\n");
        complained = true;
        std::this_thread::sleep_for(kLongestTry);
        continue;
      }
      heard = steady_clock::now();
      complained = false;
      const bool told = now->phase == job.phase && now->reason == job.reason;
      job = std::move(*now);
      if (!told && !core::IsOver(job.phase) && job.phase != Phase::kRunning) WriteErr(JobLine(job));
    }
    return core::FailedError("");
  }

  static Result<int> Connect(const ServerClient& client, std::int64_t number) {
    const auto body = client.Get(fmt::format("/jobs/{}/terminal", number));
    if (!body) return tl::unexpected(core::Error{core::ErrorKind::kAbsent, body.error().message});
    const auto parsed = json::Document::Parse(*body);
    const auto path = json::RootOf(parsed)["path"].Text();
    if (!path) return core::FailedError("the server does not say where the job's terminal is");
    return ConnectTerminal(std::string(*path));
  }

  // Until something is heard of the job, or it is time to look.
  static void AwaitChange(const ServerClient& client, const NotedSignals& signals,
                          std::int64_t number) {
    const auto begun = steady_clock::now();
    const auto heard = client.Events(
        number, kOneWait, [](const core::Event&) { return false; },
        [&] { return signals.came() == 0 && steady_clock::now() - begun < kLookAgain; });
    // A server that is being started again is waited for.
    if (!heard && steady_clock::now() - begun < kLongestTry) {
      std::this_thread::sleep_for(kLongestTry);
    }
  }

  SubmitRequest request_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewRunCommand() { return std::make_unique<RunJobCommand>(); }

}  // namespace sharewell::cli
