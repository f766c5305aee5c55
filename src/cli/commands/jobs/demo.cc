// An ordinary server on simulated GPUs in a temporary folder, and twelve ordinary jobs, whose
// commands are stand-ins. What happens is told in the terminal as the server tells it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/args/values.h"
#include "cli/client/server_client.h"
#include "cli/client/sign_in_link.h"
#include "cli/commands/commands.h"
#include "cli/commands/jobs/demo_jobs.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/words.h"
#include "http/http_server.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/short_folder.h"
#include "platform/files/write_file.h"
#include "platform/process/child.h"
#include "report/jobs/job_tables.h"
#include "report/text/table.h"
#include "server/settings/daemon.h"

namespace sharewell::cli {
namespace {

using core::Result;
using std::chrono::steady_clock;

constexpr std::uint16_t kUsualPort = 10401;  // of `serve`
constexpr std::size_t kDemoWidth = 100;
constexpr std::size_t kDemoIndent = 8;
constexpr core::Seconds kLongestStart{60};
constexpr core::Seconds kLongestEnd{20};
constexpr core::Seconds kOneYear{365.0 * 86400};
// When the story goes on, in seconds. The newcomer comes once the server has seen how fast the
// first two are alone (16 s: docs/reactive.md); the others once it was evicted, or after so long.
constexpr double kNewcomerAt = 20, kOthersAtLast = 65, kTellEvery = 18, kDoneAt = 120;

bool PortIsFree(std::uint16_t port) {
  http::Endpoint at;
  at.port = port;
  return http::HttpServer::Listen(at).has_value();
}

class DemoCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--for", for_, "end it after this time (default: when Ctrl-C is pressed)")
        ->type_name("TIME");
  }

  Result<ExitCode> Run() override {
    if (!for_.empty()) {
      const auto time = ParseTime("--for", for_, 1);
      RETURN_IF_ERROR(time);
      left_ = *time;
    }
    const HoldInterrupts held;  // Ctrl-C ends the story; what it started is ended in order
    const platform::ShortFolder folder;
    if (folder.path().empty()) {
      return core::FailedError("no temporary folder can be made in /tmp; look whether it is full");
    }
    RETURN_IF_ERROR(Begin(folder.path()));
    const auto told = Tell();
    const auto ended = End();
    server_.reset();
    RETURN_IF_ERROR(told);
    RETURN_IF_ERROR(ended);
    return kOk;
  }

 private:
  using Jobs = std::vector<core::JobRecord>;

  Result<void> Begin(const std::string& folder) {
    std::error_code failed;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", failed).string();
    if (failed) return core::FailedError("/proc/self/exe: {}", failed.message());
    places_ = {program, folder + "/s.sock", folder + "/jobs"};
    std::filesystem::create_directory(places_.folder, failed);
    const std::string settings = folder + "/sharewell.toml", log = folder + "/log";
    RETURN_IF_ERROR(platform::WriteFile(settings, ""));  // nobody's own settings count here
    platform::ChildOptions serve;
    serve.command = {
        program,    "serve",
        "--gpus",   "2xH200",
        "--store",  folder + "/demo.db",
        "--state",  folder + "/state",
        "--socket", places_.server,
        "--config", settings,
        "--grace",  "2s",
        "--listen", fmt::format("127.0.0.1:{}", PortIsFree(kUsualPort) ? kUsualPort : 0)};
    serve.out = {.to = platform::ChildOutput::To::kNull};
    serve.err = {.to = platform::ChildOutput::To::kFile, .file = log};
    auto child = platform::Child::Start(serve);
    RETURN_IF_ERROR(child);
    server_ = std::move(*child);
    auto client = ServerClient::Find(places_.server);
    RETURN_IF_ERROR(client);
    client_ = std::move(*client);
    const auto latest = steady_clock::now() + std::chrono::seconds(int(kLongestStart.value));
    while (!std::filesystem::exists(places_.server, failed) || !client_->Get("")) {
      if (server_->Ended() || steady_clock::now() > latest) {
        std::ifstream said(log);
        return core::FailedError("the demo's server did not start; it said: {}",
                                 std::string(std::istreambuf_iterator<char>(said), {}));
      }
      if (server::WaitForSignal(core::Seconds(0.05))) return core::FailedError("interrupted");
    }
    began_ = steady_clock::now();
    return Greet(folder);
  }

