#include "server/slurm/slurm_needs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"

namespace sharewell::server {
namespace {

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

}  // namespace

std::optional<core::Result<core::Needs>> SlurmNeedsOf(ClusterPredictions& predictions,
                                                      const engine::UserWords& words,
                                                      const engine::SlurmJob& job,
                                                      const core::Submission& asked,
                                                      const std::string& usual_gpu) {
  using Known = core::Result<core::Needs>;
  const std::string path = (std::filesystem::path(job.folder) / words.model).string();
  int descriptor = -1, why = 0;
  {
    const OpensFilesAs user(job.uid, job.gid);
    // A pipe or a terminal must not make it wait.
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    why = errno;
  }
  if (descriptor < 0) {
    return Known(
        core::FailedError("model {}: {}; name a file that this machine and the user can read",
                          core::Quoted(path), std::strerror(why)));
  }
  const auto ask = ClusterPredictions::AskOf(
      fmt::format("{}", job.uid), std::make_shared<const OpenFile>(descriptor),
      {words.model, words.batch, words.precision}, asked, usual_gpu);
  if (!ask) return Known(core::FailedError("model {}: it is no plain file", core::Quoted(path)));
  return predictions.Of(*ask);
}

}  // namespace sharewell::server
