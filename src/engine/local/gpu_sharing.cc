#include "engine/local/gpu_sharing.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/result.h"
#include "platform/process/find_program.h"

namespace sharewell::engine {
namespace {

namespace fs = std::filesystem;
using SharingClock = std::chrono::steady_clock;

// The next run mostly comes soon, and a server takes a second to be ready.
constexpr auto kLinger = std::chrono::seconds(10);
// One that did not start is not waited for again with every run.
constexpr auto kTryMpsAgain = std::chrono::minutes(1);
// Of clients, as the driver has it: there are just these two, and a client keeps the one it began
// with.
constexpr int kFirst = 0, kAfterwards = 1;

std::string ByTurns(const std::string& why) {
  return "it shares its GPU by turns, not at the same time: " + why;
}

// Takes up to half a minute where the daemon does not do as it should.
core::Result<std::shared_ptr<platform::MpsServer>> StartDaemon(
    const platform::MpsOptions& options) {
  const std::string pipes = options.folder + "/pipe";
  std::error_code error;
  fs::create_directories(pipes, error);
  for (const std::string& part :
       {fs::path(options.folder).parent_path().string(), options.folder, pipes}) {
    ::chmod(part.c_str(), 0755);  // whatever our umask is: users' jobs come here
  }
  std::ofstream(options.folder + "/gpu") << options.gpus << '\n';
  auto server = platform::MpsServer::Start(options);
  // Left by an earlier server, and come up since we looked.
  if (!server) {
    if (auto found = platform::MpsServer::Find(options); found) server = std::move(found);
  }
  if (!server) return tl::unexpected(server.error());
  return std::shared_ptr<platform::MpsServer>(std::move(*server));
}

}  // namespace

GpuSharing::GpuSharing(SharingOptions options, std::function<void()> answered)
    : options_(std::move(options)), errands_(std::move(answered)) {
  const char* path = std::getenv("PATH");
  if (!options_.mps) {
    why_not_ = "MPS is switched off";
  } else if (!platform::FindProgram(options_.program, path != nullptr ? path : "")) {
    why_not_ = options_.program + " is not installed";
  } else {
    // Who is not root runs everything as one user.
    everybody_ = ::geteuid() == 0 && platform::MpsServesEverybody(options_.program).value_or(false);
    FindLeft();
  }
}

GpuSharing::~GpuSharing() {
  for (auto& [folder, daemon] : daemons_) {
    if (!daemon.runs.empty() && daemon.server) daemon.server->Leave();
  }
}

std::string GpuSharing::FolderOf(const std::string& uuid, std::uint32_t uid) const {
  // Short, as sockets lie in it; "GPU-" says nothing.
  std::string name;
  for (const char c : uuid.substr(uuid.starts_with("GPU-") ? 4 : 0)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 && name.size() < 12) name += c;
  }
  return fmt::format("{}/{}-{}", options_.folder, name,
                     everybody_ ? std::string("all") : std::to_string(uid));
}

platform::MpsOptions GpuSharing::OptionsFor(const std::string& folder,
                                            const std::string& uuid) const {
  return {.folder = folder, .program = options_.program, .gpus = uuid, .everybody = everybody_};
}