  Result<void> Greet(const std::string& folder) {
    const auto link = AskSignInLink(*client_);
    std::string text =
        "A server on two simulated H200 GPUs, and stand-ins for training jobs: no real GPU is "
        "used.\n";
    text += link ? fmt::format("dashboard: {}\n           ({})\n", link->link, link->Note())
                 : fmt::format("dashboard: none ({})\n", link.error().message);
    text += fmt::format(
        "In another terminal:  export SHAREWELL_SERVER={}\n"
        "Ctrl-C ends the server and its jobs, and removes {}.\n",
        places_.server, folder);
    return WriteOut(text);
  }

  double Passed() const {
    return std::chrono::duration<double>(steady_clock::now() - began_).count();
  }
  bool IsOver() const { return over_ || (left_ && Passed() > left_->value); }

  // The whole story, from the server's events and the clock. It begins once events are heard.
  Result<void> Tell() {
    Result<void> trouble;
    client_->EndWhen([this] { return IsOver(); });
    const auto again = [&] {
      over_ = over_ || server::WaitForSignal(core::Seconds(0));
      if (!over_) trouble = GoOn();
      return trouble.has_value() && !IsOver();
    };
    const auto heard = client_->Events(
        0, left_.value_or(kOneYear),
        [&](const core::Event& event) {
          constexpr std::string_view kTold[] = {"job.placed",   "job.stopping", "job.evicted",
                                                "job.finished", "job.failed",   "job.moved"};
          if (std::count(std::begin(kTold), std::end(kTold), event.kind) > 0) Say("", event.text);
          return again();
        },
        again);
    if (IsOver()) return {};  // whatever was under way was cut short
    RETURN_IF_ERROR(trouble);
    return heard;
  }

  // What is due by now.
  Result<void> GoOn() {
    const double now = Passed();
    if (part_ == 0) {
      ++part_;
      Say("Two jobs come to idle GPUs. Each gets one to itself, and the server watches how fast it "
          "is alone.");
      Show("sharewell jobs");
      return Submit(DemoPart::kFirst);
    }
    if (part_ == 1 && now >= kNewcomerAt) {
      ++part_;
      Say("A newcomer tells that it needs little, so it is put beside another job. What it tells "
          "is wrong.");
      Show("sharewell top");
      return Submit(DemoPart::kNewcomer);
    }
    if (part_ == 2) return AfterEviction(now);
    return TellMore(now);
  }

  Result<void> AfterEviction(double now) {
    const auto live = client_->Jobs("live=1", 100);
    RETURN_IF_ERROR(live);
    const auto evicted = std::find_if(live->jobs.begin(), live->jobs.end(),
                                      [](const auto& job) { return job.evicted > 0; });
    const bool was = evicted != live->jobs.end();
    if (!was && now < kOthersAtLast) return {};
    ++part_;
    if (was) {
      Say(
          fmt::format("Its neighbour was slowed beyond its bound, so job {} was evicted and goes "
                      "back into the queue.",
                      evicted->number));
      Show(fmt::format("sharewell why {}", evicted->number));
    }
    Say("Nine more jobs come: some share well, some wait, and of one nothing is known.");
    Show("sharewell top -w");
    next_ = now + kTellEvery;
    return Submit(DemoPart::kOthers);
  }

