// ContainerCommand: a job's command inside a container (podman, docker or apptainer), as words to
// execute. No shell reads any of them; of a job that is watched from inside, one is handed them as
// they are.
//
// The container sees the working folder at its own path, the job's GPUs and environment, and
// nothing else of the machine. It runs as the job's user, who must be allowed to use the runtime.
// Values of the environment are not among the words (other users can read those): the runtime takes
// them from its own environment, so it must be started with the job's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "engine/runner.h"
#include "platform/process/mps.h"
#include "platform/process/user_limits.h"

namespace sharewell::engine {

struct ContainerRuntime {
  enum class Kind : std::uint8_t { kPodman, kDocker, kApptainer };
  Kind kind = Kind::kPodman;
  std::string program;  // its path
  // What podman is told to start containers with; empty: its own choice. Only crun can leave them
  // in the run's own control group, and it refuses machines where cgroup v1 and v2 are mixed.
  std::string oci = {};
};

// The first of podman, docker and apptainer in PATH. `path`, `root`: for tests. kAbsent: none.
core::Result<ContainerRuntime> FindContainerRuntime(std::optional<std::string> path = {},
                                                    const std::string& root = "/");

// A usage error says what is wrong with the reference. What passes cannot be taken for an option.
core::Result<void> CheckImage(std::string_view image);

// Whether podman has ids to give to the other users of an image where this user starts it: ranges
// in /etc/subuid and /etc/subgid, and the programs that map them. Without, a container has one
// user: root inside is this one outside. An error says what to do. `path`, `root`: for tests.
core::Result<void> CheckIdRanges(const core::Account& user, std::optional<std::string> path = {},
                                 const std::string& root = "/");

struct ContainerPlace {
  std::string name;                   // of the container; no other server's has it
  bool id_ranges = false;             // CheckIdRanges
  std::vector<int> cpus;              // empty: not bounded
  std::optional<core::Bytes> memory;  // of the host
  bool in_cgroup = false;             // the run's own control group bounds it
  std::vector<std::string> folders;   // seen at their own paths beside the working folder: the
                                      // progress file's, the MPS pipes
  std::string watcher = {};  // folder with what watches it from inside, seen there too, but only
                             // to be read; empty: it is not watched
  std::vector<platform::ProcessLimit> limits;  // of the process that starts it
  platform::Environment environment;           // what the command is to have, of the names alone
};

// Whether it can be told what Python is to search beside what its image sets: not of apptainer,
// whose images set it by scripts.
bool CanBeWatched(const ContainerRuntime& runtime);

// Of one that is watched the environment it is executed in must have no PYTHONPATH: what its image
// sets is asked of the runtime, as the job's user and in its own group, and the watcher's folder is
// put in front of it. Where that cannot be known, it is not watched.
// REQUIRES: CheckImage passed; the runtime is executed as the job's user.
std::vector<std::string> ContainerCommand(const ContainerRuntime& runtime,
                                          const RunRequest& request, const ContainerPlace& place);

// Words that remove what is left of it when the runtime itself was killed; SIGTERM to the runtime
// is passed on to the command and needs none of this. Empty: nothing can be left.
std::vector<std::string> ContainerRemoval(const ContainerRuntime& runtime, const std::string& name);

}  // namespace sharewell::engine
