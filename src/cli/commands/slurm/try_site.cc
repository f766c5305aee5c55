#include "cli/commands/slurm/try_site.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/site/trial_conf.h"
#include "platform/process/child.h"
#include "platform/process/find_program.h"
#include "platform/process/user_account.h"

namespace sharewell::cli {
namespace {

using core::FailedError;
using core::Result;

constexpr core::Seconds kTryPatience{30};
constexpr core::Seconds kTryStep{0.2};
constexpr core::Seconds kTryGrace{5};
constexpr std::size_t kMostTryLines = 20;

class TryFolder {
 public:
  TryFolder() {
    const char* base = std::getenv("TMPDIR");
    path_ = fmt::format("{}/sharewell-try-XXXXXX", base != nullptr && *base == '/' ? base : "/tmp");
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  TryFolder(const TryFolder&) = delete;
  TryFolder& operator=(const TryFolder&) = delete;
  ~TryFolder() {
    std::error_code error;
    if (made_) std::filesystem::remove_all(path_, error);
  }
  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

// Ports of loopback that nobody has now.
Result<std::array<int, 2>> TwoFreePorts() {
  std::array<int, 2> ports{}, sockets{-1, -1};
  for (std::size_t i = 0; i < 2; ++i) {
    sockets[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (sockets[i] >= 0 && ::bind(sockets[i], reinterpret_cast<sockaddr*>(&at), size) == 0 &&
        ::getsockname(sockets[i], reinterpret_cast<sockaddr*>(&at), &size) == 0) {
      ports[i] = ntohs(at.sin_port);
    }
  }
  for (const int one : sockets) {
    if (one >= 0) ::close(one);
  }
  if (ports[0] == 0 || ports[1] == 0) return FailedError("--try: no port of 127.0.0.1 is free");
  return ports;
}

std::string ShortHostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

// Its errors, without those of nodes that are not there.
std::vector<std::string> TroublesIn(const std::string& log) {
  std::ifstream in(log);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line) && out.size() < kMostTryLines;) {
    const auto at = std::min(line.find("error: "), line.find("fatal: "));
    if (at == std::string::npos) continue;
    const std::string said = line.substr(at);
    bool of_trial = false;
    for (const char* word : {"not responding", "onnect", "slurm_send_node_msg", "agent",
                             "tate save file", "tate file", "mpi/", "MPI"}) {
      of_trial = of_trial || said.find(word) != std::string::npos;
    }
    of_trial = of_trial && !said.starts_with("fatal");
    if (!of_trial && std::find(out.begin(), out.end(), said) == out.end()) out.push_back(said);
  }
  return out;
}

TryReport JudgeTrial(const std::vector<engine::SlurmNode>& nodes, const engine::SiteChange& change,
                     const std::vector<std::string>& troubles) {
  std::vector<std::string> without;
  for (const std::string& name : change.nodes) {
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const engine::SlurmNode& one) { return one.name == name; });
    if (node == nodes.end() || node->slots.empty() || node->other_gpus > 0) {
      without.push_back(name);
    }
  }
  TryReport out;
  out.accepted = without.empty();
  out.text = fmt::format(
      "A slurmctld of its own read the changed configuration: {} nodes, {}.\n", nodes.size(),
      change.nodes.empty() ? "none with slots"
                           : fmt::format("slots on {}", engine::HostList(change.nodes)));
  if (!without.empty()) out.text += fmt::format("No slots on {}.\n", engine::HostList(without));
  for (const std::string& line : troubles) out.text += fmt::format("It said: {}\n", line);
  return out;
}

}  // namespace

Result<TryReport> TrySite(engine::SlurmDriver& driver, const engine::ConfText& changed,
                          const engine::SiteChange& change, const std::string& lua) {
  const char* path = std::getenv("PATH");
  const auto program = platform::FindProgram(
      "slurmctld", std::string(path == nullptr ? "" : path) + ":/usr/sbin:/sbin");
  if (!program) {
    return FailedError("--try: there is no slurmctld here; run this on the machine that has it");
  }
  const auto nodes = engine::NodesOfConf(changed);
  RETURN_IF_ERROR(nodes);
  const auto ports = TwoFreePorts();
  RETURN_IF_ERROR(ports);
  const auto account = platform::UserWithUid(::geteuid());
  const TryFolder folder;
  if (!folder.made()) return FailedError("--try: no folder could be made in {}", folder.path());
  const std::string conf = folder.path() + "/slurm.conf", log = folder.path() + "/log";
  std::filesystem::create_directory(folder.path() + "/state");
  std::ofstream(folder.path() + "/job_submit.lua") << lua;
  std::ofstream(conf) << engine::TrialConf(changed, *nodes,
                                           {.folder = folder.path(),
                                            .host = ShortHostName(),
                                            .user = account ? account->name : "root",
                                            .port = (*ports)[0],
                                            .dead_port = (*ports)[1]});
  platform::ChildOptions options;
  options.command = {*program, "-D", "-f", conf};
  options.environment = {{"SLURM_CONF", conf}};
  options.folder = folder.path();
  options.out = options.err = {.to = platform::ChildOutput::To::kFile, .file = log, .seen = {}};
  auto child = platform::Child::Start(options);
  RETURN_IF_ERROR(child);
  const std::vector<std::string> show = [&] {
    std::vector<std::string> words = {"env", "SLURM_CONF=" + conf};
    const auto command = engine::NodesCommand();
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }();
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(kTryPatience.value);
  while (std::chrono::steady_clock::now() < until && !(*child)->Ended()) {
    const auto answer = driver.Run(show, "", core::Seconds{5});
    if (answer && answer->exit_code == 0) {
      const auto read = engine::ParseNodes(answer->output);
      RETURN_IF_ERROR(read);
      (*child)->Stop(kTryGrace);
      return JudgeTrial(*read, change, TroublesIn(log));
    }
    platform::Child* const one = child->get();
    platform::WaitForChildren({&one, 1}, kTryStep);
  }
  const bool ended = (*child)->Ended().has_value();
  (*child)->Stop(kTryGrace);
  TryReport out;
  out.text = ended ? "A slurmctld of its own did not start with the changed configuration.\n"
                   : fmt::format("A slurmctld of its own did not answer within {:.0f} s.\n",
                                 kTryPatience.value);
  for (const std::string& line : TroublesIn(log)) out.text += fmt::format("It said: {}\n", line);
  return out;
}

}  // namespace sharewell::cli
