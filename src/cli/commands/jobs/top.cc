#include "cli/args/server_flags.h"
#include "cli/args/when.h"
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
constexpr const char* kWithAPlace = "phase=starting,running,stopping";

class TopCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_flag("-w,--watch", watch_, "watch it on a screen of its own; ? there shows the keys")
        ->disable_flag_override();
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    if (flags_.json) return PrintOut(AsJson(*client));
    if (watch_) {
      const auto watched = WatchServer(*client);
      RETURN_IF_ERROR(watched);
      if (*watched) return **watched;
    }
    return DrawScreen(watch_, [&](std::size_t width) -> core::Result<std::string> {
      const auto node = client->Node();
      RETURN_IF_ERROR(node);
      const auto gpus = client->Gpus();
      RETURN_IF_ERROR(gpus);
      const auto running = client->Jobs(kWithAPlace, kMostRunning);
      RETURN_IF_ERROR(running);
      return report::TopPage(*node, *gpus, running->jobs, running->counts, platform::UnixNow(),
                             width);
    });
  }

 private:
  static core::Result<std::string> AsJson(const ServerClient& client) {
    core::Result<std::string> body;
    std::string text = report::JsonReport([&](json::Writer& out) {
      for (const char* part : {"nodes", "gpus", "jobs"}) {
        std::string path = fmt::format("/{}", part);
        if (path == "/jobs") path += fmt::format("?{}&limit=1000", kWithAPlace);
        if (body) body = client.Get(path);
        const auto parsed = json::Document::Parse(body ? *body : "");
        out.Field(part, json::RootOf(parsed)[part]);
      }
    });
    if (!body) return body;
    return text;
  }

  bool watch_ = false;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewTopCommand() { return std::make_unique<TopCommand>(); }

}  // namespace sharewell::cli
