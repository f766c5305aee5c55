#include "engine/local/gpu_sharing.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/text/quoted.h"
#include "platform/process/find_program.h"

namespace sharewell::engine {
namespace {

namespace fs = std::filesystem;
using SharingClock = std::chrono::steady_clock;

// The next run mostly comes soon, and a server takes a second to be ready.
constexpr auto kLinger = std::chrono::seconds(10);
// One that did not start is not waited for again with every run.
constexpr auto kTryAgain = std::chrono::minutes(1);

}  // namespace

GpuSharing::GpuSharing(SharingOptions options) : options_(std::move(options)) {
  const char* path = std::getenv("PATH");
  if (!options_.mps) {
    why_not_ = "MPS is switched off";
  } else if (!platform::FindProgram(options_.program, path != nullptr ? path : "")) {
    why_not_ = options_.program + " is not installed";
  } else {
    FindLeft();
  }
}

GpuSharing::~GpuSharing() {
  for (auto& [uuid, daemon] : daemons_) {
    if (!daemon.runs.empty()) daemon.server->Leave();
  }
}

std::string GpuSharing::FolderOf(const std::string& uuid) const {
  // Short, as sockets lie in it; "GPU-" says nothing.
  std::string name;
  for (const char c : uuid.substr(uuid.starts_with("GPU-") ? 4 : 0)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 && name.size() < 12) name += c;
  }
  return options_.folder + "/" + name;
}

platform::MpsOptions GpuSharing::OptionsFor(const std::string& uuid) const {
  return {.folder = FolderOf(uuid), .program = options_.program, .gpus = uuid};
}

void GpuSharing::FindLeft() {
  std::error_code error;
  for (fs::directory_iterator it(options_.folder, error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream file(it->path() / "gpu");
    std::string uuid;
    if (!std::getline(file, uuid) || FolderOf(uuid) != it->path().string()) continue;
    auto found = platform::MpsServer::Find(OptionsFor(uuid));
    if (found) daemons_[uuid] = {std::move(*found), 0, {}, SharingClock::now()};
  }
}

std::string GpuSharing::Provide(const std::string& uuid, std::uint32_t uid,
                                std::vector<std::string>& notes) {
  const auto it = daemons_.find(uuid);
  if (it != daemons_.end() && it->second.server->Alive()) {
    if (it->second.runs.empty()) it->second.uid = uid;
    return it->second.uid == uid
               ? std::string()
               : "a job of another user is on it, and MPS serves one user at a time";
  }
  if (it != daemons_.end()) {
    it->second.server->Leave();
    daemons_.erase(it);
    notes.push_back("the MPS daemon of this GPU had died; a new one was started");
  }
  const auto refused = refused_.find(uuid);
  if (refused != refused_.end() && SharingClock::now() - refused->second < kTryAgain) {
    return "its MPS daemon did not start a moment ago";
  }
  const std::string folder = FolderOf(uuid);
  std::error_code error;
  fs::create_directories(folder + "/pipe", error);
  for (const std::string& part : {options_.folder, folder, folder + "/pipe"}) {
    ::chmod(part.c_str(), 0755);  // whatever our umask is: users' jobs come here
  }
  std::ofstream(folder + "/gpu") << uuid << '\n';
  auto server = platform::MpsServer::Start(OptionsFor(uuid));
  // Left by an earlier server, and come up since we looked.
  if (!server) {
    if (auto found = platform::MpsServer::Find(OptionsFor(uuid)); found) server = std::move(found);
  }
  if (!server) {
    refused_[uuid] = SharingClock::now();
    return server.error().message;
  }
  refused_.erase(uuid);
  daemons_[uuid] = {std::move(*server), uid, {}, {}};
  return {};
}

GpuSharing::Joined GpuSharing::Join(const RunRequest& request) {
  Joined joined;
  if (!request.shares || request.gpus.empty()) return joined;
  const std::string& uuid = request.gpus.front().uuid;
  if (uuid.starts_with("simulated")) return joined;
  std::string why = why_not_;
  if (why.empty() && request.gpus.size() > 1) {
    why = "an MPS daemon is for one GPU, and this job has several";
  } else if (why.empty() && uuid.starts_with("MIG-")) {
    why = "it is a MIG slice";
  }
  if (why.empty()) why = Provide(uuid, request.user.uid, joined.notes);
  if (!why.empty()) {
    joined.notes.push_back("it shares its GPU by turns, not at the same time: " + why);
    return joined;
  }
  Daemon& daemon = daemons_.at(uuid);
  daemon.runs.insert(request.id);
  joined.environment = daemon.server->ClientEnvironment(
      {.threads = request.thread_share, .memory = request.gpu_memory, .gpus = 1});
  joined.pipes = daemon.server->pipes();
  return joined;
}

void GpuSharing::Rejoin(const RunRequest& request, const std::string& pipes) {
  if (pipes.empty() || request.gpus.empty()) return;
  // What was not found when we began has died, and its runs with it.
  const auto it = daemons_.find(request.gpus.front().uuid);
  if (it == daemons_.end() || it->second.server->pipes() != pipes) return;
  it->second.uid = request.user.uid;
  it->second.runs.insert(request.id);
}

void GpuSharing::Leave(RunId id) {
  for (auto& [uuid, daemon] : daemons_) {
    if (daemon.runs.erase(id) != 0 && daemon.runs.empty()) daemon.left = SharingClock::now();
  }
}

std::vector<GpuSharing::News> GpuSharing::Look() {
  std::vector<News> news;
  for (auto it = daemons_.begin(); it != daemons_.end();) {
    Daemon& daemon = it->second;
    const bool alive = daemon.server->Alive();
    const bool idle = daemon.runs.empty() && SharingClock::now() - daemon.left > kLinger;
    if (alive && !idle) {
      ++it;
      continue;
    }
    if (!alive) {
      daemon.server->Leave();
      news.push_back(
          {it->first, fmt::format("its MPS daemon died; {} under it may fail, and the next job "
                                  "gets a new one",
                                  daemon.runs.empty() ? "jobs" : "the jobs")});
    } else if (const auto stopped = daemon.server->Stop(); !stopped) {
      news.push_back({it->first, stopped.error().message});
    }
    it = daemons_.erase(it);
  }
  return news;
}

void GpuSharing::StopIdle() {
  std::erase_if(daemons_, [](const auto& one) { return one.second.runs.empty(); });
}

}  // namespace sharewell::engine
