#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "collect/host/files.h"
#include "collect/host/process.h"
#include "collect/host_collectors.h"
#include "collect/metrics/job_metrics.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/files/progress_file.h"

namespace sharewell::collect {
namespace {

constexpr std::size_t kMostStepFiles = 4096;
constexpr std::size_t kMostIdDigits = 18;
// Of one file in one round: no job makes the agent read for longer.
constexpr std::int64_t kMostStepBytes = 1 << 20;
// Of the emptyDir volume that `sharewell kubernetes inject` adds (pod_inject.cc).
constexpr const char* kFileOfPod = "/volumes/kubernetes.io~empty-dir/sharewell-steps/steps";

bool IsJobId(const char* name) {
  const std::size_t size = std::strlen(name);
  return size > 0 && size <= kMostIdDigits && std::strspn(name, "0123456789") == size &&
         name[0] != '0';
}

// As a pod's folder is called by its kubelet: "0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6".
bool IsPodUid(const char* name) {
  const std::size_t size = std::strlen(name);
  return size >= 32 && size <= 36 && std::strspn(name, "0123456789abcdef-") == size;
}

// The files are the jobs' own, and may hold anything; the folders that they lie in are root's: in
// any other folder its owner could put a file in the place of another's. Of a pod that is a volume,
// which its containers see the inside of, and its kubelet removes.
class StepsCollector final : public Collector {
 public:
  StepsCollector(const std::string& root, StepsFolders folders, JobSource* jobs)
      : root_(root == "/" ? "" : root), folders_(std::move(folders)), running_(jobs), host_(root) {}

  std::string_view Name() const override { return "steps"; }
  std::string_view Describe() const override {
    return "steps that jobs of Slurm and pods of Kubernetes tell of, from files that lie where the "
           "prolog or the kubelet made room for them";
  }

  Health Probe() override {
    if (const std::string problem = Distrusted(); !problem.empty()) {
      return {Health::State::kPartly, problem, HowToTrust()};
    }
    std::string there, why;
    for (const std::string& folder : {folders_.slurm, PodsFolder()}) {
      DIR* entries = ::opendir((root_ + folder).c_str());
      if (entries == nullptr) {
        why = fmt::format("{}{}{}: {}", why, why.empty() ? "" : "; ", folder, std::strerror(errno));
        continue;
      }
      ::closedir(entries);
      there += (there.empty() ? "files of jobs in " : " and ") + folder;
    }
    if (!there.empty()) return {Health::State::kWorks, there, ""};
    return {Health::State::kAbsent,
            why +
                "; there is one on nodes of a Slurm cluster whose prolog is ours, and one on "
                "nodes of Kubernetes",
            ""};
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    std::map<std::string, Job> now;
    const std::string problem = Distrusted();
    if (problem.empty()) {
      ForEach(folders_.slurm, IsJobId, [&](const std::string& id) {
        Keep("slurm/" + id, root_ + folders_.slurm + "/" + id, now);
      });
    }
    ForEach(PodsFolder(), IsPodUid, [&](const std::string& uid) {
      Keep("pod/" + uid, root_ + PodsFolder() + "/" + uid + kFileOfPod, now);
    });
    jobs_ = std::move(now);
    for (auto& [name, job] : jobs_) {
      job.file->Look();
      if (job.file->steps() <= 0) continue;  // it tells of none, or not yet
      if (name.starts_with("slurm/") && !IsOfJob(job.owner, name)) continue;
      out.push_back({&kJobSteps, {}, name, job.file->steps()});
    }
    if (problem.empty()) return {};
    return core::FailedError("{}; {}", problem, HowToTrust());
  }

 private:
  struct Job {
    ino_t inode = 0;
    uid_t owner = 0;
    std::unique_ptr<platform::ProgressFile> file;
  };

  std::string PodsFolder() const { return folders_.kubelet + "/pods"; }

  // Why nothing in Slurm's folder is believed; empty: it is, or there is none.
  std::string Distrusted() const {
    struct stat state {};
    const std::string folder = root_ + folders_.slurm;
    if (::lstat(folder.c_str(), &state) != 0) return {};
    if (!S_ISDIR(state.st_mode)) return fmt::format("{} is no folder", folder);
    if (state.st_uid != 0 && state.st_uid != ::geteuid()) {
      return fmt::format("{} belongs to user {}, not to root: the steps in it are not believed",
                         folder, state.st_uid);
    }
    if ((state.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      return fmt::format("others than its owner may write {}: the steps in it are not believed",
                         folder);
    }
    return {};
  }

  std::string HowToTrust() const {
    return fmt::format("as root: rm -rf {0} && install -d -m 755 {0}", root_ + folders_.slurm);
  }

  // The prolog gives a job's file to its user. A job whose processes are not seen is not judged.
  bool IsOfJob(uid_t owner, const std::string& name) {
    if (running_ == nullptr) return true;
    bool seen = false;
    for (const RunningJob& job : running_->Running()) {
      if (job.name != name) continue;
      for (const int pid : job.pids) {
        const auto uid = ReadProcessOwner(host_, pid);
        if (uid == owner) return true;
        seen = seen || uid.has_value();
      }
    }
    return !seen;
  }

  // A machine without such a folder has no such jobs.
  template <typename Take>
  void ForEach(const std::string& folder, bool (*is_name)(const char*), const Take& take) const {
    DIR* entries = ::opendir((root_ + folder).c_str());
    if (entries == nullptr) return;
    while (const dirent* entry = ::readdir(entries)) {
      if (is_name(entry->d_name)) take(entry->d_name);
    }
    ::closedir(entries);
  }

  // Another file is another run of the job: it begins at 0.
  void Keep(const std::string& name, const std::string& file, std::map<std::string, Job>& now) {
    struct stat state {};
    if (now.size() >= kMostStepFiles) return;
    if (::lstat(file.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) return;
    auto before = jobs_.find(name);
    if (before != jobs_.end() && before->second.inode == state.st_ino &&
        before->second.owner == state.st_uid) {
      now.emplace(name, std::move(before->second));
      return;
    }
    platform::ProgressOptions options;
    options.most_at_once = kMostStepBytes;
    now.emplace(name, Job{state.st_ino, state.st_uid,
                          std::make_unique<platform::ProgressFile>(file, options)});
  }

  std::string root_;
  StepsFolders folders_;
  JobSource* running_;
  HostFiles host_;
  std::map<std::string, Job> jobs_;  // by name
};

}  // namespace

std::unique_ptr<Collector> NewStepsCollector(const std::string& root, const StepsFolders& folders,
                                             JobSource* jobs) {
  return std::make_unique<StepsCollector>(root, folders, jobs);
}

}  // namespace sharewell::collect