// Whatever way they were started: with another driver, or by an earlier version. Those with runs
// stay for them, and go when these have ended.
void GpuSharing::FindLeft() {
  std::error_code error;
  for (fs::directory_iterator it(options_.folder, error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream file(it->path() / "gpu");
    std::string uuid;
    if (!std::getline(file, uuid)) continue;
    const std::string folder = it->path().string();
    auto found = platform::MpsServer::Find(OptionsFor(folder, uuid));
    if (!found) continue;
    Daemon& daemon = daemons_[folder];
    daemon.gpu = uuid;
    daemon.server = std::move(*found);
    daemon.left = SharingClock::now();
  }
}

std::optional<GpuSharing::Joined> GpuSharing::Join(const RunRequest& request) {
  if (!request.shares || request.gpus.empty()) return Joined{};
  const std::string& uuid = request.gpus.front().uuid;
  if (uuid.starts_with("simulated")) return Joined{};
  std::string why = why_not_;
  if (why.empty() && request.gpus.size() > 1) {
    why = "an MPS daemon is for one GPU, and this job has several";
  } else if (why.empty() && uuid.starts_with("MIG-")) {
    why = "it is a MIG slice";
  }
  const std::string folder = FolderOf(uuid, request.user.uid);
  const auto refused = refused_.find(folder);
  if (why.empty() && refused != refused_.end() &&
      SharingClock::now() - refused->second < kTryMpsAgain) {
    why = "its MPS daemon did not start a moment ago";
  }
  if (!why.empty()) return Joined{.environment = {}, .pipes = {}, .notes = {ByTurns(why)}};

  auto [it, begins] = daemons_.try_emplace(folder);
  Daemon& daemon = it->second;
  if (daemon.server && daemon.server->Alive()) return JoinTo(daemon, request);
  if (daemon.server) {  // it has died, and Look has not seen it yet
    daemon.server->Leave();
    daemon = {};
    begins = died_.insert(folder).second;
  }
  daemon.gpu = uuid;
  if (begins) BeginStart(folder);
  daemon.waiting.push_back(request);
  return std::nullopt;
}

GpuSharing::Joined GpuSharing::JoinTo(Daemon& daemon, const RunRequest& request) const {
  Joined joined;
  // Others go after one that is latency-sensitive only where there is one: with the lower level for
  // all of them, a guest could not go after its neighbours.
  const bool quick = request.asked.latency_sensitive;
  const bool beside_quick = std::any_of(daemon.runs.begin(), daemon.runs.end(),
                                        [](const auto& run) { return run.second; });
  const bool afterwards = !quick && (request.guest_memory || beside_quick);
  daemon.runs[request.id] = quick;
  joined.environment =
      daemon.server->ClientEnvironment({.threads = request.thread_share,
                                        .memory = request.gpu_memory,
                                        .priority = afterwards ? kAfterwards : kFirst,
                                        .gpus = 1});
  joined.pipes = daemon.server->pipes();
  const bool others = std::any_of(daemons_.begin(), daemons_.end(), [&](const auto& one) {
    return &one.second != &daemon && one.second.gpu == daemon.gpu && !one.second.runs.empty();
  });
  if (others) {
    joined.notes.push_back(
        ByTurns("a job of another user is on it, and this driver's MPS serves one user at a time"));
  }
  return joined;
}

void GpuSharing::BeginStart(const std::string& folder) {
  errands_.Run([this, folder,
                options = OptionsFor(folder, daemons_.at(folder).gpu)]() -> Errands::Then {
    auto server = StartDaemon(options);
    return
        [this, folder, server = server ? std::move(*server) : nullptr,
         why = server ? std::string() : server.error().message] { Started(folder, server, why); };
  });
}

void GpuSharing::Started(const std::string& folder, std::shared_ptr<platform::MpsServer> server,
                         const std::string& why_not) {
  Daemon& daemon = daemons_.at(folder);
  const auto waiting = std::exchange(daemon.waiting, {});
  daemon.server = std::move(server);
  daemon.left = SharingClock::now();
  const bool died = died_.erase(folder) > 0;
  for (const RunRequest& request : waiting) {
    Joined joined;
    if (!daemon.server) {
      joined.notes.push_back(ByTurns(why_not));
    } else {
      joined = JoinTo(daemon, request);
      if (died) {
        joined.notes.push_back("the MPS daemon of this GPU had died; a new one was started");
      }
    }
    answers_.emplace_back(request.id, std::move(joined));
  }
  if (daemon.server) {
    refused_.erase(folder);
  } else {
    refused_[folder] = SharingClock::now();
    daemons_.erase(folder);
  }
}

void GpuSharing::BeginStop(const std::string& folder) {
  errands_.Run([this, folder, server = std::exchange(daemons_.at(folder).server, nullptr)] {
    const auto stopped = server->Stop();
    return [this, folder, why = stopped ? std::string() : stopped.error().message] {
      const Daemon& daemon = daemons_.at(folder);
      if (!why.empty()) news_.push_back({daemon.gpu, why});
      // Somebody came meanwhile.
      if (!daemon.waiting.empty()) return BeginStart(folder);
      daemons_.erase(folder);
    };
  });
}

std::vector<std::pair<RunId, GpuSharing::Joined>> GpuSharing::Answers() {
  errands_.Finish();
  return std::exchange(answers_, {});
}

void GpuSharing::Rejoin(const RunRequest& request, const std::string& pipes) {
  if (pipes.empty() || request.gpus.empty()) return;
  // What was not found when we began has died, and its runs with it.
  for (auto& [folder, daemon] : daemons_) {
    if (daemon.server && daemon.server->pipes() == pipes) {
      daemon.runs[request.id] = request.asked.latency_sensitive;
    }
  }
}

void GpuSharing::Leave(RunId id) {
  std::erase_if(answers_, [&](const auto& answer) { return answer.first == id; });
  for (auto& [folder, daemon] : daemons_) {
    std::erase_if(daemon.waiting, [&](const RunRequest& request) { return request.id == id; });
    if (daemon.runs.erase(id) != 0 && daemon.runs.empty()) daemon.left = SharingClock::now();
  }
}

std::vector<GpuSharing::News> GpuSharing::Look() {
  errands_.Finish();
  std::vector<std::string> died;
  for (auto& [folder, daemon] : daemons_) {
    if (!daemon.server) continue;
    if (!daemon.server->Alive()) {
      daemon.server->Leave();
      news_.push_back(
          {daemon.gpu, fmt::format("its MPS daemon died; {} under it may fail, and the next "
                                   "job gets a new one",
                                   daemon.runs.empty() ? "jobs" : "the jobs")});
      died.push_back(folder);
    } else if (daemon.runs.empty() && SharingClock::now() - daemon.left > kLinger) {
      BeginStop(folder);
    }
  }
  for (const std::string& folder : died) daemons_.erase(folder);
  return std::exchange(news_, {});
}

void GpuSharing::StopIdle() {
  for (auto& [folder, daemon] : daemons_) {
    if (daemon.server && daemon.runs.empty()) BeginStop(folder);
  }
}

}  // namespace sharewell::engine
