#include "engine/local/container.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "core/text/quoted.h"
#include "platform/process/cpu_set.h"
#include "platform/process/find_program.h"

namespace sharewell::engine {
namespace {

constexpr std::size_t kMostImage = 512;

// They name places of the host, or what the runtime itself is told by.
constexpr std::array<std::string_view, 14> kOfTheHost = {
    "PATH",          "HOME",       "SHELL",           "TMPDIR",
    "PWD",           "OLDPWD",     "HOSTNAME",        "LD_LIBRARY_PATH",
    "LD_PRELOAD",    "PYTHONHOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK", "PYTHONPATH"};

bool IsVariableName(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

// A field of --mount, which is a line of CSV.
std::string MountField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<std::string> MountedFolders(const RunRequest& request, const ContainerPlace& place) {
  std::vector<std::string> folders{request.asked.folder};
  folders.insert(folders.end(), place.folders.begin(), place.folders.end());
  std::vector<std::string> kept;
  for (const std::string& folder : folders) {
    // "/" would put the host's files over the image's.
    if (folder.empty() || folder.front() != '/' || folder == "/") continue;
    if (std::find(kept.begin(), kept.end(), folder) == kept.end()) kept.push_back(folder);
  }
  return kept;
}

// Podman's own process is bounded so.
constexpr rlim_t kMostProcesses = 32768;

std::string LimitOf(const std::vector<platform::ProcessLimit>& limits, const char* name, int which,
                    rlim_t most) {
  const rlimit limit = platform::LimitWith(limits, which);
  const auto shown = [&](rlim_t value) {
    value = std::min(value, most);
    return value == RLIM_INFINITY ? std::string("-1") : std::to_string(value);
  };
  return fmt::format("{}={}:{}", name, shown(limit.rlim_cur), shown(limit.rlim_max));
}

// The runtime, the image, the watcher's folder, and the words that start it. An image that is not
// there is pulled, as starting it would; what is wrong with it, starting it says. What cannot be
// asked costs the watcher, never the job.
constexpr const char* kStartWatched =
    "ask() { \"$1\" image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' \"$2\" "
    "2>/dev/null; }\n"
    "all=$(ask \"$1\" \"$2\") || { \"$1\" pull -q \"$2\" >/dev/null && all=$(ask \"$1\" \"$2\"); "
    "}\n"
    "if [ $? -eq 0 ]; then\n"
    "  own=$(printf '%s\\n' \"$all\" | sed -n 's/^PYTHONPATH=//p')\n"
    "  export PYTHONPATH=\"$3${own:+:$own}\"\n"
    "fi\n"
    "shift 3\n"
    "exec \"$@\"\n";

bool IsStandIn(const core::GivenGpu& gpu) { return gpu.uuid.starts_with("simulated"); }

}  // namespace

core::Result<ContainerRuntime> FindContainerRuntime(std::optional<std::string> path,
                                                    const std::string& root) {
  if (!path) {
    const char* set = std::getenv("PATH");
    path = set != nullptr ? set : "";
  }
  using Kind = ContainerRuntime::Kind;
  for (const auto& [kind, name] :
       {std::pair(Kind::kPodman, "podman"), std::pair(Kind::kDocker, "docker"),
        std::pair(Kind::kApptainer, "apptainer")}) {
    auto program = platform::FindProgram(name, *path);
    if (!program) continue;
    ContainerRuntime found{kind, *program, {}};
    if (kind != Kind::kPodman) return found;
    std::string controllers;
    std::ifstream(root + "/sys/fs/cgroup/unified/cgroup.controllers") >> controllers;
    for (const char* oci : {"crun", "runc"}) {
      const bool refuses = !controllers.empty() && std::string_view(oci) == "crun";
      if (found.oci.empty() && !refuses && platform::FindProgram(oci, *path)) found.oci = oci;
    }
    return found;
  }
  return tl::unexpected(
      core::Error{core::ErrorKind::kAbsent,
                  "an image needs podman, docker or apptainer, and none of them is in PATH; on "
                  "Debian: apt-get install podman"});
}

core::Result<void> CheckImage(std::string_view image) {
  const auto wrong = [&](std::string_view why) {
    return core::UsageError(
        "{} is no name of an image: {}; write for example docker.io/pytorch/pytorch:2.7.0",
        core::Quoted(image.substr(0, 80)), why);
  };
  if (image.empty()) return wrong("it is empty");
  if (image.size() > kMostImage) {
    return wrong(fmt::format("it has more than {} characters", kMostImage));
  }
  if (image.front() == '-') return wrong("it begins with a dash");
  for (const char c : image) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 &&
        std::string_view("._-/:@+").find(c) == std::string_view::npos) {
      return wrong(fmt::format("{} cannot be part of it", core::Quoted(std::string(1, c))));
    }
  }
  return {};
}

core::Result<void> CheckIdRanges(const core::Account& user, std::optional<std::string> path,
                                 const std::string& root) {
  if (!path) path = "/usr/bin:/usr/sbin:/bin";
  for (const char* name : {"newuidmap", "newgidmap"}) {
    if (!platform::FindProgram(name, *path)) {
      return core::FailedError("{} is not installed; on Debian: apt-get install uidmap", name);
    }
  }
  for (const char* file : {"/etc/subuid", "/etc/subgid"}) {
    std::ifstream lines(root + file);
    bool found = false;
    for (std::string line; !found && std::getline(lines, line);) {
      found = line.starts_with(user.name + ":") || line.starts_with(fmt::format("{}:", user.uid));
    }
    if (!found) {
      return core::FailedError(
          "{} has no range of ids for {}; as root: usermod --add-subuids 100000-165535 "
          "--add-subgids 100000-165535 {}",
          file, core::Quoted(user.name), user.name);
    }
  }
  return {};
}

