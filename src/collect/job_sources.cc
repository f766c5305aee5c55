#include "collect/job_sources.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "collect/host/cgroup.h"
#include "collect/host/scan.h"

namespace sharewell::collect {
namespace {

constexpr int kJudgeAnewLooks = 30;
constexpr std::size_t kMostGroups = 1024;

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

JobSourceOptions WithClock(JobSourceOptions options) {
  if (!options.now) options.now = SteadySeconds;
  return options;
}

bool IsAlive(const ProcessStat& process) { return process.state != 'Z' && process.state != 'X'; }

// "slurmstepd: [17.batch]"; newer ones say "17.0". Empty: it is no such name.
std::string StepJob(std::string_view command) {
  constexpr std::string_view kBegin = "slurmstepd: [";
  if (!command.starts_with(kBegin)) return {};
  command.remove_prefix(kBegin.size());
  const std::size_t digits = std::min(command.find_first_not_of("0123456789"), command.size());
  if (digits == 0 || digits == command.size() || command[digits] != '.') return {};
  return "slurm/" + std::string(command.substr(0, digits));
}

// Where Slurm makes no control groups (proctrack/linuxproc), the slurmstepd above a process names
// its job. It is root's: nobody can make one up to be counted as another's job.
std::optional<CgroupJob> JobOfStep(HostFiles& files, int pid) {
  constexpr int kDeepest = 32;
  for (int depth = 0; depth < kDeepest && pid > 1; ++depth) {
    const auto text = files.Read(fmt::format("/proc/{}/stat", pid));
    const auto stat = text ? ParseProcessStat(*text) : std::nullopt;
    if (!stat) return std::nullopt;
    if (ProcessName(*text) == "slurmstepd") {
      const auto status = files.Read(fmt::format("/proc/{}/status", pid));
      if (!status || status->find("\nUid:\t0\t") == std::string_view::npos) return std::nullopt;
      const auto command = files.Read(fmt::format("/proc/{}/cmdline", pid));
      const std::string name = command ? StepJob(*command) : "";
      return name.empty() ? std::nullopt : std::optional(CgroupJob{name, ""});
    }
    pid = stat->parent;
  }
  return std::nullopt;
}

// Young processes are moved to their group after they were started; old ones rarely.
bool IsDue(int looks) { return looks <= 2 || looks % kJudgeAnewLooks == 0 || looks == 5; }

}  // namespace

TreeJobs::TreeJobs(JobSourceOptions options)
    : options_(WithClock(std::move(options))), files_(options_.root) {}

void TreeJobs::Add(const std::string& name, int pid, const std::string& cgroup) {
  Remove(name);
  Tree tree;
  tree.name = name;
  tree.root = pid;
  tree.cgroup = cgroup;
  tree.ids.insert(pid);
  // What another tree had of it goes over; the next look finds it.
  for (Tree& other : trees_) {
    std::set<int> leaving = {pid};
    for (bool more = true; more;) {
      more = false;
      for (const auto& [member, process] : other.members) {
        if (leaving.contains(process.parent)) more = leaving.insert(member).second || more;
      }
    }
    std::erase_if(other.members, [&](const auto& entry) { return leaving.contains(entry.first); });
    for (const int id : leaving) other.ids.erase(id);
  }
  trees_.push_back(std::move(tree));
  strangers_.clear();
  looks_ = 0;
}

void TreeJobs::Remove(const std::string& name) {
  std::erase_if(trees_, [&](const Tree& tree) { return tree.name == name; });
  strangers_.clear();
  looks_ = 0;
}

TreeJobs::Tree* TreeJobs::TreeOf(const ProcessStat& process) {
  // A tree inside another's is its own.
  for (Tree& tree : trees_) {
    if (process.pid == tree.root && tree.root_start.value_or(process.start) == process.start) {
      return &tree;
    }
  }
  for (Tree& tree : trees_) {
    if (tree.members.contains(process.parent)) return &tree;
  }
  for (Tree& tree : trees_) {
    if (tree.ids.contains(process.session) || tree.ids.contains(process.group)) return &tree;
  }
  return nullptr;
}

void TreeJobs::AddByCgroup(Tree& tree) {
  const auto text = files_.Read(tree.cgroup + "/cgroup.procs");
  if (!text) return;
  std::vector<int> pids;
  Lines lines(*text);
  for (std::string_view line; lines.Next(line);) {
    const auto pid = TakeUnsigned(line);
    if (pid && *pid > 0 && *pid < (std::uint64_t{1} << 30)) pids.push_back(static_cast<int>(*pid));
  }
  for (const int pid : pids) {
    if (tree.members.contains(pid)) continue;
    const auto stat = ReadProcessStat(files_, pid);
    if (stat && IsAlive(*stat)) tree.members.emplace(pid, *stat);
  }
}

void TreeJobs::Look() {
  const bool anew = looks_++ % kJudgeAnewLooks == 0;
  const std::vector<int> pids = AllPids(files_);
  const auto is_there = [&](int pid) { return std::binary_search(pids.begin(), pids.end(), pid); };
  std::erase_if(strangers_, [&](int pid) { return anew || !is_there(pid); });
  for (Tree& tree : trees_) {
    for (auto it = tree.members.begin(); it != tree.members.end();) {
      const auto stat = is_there(it->first) ? ReadProcessStat(files_, it->first) : std::nullopt;
      if (stat && stat->start == it->second.start && IsAlive(*stat)) {
        it->second = *stat;
        ++it;
      } else {
        it = tree.members.erase(it);
      }
    }
  }
  std::vector<ProcessStat> unjudged;
  for (const int pid : pids) {
    const bool known = strangers_.contains(pid) ||
                       std::any_of(trees_.begin(), trees_.end(),
                                   [&](const Tree& tree) { return tree.members.contains(pid); });
    if (known) continue;
    if (const auto stat = ReadProcessStat(files_, pid)) unjudged.push_back(*stat);
  }
  // A child may have a lower number than its parent: again until nobody was added.
  for (bool added = true; added;) {
    added = false;
    std::erase_if(unjudged, [&](const ProcessStat& process) {
      Tree* tree = IsAlive(process) ? TreeOf(process) : nullptr;
      if (tree == nullptr) return false;
      tree->members.emplace(process.pid, process);
      if (process.pid == tree->root) tree->root_start = process.start;
      tree->ids.insert(process.pid);
      added = true;
      return true;
    });
  }
  for (const ProcessStat& process : unjudged) strangers_.insert(process.pid);

  running_.clear();
  for (Tree& tree : trees_) {
    if (!tree.cgroup.empty()) AddByCgroup(tree);
    RunningJob job{tree.name, {}, tree.cgroup};
    std::set<int> used;
    for (const auto& [pid, process] : tree.members) {
      job.pids.push_back(pid);
      used.insert({pid, process.session, process.group});
    }
    // A number that nobody in the tree goes by any more may be a stranger's next.
    std::erase_if(tree.ids, [&](int id) {
      const bool awaited = id == tree.root && !tree.root_start;
      return !awaited && !used.contains(id);
    });
    running_.push_back(std::move(job));
  }
  std::sort(running_.begin(), running_.end(),
            [](const RunningJob& a, const RunningJob& b) { return a.name < b.name; });
}

const std::vector<RunningJob>& TreeJobs::Running() {
  const double now = options_.now();
  if (looks_ == 0 || now - looked_ >= options_.every.value) {
    looked_ = now;
    Look();
  }
  return running_;
}

DiscoveredJobs::DiscoveredJobs(JobSourceOptions options)
    : options_(WithClock(std::move(options))), files_(options_.root) {}

void DiscoveredJobs::SetGpuPids(std::vector<int> pids) { gpu_pids_ = std::move(pids); }

int DiscoveredJobs::GroupOf(int pid) {
  const auto text = files_.Read(fmt::format("/proc/{}/cgroup", pid));
  auto job = text ? JobOfCgroup(*text) : std::nullopt;
  if (!job) job = JobOfStep(files_, pid);
  if (!job) return -1;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].name == job->name) return static_cast<int>(i);
  }
  if (groups_.size() >= kMostGroups) return -1;
  groups_.push_back({std::move(job->name), std::move(job->folder)});
  return static_cast<int>(groups_.size()) - 1;
}

