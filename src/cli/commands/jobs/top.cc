#include <algorithm>
#include <array>

#include "cli/args/when.h"
#include "cli/client/job_filter.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/watch/watch_screen.h"
#include "core/result.h"
#include "json/value.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/job_tables.h"
#include "report/text/json.h"

namespace sharewell::cli {
namespace {

constexpr std::size_t kMostRunning = 10'000;
constexpr std::array kWithAPlace = {core::Phase::kStarting, core::Phase::kRunning,
                                    core::Phase::kStopping};

class TopCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_flag("-w,--watch", watch_, "watch it on a screen of its own; ? there shows the keys")
        ->disable_flag_override();
    filter_.Add(app);
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    const auto shown = filter_.Find(*client);
    RETURN_IF_ERROR(shown);
    RETURN_IF_ERROR(CheckStates(*shown));
    if (flags_.json) return PrintOut(AsJson(*client, *shown));
    if (watch_) {
      const auto watched = WatchServer(*client, *shown);
      RETURN_IF_ERROR(watched);
      if (*watched) return **watched;
    }
    return DrawScreen(watch_, [&](std::size_t width) -> core::Result<std::string> {
      const auto node = client->Node();
      RETURN_IF_ERROR(node);
      const auto gpus = client->Gpus();
      RETURN_IF_ERROR(gpus);
      const auto running = client->Jobs(JobsQuery(WithAPlace(report::JobsShown())), kMostRunning);
      RETURN_IF_ERROR(running);
      return report::TopPage(*node, *gpus, running->jobs, running->counts, platform::UnixNow(),
                             width, *shown);
    });
  }

 private:
  // Who shares with whom shows only where all that have a place are known.
  static report::JobsShown WithAPlace(report::JobsShown shown) {
    if (shown.phases.empty()) shown.phases.assign(kWithAPlace.begin(), kWithAPlace.end());
    return shown;
  }

  core::Result<void> CheckStates(const report::JobsShown& shown) const {
    for (const core::Phase phase : shown.phases) {
      if (std::find(kWithAPlace.begin(), kWithAPlace.end(), phase) != kWithAPlace.end()) continue;
      return core::UsageError(
          "top shows jobs that are on GPUs; `sharewell jobs --state {}` shows those that are {}",
          core::NameOf(phase), core::NameOf(phase));
    }
    if (watch_ && !shown.phases.empty()) {
      return core::UsageError(
          "top: --state does not go with -w; `sharewell jobs -w --state {}` does",
          core::NameOf(shown.phases[0]));
    }
    return {};
  }

  static core::Result<std::string> AsJson(const ServerClient& client,
                                          const report::JobsShown& shown) {
    core::Result<std::string> body;
    std::string text = report::JsonReport([&](json::Writer& out) {
      for (const char* part : {"nodes", "gpus", "jobs"}) {
        std::string path = fmt::format("/{}", part);
        if (path == "/jobs") path += "?limit=1000&" + JobsQuery(WithAPlace(shown));
        if (body) body = client.Get(path);
        const auto parsed = json::Document::Parse(body ? *body : "");
        out.Field(part, json::RootOf(parsed)[part]);
      }
    });
    if (!body) return body;
    return text;
  }

  bool watch_ = false;
  JobFilterFlags filter_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewTopCommand() { return std::make_unique<TopCommand>(); }

}  // namespace sharewell::cli