  Result<void> TellMore(double now) {
    if (now < next_ || done_) return {};
    next_ = now + kTellEvery;
    const auto live = client_->Jobs("live=1", 100);
    RETURN_IF_ERROR(live);
    if (now >= kDoneAt || live->jobs.empty()) return Close(live->jobs);
    const auto tell = [&](const char* what, const char* command, const auto& is) {
      const auto found = std::find_if(live->jobs.begin(), live->jobs.end(), [&](const auto& job) {
        return is(job) && explained_.count(job.number) == 0;
      });
      if (found == live->jobs.end()) return false;
      explained_.insert(found->number);
      Say(fmt::format("{} job {} ({}): {}", what, found->number, found->asked.name,
                      report::PlainText(found->reason)));
      Show(fmt::format("sharewell {} {}", command, found->number));
      return true;
    };
    using core::Phase;
    if (tell("Waiting:", "why", [](const auto& job) { return job.phase == Phase::kWaiting; })) {
      return {};
    }
    if (tell("Held:", "job", [](const auto& job) { return job.phase == Phase::kHeld; })) return {};
    tell("Shares:", "why",
         [](const auto& job) { return job.phase == Phase::kRunning && !job.beside.empty(); });
    return {};
  }

  Result<void> Close(const Jobs& live) {
    done_ = true;
    const auto all = client_->Jobs("", 100);
    RETURN_IF_ERROR(all);
    const auto finished = std::count_if(all->jobs.begin(), all->jobs.end(), [](const auto& job) {
      return job.phase == core::Phase::kFinished;
    });
    Say(
        fmt::format("{} of {} jobs have finished, {} run or wait. The server goes on: look round "
                    "in the dashboard, submit jobs of your own, and press Ctrl-C to end all.",
                    finished, all->jobs.size(), live.size()));
    Show("sharewell report week");
    return {};
  }

  Result<void> Submit(DemoPart part) {
    const auto jobs = DemoJobs(part, places_);
    const auto answer = client_->Submit(jobs);
    RETURN_IF_ERROR(answer);
    if (part != DemoPart::kFirst) return {};
    for (const core::JobRecord& job : *answer) {  // events may not be heard yet
      Say("", fmt::format("job {} ({}): {}", job.number, job.asked.name,
                          report::StateInWords(job, platform::UnixNow())));
    }
    return {};
  }

  // Every job is ended before the server, which would let them run on.
  Result<void> End() {
    auto client = ServerClient::Find(places_.server);
    RETURN_IF_ERROR(client);
    const auto latest = steady_clock::now() + std::chrono::seconds(int(kLongestEnd.value));
    std::size_t ended = 0;
    for (;;) {
      const auto live = client->Jobs("live=1", 1000);
      if (!live || live->jobs.empty() || steady_clock::now() > latest) break;
      for (const core::JobRecord& job : live->jobs) {  // the newest first: none takes a place
        if (job.cancelled) continue;
        if (client->Post(fmt::format("/jobs/{}/cancel", job.number), "")) ++ended;
      }
      server::WaitForSignal(core::Seconds(0.1));
    }
    server_->Stop(core::Seconds(10));
    return WriteOut(
        fmt::format("The demo is over: {} cancelled, the server is stopped, "
                    "and its folder is removed.\n",
                    core::Count(ended, "job was", "jobs were")));
  }

  // With the time in front; words of the server's own are marked as such.
  void Say(const std::string& words, const std::string& by_server = {}) {
    const int seconds = static_cast<int>(Passed());
    const std::string text = by_server.empty() ? words : "server: " + report::PlainText(by_server);
    Out(fmt::format("{}{:2}:{:02}   {}\n", by_server.empty() ? "\n" : "", seconds / 60,
                    seconds % 60, report::Wrapped(text, kDemoWidth, kDemoIndent, kDemoIndent)));
  }
  void Show(const std::string& command) {
    Out(fmt::format("{:{}}$ {}\n", "", kDemoIndent, command));
  }
  // Nobody reads any more: it is over.
  void Out(const std::string& text) { over_ = over_ || !WriteOut(text); }

  std::string for_;
  std::optional<core::Seconds> left_;  // absent: until Ctrl-C
  DemoPlaces places_;
  std::unique_ptr<platform::Child> server_;
  std::optional<ServerClient> client_;
  steady_clock::time_point began_;
  int part_ = 0;     // of the story
  double next_ = 0;  // when something is told again
  bool over_ = false, done_ = false;
  std::set<std::int64_t> explained_;
};

}  // namespace

std::unique_ptr<Command> NewDemoCommand() { return std::make_unique<DemoCommand>(); }

}  // namespace sharewell::cli