void DiscoveredJobs::Look() {
  // Groups that are gone make room once nobody points at one.
  if (looks_++ % kJudgeAnewLooks == 0) {
    groups_.clear();
    judged_.clear();
  }
  const std::vector<int> pids = AllPids(files_);
  std::erase_if(judged_, [&](const auto& entry) {
    return !std::binary_search(pids.begin(), pids.end(), entry.first);
  });
  std::vector<RunningJob> jobs;
  for (const int pid : pids) {
    Judged& judged = judged_[pid];
    if (IsDue(judged.looks++)) judged.job = GroupOf(pid);
  }
  for (const Group& group : groups_) jobs.push_back({group.name, {}, group.folder});
  for (const auto& [pid, judged] : judged_) {
    if (judged.job >= 0) jobs[static_cast<std::size_t>(judged.job)].pids.push_back(pid);
  }
  std::erase_if(jobs, [](const RunningJob& job) { return job.pids.empty(); });
  std::sort(gpu_pids_.begin(), gpu_pids_.end());
  gpu_pids_.erase(std::unique(gpu_pids_.begin(), gpu_pids_.end()), gpu_pids_.end());
  for (const int pid : gpu_pids_) {
    const auto it = judged_.find(pid);
    if (it == judged_.end() || it->second.job >= 0) continue;
    const auto text = files_.Read(fmt::format("/proc/{}/stat", pid));
    if (!text) continue;
    jobs.push_back({CleanName(fmt::format("pid {} {}", pid, ProcessName(*text))), {pid}, ""});
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const RunningJob& a, const RunningJob& b) { return a.name < b.name; });
  running_ = std::move(jobs);
}

const std::vector<RunningJob>& DiscoveredJobs::Running() {
  const double now = options_.now();
  if (looks_ == 0 || now - looked_ >= options_.every.value) {
    looked_ = now;
    Look();
  }
  return running_;
}

}  // namespace sharewell::collect