std::vector<std::string> ContainerCommand(const ContainerRuntime& runtime,
                                          const RunRequest& request, const ContainerPlace& place) {
  using Kind = ContainerRuntime::Kind;
  const bool apptainer = runtime.kind == Kind::kApptainer;
  const bool podman = runtime.kind == Kind::kPodman;
  std::vector<std::string> words{runtime.program};
  const auto add = [&](auto&&... more) { (words.emplace_back(more), ...); };
  const bool gpus = !request.gpus.empty() && !IsStandIn(request.gpus.front());

  if (apptainer) {
    // Passes its own environment on, but for the paths of libraries and programs.
    add("exec", "--contain", "--no-eval", "--pwd", request.asked.folder);
    if (gpus) add("--nv");
  } else {
    // Who is not root runs everything as himself.
    const bool root = ::geteuid() == 0;
    const std::uint32_t uid = root ? request.user.uid : ::geteuid();
    const std::uint32_t gid = root ? request.user.gid : ::getegid();
    if (podman && !runtime.oci.empty()) add("--runtime", runtime.oci);
    // A user's container stays in the run's own group, which bounds it; through systemd it would be
    // moved to a group of the user's.
    const bool stays = podman && place.in_cgroup && uid != 0;
    if (stays) add("--cgroup-manager", "cgroupfs");
    add("run", "--rm", "--init", "--name", place.name);
    add("--workdir", request.asked.folder, "--network", "host");
    if (request.asked.terminal) add("--interactive", "--tty");
    // MPS and loaders of data share memory; a user's podman needs the queues for it too.
    if (uid == 0 || ::access("/dev/mqueue", F_OK) == 0) add("--ipc", "host");
    if (podman) {
      // The job's own log has what it writes. Its limits are those it would have without a
      // container; podman's own may be above what this machine lets it set.
      add("--log-driver", "none", "--ulimit",
          LimitOf(place.limits, "nofile", RLIMIT_NOFILE, RLIM_INFINITY));
      add("--ulimit", LimitOf(place.limits, "nproc", RLIMIT_NPROC, kMostProcesses));
      if (request.asked.umask) add("--umask", fmt::format("{:04o}", *request.asked.umask));
      // Root is root outside already; another user is himself inside too, where there are ids for
      // the image's own root beside him.
      if (uid != 0 && place.id_ranges) add("--userns", "keep-id");
    }
    const bool alone = podman && uid != 0 && !place.id_ranges;
    add("--user", alone ? "0:0" : fmt::format("{}:{}", uid, gid));
    if (podman && place.in_cgroup && runtime.oci == "crun") {
      add("--cgroups", "disabled");
    } else if (!stays) {
      if (!place.cpus.empty()) add("--cpuset-cpus", platform::FormatCpus(place.cpus));
      if (place.memory) {
        add("--memory", fmt::format("{:.0f}", std::max(std::floor(place.memory->value), 1.0)));
      }
    }
    std::string uuids;
    for (const core::GivenGpu& gpu : request.gpus) {
      if (!gpus) break;
      if (podman) add("--device", "nvidia.com/gpu=" + gpu.uuid);
      uuids += (uuids.empty() ? "" : ",") + gpu.uuid;
    }
    // The value is a line of CSV: a list in it is one quoted field.
    if (gpus && !podman) add("--gpus", "\"device=" + uuids + "\"");
  }
  for (const std::string& folder : MountedFolders(request, place)) {
    add("--mount", "type=bind," + MountField("source=" + folder) + "," +
                       MountField((apptainer ? "destination=" : "target=") + folder));
  }
  const bool watched = !place.watcher.empty() && CanBeWatched(runtime);
  if (watched) {
    add("--mount", "type=bind," + MountField("source=" + place.watcher) + "," +
                       MountField("target=" + place.watcher) + ",readonly");
    add("--env", "PYTHONPATH");
  }
  for (const auto& [name, value] : place.environment) {
    if (apptainer || !IsVariableName(name)) continue;
    if (std::find(kOfTheHost.begin(), kOfTheHost.end(), name) == kOfTheHost.end()) {
      add("--env", name);
    }
  }
  // An absolute path is a file to apptainer, and no image to the others.
  const std::string& image = request.asked.image;
  const bool scheme = image.find("://") != std::string::npos || image.front() == '/';
  add(apptainer && !scheme ? "docker://" + image : image);
  words.insert(words.end(), request.asked.command.begin(), request.asked.command.end());
  if (watched) {
    const std::vector<std::string> before{"/bin/sh",       "-c",  kStartWatched, "sharewell",
                                          runtime.program, image, place.watcher};
    words.insert(words.begin(), before.begin(), before.end());
  }
  return words;
}

bool CanBeWatched(const ContainerRuntime& runtime) {
  return runtime.kind != ContainerRuntime::Kind::kApptainer;
}

std::vector<std::string> ContainerRemoval(const ContainerRuntime& runtime,
                                          const std::string& name) {
  if (runtime.kind == ContainerRuntime::Kind::kApptainer) return {};
  return {runtime.program, "rm", "--force", name};
}

}  // namespace sharewell::engine
