// Where jobs come from: process trees that we started or were told of, and what Slurm, Kubernetes,
// Docker, Podman and ourselves run on this machine, found by control group.
//
// Both look at the machine at most once in `every`, and are cheap in between. A process is judged
// when it is first seen; all are judged anew every 30 looks, for numbers that were used again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collect/host/files.h"
#include "collect/host/process.h"
#include "collect/jobs.h"
#include "core/units.h"

namespace sharewell::collect {

struct JobSourceOptions {
  std::string root = "/";  // "/" or a captured tree
  core::Seconds every{1};
  std::function<double()> now = {};  // seconds; empty: the steady clock
};

// Trees of processes by their roots: all descendants, and those that forked away but keep a session
// or process group that was made in the tree, or stay in the tree's control group.
class TreeJobs final : public JobSource {
 public:
  explicit TreeJobs(JobSourceOptions options = {});

  // `cgroup`: its own control group's folder; empty: none. A name that is there is replaced.
  void Add(const std::string& name, int pid, const std::string& cgroup = {});
  void Remove(const std::string& name);
  // A tree with no process left is still among them, without pids, until it is removed.
  const std::vector<RunningJob>& Running() override;

 private:
  struct Tree {
    std::string name;
    int root = 0;
    std::optional<std::uint64_t> root_start;  // once seen: its number may be used again
    std::string cgroup;
    std::map<int, ProcessStat> members;  // alive when last looked
    std::set<int> ids;                   // sessions and groups that were made in the tree
  };

  void Look();
  // The tree that a process belongs to; null: none.
  Tree* TreeOf(const ProcessStat& process);
  void AddByCgroup(Tree& tree);

  JobSourceOptions options_;
  HostFiles files_;
  std::vector<Tree> trees_;
  std::set<int> strangers_;  // judged to be in no tree
  std::vector<RunningJob> running_;
  double looked_ = 0;
  int looks_ = 0;
};

// Jobs of others by their control groups (JobOfCgroup), Slurm's without one by the slurmstepd above
// them, and processes on GPUs that are in none of those: "pid 123 python3".
class DiscoveredJobs final : public JobSource {
 public:
  explicit DiscoveredJobs(JobSourceOptions options = {});

  void SetGpuPids(std::vector<int> pids);  // seen from the next look on
  const std::vector<RunningJob>& Running() override;

 private:
  struct Judged {
    int job = -1;   // index of its group in groups_; -1: none
    int looks = 0;  // since it was first seen
  };
  struct Group {
    std::string name, folder;
  };

  void Look();
  int GroupOf(int pid);

  JobSourceOptions options_;
  HostFiles files_;
  std::vector<int> gpu_pids_;
  std::map<int, Judged> judged_;
  std::vector<Group> groups_;
  std::vector<RunningJob> running_;
  double looked_ = 0;
  int looks_ = 0;
};

}  // namespace sharewell::collect
