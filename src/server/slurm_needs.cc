#include "server/slurm_needs.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/result.h"
#include "core/text/quoted.h"
#include "server/studies.h"

namespace sharewell::server {
namespace {

constexpr std::size_t kMostPredictionsKept = 1000;

// For as long as it lives this thread, and no other, opens files as that user would: the kernel
// keeps these ids for each thread.
class OpensFilesAs {
 public:
  OpensFilesAs(std::uint32_t uid, std::uint32_t gid) : root_(::geteuid() == 0) {
    if (!root_) return;
    ::syscall(SYS_setgroups, 0, nullptr);  // of this thread, which needs none of root's
    ::setfsgid(gid);
    ::setfsuid(uid);
  }
  ~OpensFilesAs() {
    if (!root_) return;
    ::setfsuid(0);
    ::setfsgid(0);
  }
  OpensFilesAs(const OpensFilesAs&) = delete;
  OpensFilesAs& operator=(const OpensFilesAs&) = delete;

 private:
  const bool root_;
};

struct CloseFile {
  int descriptor;
  ~CloseFile() { ::close(descriptor); }
};

}  // namespace

core::Result<core::Needs> SlurmNeeds::Of(const engine::UserWords& words,
                                         const engine::SlurmJob& job, const core::Submission& asked,
                                         const std::string& usual_gpu) {
  const std::string path = (std::filesystem::path(job.folder) / words.model).string();
  int descriptor = -1, why = 0;
  {
    const OpensFilesAs user(job.uid, job.gid);
    // A pipe or a terminal must not make it wait.
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    why = errno;
  }
  if (descriptor < 0) {
    return core::FailedError("model {}: {}; name a file that this machine and the user can read",
                             core::Quoted(path), std::strerror(why));
  }
  const CloseFile closes{descriptor};
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return core::FailedError("model {}: it is no plain file", core::Quoted(path));
  }
  study::PredictionAsk ask;
  ask.model = fmt::format("/proc/self/fd/{}", descriptor);
  ask.batch = words.batch.value_or(1);
  if (!words.precision.empty()) ask.precision = words.precision;
  ask.gpu = asked.gpu_models.empty() ? usual_gpu : asked.gpu_models.front();
  ask.gpus = asked.gpus;
  const Key key{facts.st_dev,
                facts.st_ino,
                facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec,
                ask.batch,
                ask.gpus,
                ask.precision,
                ask.gpu};
  // A model that has learnt since says something else.
  if (auto model = learner_.InUse(); model != model_) {
    kept_.clear();
    model_ = std::move(model);
  }
  if (const auto known = kept_.find(key); known != kept_.end()) return known->second;
  if (kept_.size() >= kMostPredictionsKept) kept_.clear();
  return kept_.emplace(key, PredictAndKeep(learner_, ask, catalogue_, words.model)).first->second;
}

}  // namespace sharewell::server
