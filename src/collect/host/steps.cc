#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

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

bool IsJobId(const char* name) {
  const std::size_t size = std::strlen(name);
  return size > 0 && size <= kMostIdDigits && std::strspn(name, "0123456789") == size &&
         name[0] != '0';
}

// The files are the jobs' own, and may hold anything; the folder is root's.
class StepsCollector final : public Collector {
 public:
  StepsCollector(const std::string& root, std::string folder)
      : path_(root == "/" ? folder : root + folder), folder_(std::move(folder)) {}

  std::string_view Name() const override { return "steps"; }
  std::string_view Describe() const override {
    return "steps that Slurm's jobs tell of, from the files that Sharewell's prolog makes";
  }

  Health Probe() override {
    DIR* entries = ::opendir(path_.c_str());
    if (entries == nullptr) {
      return {Health::State::kAbsent,
              fmt::format("{}: {}; it is there on nodes of a Slurm cluster whose prolog is ours",
                          folder_, std::strerror(errno)),
              ""};
    }
    ::closedir(entries);
    return {Health::State::kWorks, "files of jobs in " + folder_, ""};
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    DIR* entries = ::opendir(path_.c_str());
    if (entries == nullptr) {
      jobs_.clear();
      return {};  // a machine without jobs of Slurm's
    }
    std::map<std::string, Job> now;
    while (const dirent* entry = ::readdir(entries)) {
      if (!IsJobId(entry->d_name) || now.size() >= kMostStepFiles) continue;
      const std::string file = path_ + "/" + entry->d_name;
      struct stat state {};
      if (::lstat(file.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) continue;
      auto before = jobs_.find(entry->d_name);
      // Another file is another run of the job: it begins at 0.
      if (before != jobs_.end() && before->second.inode == state.st_ino) {
        now.emplace(entry->d_name, std::move(before->second));
        continue;
      }
      platform::ProgressOptions options;
      options.most_at_once = kMostStepBytes;
      now.emplace(entry->d_name,
                  Job{state.st_ino, std::make_unique<platform::ProgressFile>(file, options)});
    }
    ::closedir(entries);
    jobs_ = std::move(now);
    for (auto& [id, job] : jobs_) {
      job.file->Look();
      if (job.file->steps() <= 0) continue;  // it tells of none, or not yet
      out.push_back({&kJobSteps, {}, "slurm/" + id, job.file->steps()});
    }
    return {};
  }

 private:
  struct Job {
    ino_t inode = 0;
    std::unique_ptr<platform::ProgressFile> file;
  };
  std::string path_, folder_;
  std::map<std::string, Job> jobs_;  // by id
};

}  // namespace

std::unique_ptr<Collector> NewStepsCollector(const std::string& root, const std::string& folder) {
  return std::make_unique<StepsCollector>(root, folder);
}

}  // namespace sharewell::collect
