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
#include "platform/files/watch_file.h"

namespace sharewell::collect {
namespace {

constexpr std::size_t kMostStepFiles = 4096;
constexpr std::size_t kMostIdDigits = 18;
// Of one file in one round: no job makes the agent read for longer.
constexpr std::int64_t kMostStepBytes = 1 << 20;
// Of the emptyDir volume that `sharewell kubernetes inject` adds (pod_inject.cc).
constexpr const char* kFolderOfPod = "/volumes/kubernetes.io~empty-dir/sharewell-steps";
constexpr int kMostDocuments = 8;  // of what a run tells; more are not handed on

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

// A file of a job, as it is read. Another file is another run of the job: it begins at 0.
template <class File>
struct FileOfJob {
  ino_t inode = 0;
  uid_t owner = 0;
  std::unique_ptr<File> file;  // null: there is none

  void Follow(const std::string& path) {
    struct stat state {};
    if (::lstat(path.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) {
      *this = {};
      return;
    }
    if (file && inode == state.st_ino && owner == state.st_uid) return;
    platform::ProgressOptions options;
    options.most_at_once = kMostStepBytes;
    *this = {state.st_ino, state.st_uid, std::make_unique<File>(path, options)};
  }
};

// The files are the jobs' own, and may hold anything; the folders that they lie in are root's: in
// any other folder its owner could put a file in the place of another's. Of a pod that is a volume,
// which its containers see the inside of, and its kubelet removes.
class StepsCollector final : public Collector {
 public:
  StepsCollector(const std::string& root, StepsFolders folders, JobSource* jobs, ToldSink told)
      : root_(root == "/" ? "" : root),
        folders_(std::move(folders)),
        running_(jobs),
        told_(std::move(told)),
        host_(root) {}

  std::string_view Name() const override { return "steps"; }
  std::string_view Describe() const override {
    return "steps that jobs of Slurm and pods of Kubernetes tell of, or the watcher inside of "
           "them, "
           "from files that lie where the prolog or the kubelet made room for them";
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
        const std::string file = root_ + folders_.slurm + "/" + id;
        Keep("slurm/" + id, file, file + ".watch", now);
      });
    }
    ForEach(PodsFolder(), IsPodUid, [&](const std::string& uid) {
      const std::string folder = root_ + PodsFolder() + "/" + uid + kFolderOfPod;
      Keep("pod/" + uid, folder + "/steps", folder + "/watch", now);
    });
    jobs_ = std::move(now);
    for (auto& [name, job] : jobs_) {
      double reported = StepsIn(job.reported), watched = StepsIn(job.watched);
      if (reported > 0 && !IsOfJob(job.reported.owner, name)) reported = 0;
      const bool told = job.watched.file && IsOfJob(job.watched.owner, name);
      if (!told) watched = 0;
      const double steps = reported > 0 ? reported : watched;
      if (steps > 0) out.push_back({&kJobSteps, {}, name, steps});
      if (told && told_) HandOn(name, job, reported <= 0 && watched > 0);
    }
    if (problem.empty()) return {};
    return core::FailedError("{}; {}", problem, HowToTrust());
  }

 private:
  struct Job {
    FileOfJob<platform::ProgressFile> reported;
    FileOfJob<platform::WatchFile> watched;
    // Of that file: what was handed on.
    ino_t told_of = 0;
    int documents = 0;
    bool counts = false;
    std::string off;
  };

  std::string PodsFolder() const { return folders_.kubelet + "/pods"; }
  std::string Distrusted() const { return folders_.WhyDistrusted(root_); }

  // 0: it tells of none, or not yet.
  template <class File>
  static double StepsIn(const FileOfJob<File>& one) {
    if (!one.file) return 0;
    one.file->Look();
    return static_cast<double>(one.file->steps());
  }

  void HandOn(const std::string& name, Job& job, bool counts) {
    platform::WatchFile& watched = *job.watched.file;
    if (job.told_of != job.watched.inode) {
      job.told_of = job.watched.inode;
      job.documents = 0;
      job.counts = false;
      job.off.clear();
    }
    counts = counts && !watched.by_report_step();
    auto document = watched.TakeDocument();
    if (document && ++job.documents > kMostDocuments) document.reset();
    if (!document && counts == job.counts && watched.off() == job.off) return;
    job.counts = counts;
    job.off = watched.off();
    told_({name, 0, counts, std::move(document).value_or(""), job.off});
  }

  std::string HowToTrust() const {
    return fmt::format("as root: rm -rf {0} && install -d -m 755 {0}", root_ + folders_.slurm);
  }

  // The prolog gives a job's file to its user. A job whose processes are not seen is not judged,
  // nor a pod: nobody else sees its volume.
  bool IsOfJob(uid_t owner, const std::string& name) {
    if (running_ == nullptr || !name.starts_with("slurm/")) return true;
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

  void Keep(const std::string& name, const std::string& reported, const std::string& watched,
            std::map<std::string, Job>& now) {
    if (now.size() >= kMostStepFiles) return;
    auto before = jobs_.extract(name);
    Job job = before ? std::move(before.mapped()) : Job();
    job.reported.Follow(reported);
    job.watched.Follow(watched);
    if (job.reported.file || job.watched.file) now.emplace(name, std::move(job));
  }

  std::string root_;
  StepsFolders folders_;
  JobSource* running_;
  ToldSink told_;
  HostFiles host_;
  std::map<std::string, Job> jobs_;  // by name
};

}  // namespace

std::string StepsFolders::WhyDistrusted(const std::string& root) const {
  struct stat state {};
  const std::string folder = root + slurm;
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

std::unique_ptr<Collector> NewStepsCollector(const std::string& root, const StepsFolders& folders,
                                             JobSource* jobs, ToldSink told) {
  return std::make_unique<StepsCollector>(root, folders, jobs, std::move(told));
}

}  // namespace sharewell::collect
