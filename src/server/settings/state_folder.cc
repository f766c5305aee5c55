#include "server/settings/state_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/text/quoted.h"
#include "core/text/words.h"
#include "engine/local/linux_runner.h"
#include "engine/local/run/job_folder.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/write_file.h"

namespace sharewell::server {

using core::Result;

namespace {

constexpr const char* kOwnerFile = "/store";
constexpr const char* kKeyFile = "/key";
constexpr std::size_t kKeyBytes = 32;

bool SameJob(const core::JobRecord& job, const engine::RunRequest& run) {
  return job.user.uid == run.user.uid && job.asked.command == run.asked.command &&
         job.asked.folder == run.asked.folder;
}

Result<std::optional<core::JobRecord>> JobOf(store::JobStore& jobs, std::int64_t number) {
  store::JobFilter filter;
  filter.number = number;
  auto found = jobs.Jobs(filter);
  RETURN_IF_ERROR(found);
  if (found->empty()) return std::optional<core::JobRecord>();
  return std::optional(std::move(found->front()));
}

core::UnixMillis StartOf(const std::string& folder) {
  struct stat status {};
  if (::stat((folder + "/spec").c_str(), &status) != 0) return platform::UnixNow();
  return core::UnixMillis{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

Result<std::string> MakeKey(const std::string& path) {
  std::array<unsigned char, kKeyBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return core::FailedError("{}: no random bytes for it: {}", path, std::strerror(errno));
  }
  std::string key;
  for (const unsigned char byte : bytes) key += fmt::format("{:02x}", byte);
  // Nobody else may have it for a moment, so the file is there before its contents are.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file >= 0) ::close(file);
  RETURN_IF_ERROR(platform::WriteFile(path, key + "\n"));
  return key;
}

}  // namespace

Result<OtherRuns> OtherRunsNamed(const std::string& name) {
  if (name.empty()) return OtherRuns::kRefuse;
  if (name == "adopt") return OtherRuns::kAdopt;
  if (name == "end") return OtherRuns::kEnd;
  return core::UsageError("--runs: {} is not allowed; give adopt or end", core::Quoted(name));
}

std::optional<StateOwner> OwnerOf(const std::string& state) {
  std::ifstream file(state + kOwnerFile);
  StateOwner owner;
  if (!std::getline(file, owner.id) || owner.id.empty()) return std::nullopt;
  std::getline(file, owner.place);
  return owner;
}

Result<void> SetOwner(const std::string& state, const StateOwner& owner) {
  const auto before = OwnerOf(state);
  // On a full disk there may be no room to write the same again.
  if (before && before->id == owner.id && before->place == owner.place) return {};
  return platform::WriteFile(state + kOwnerFile, owner.id + "\n" + owner.place + "\n");
}

Result<std::vector<engine::RunRequest>> RunsOfOthers(const std::string& state,
                                                     store::JobStore& jobs) {
  std::vector<engine::RunRequest> others;
  const auto owner = OwnerOf(state);
  if (owner && owner->id == jobs.Id()) return others;
  for (engine::RunRequest& run : engine::LinuxRunner::RunsIn(state)) {
    // Before folders knew their store there was nothing but the numbers to tell by.
    if (!owner) {
      const auto job = JobOf(jobs, run.id.job);
      RETURN_IF_ERROR(job);
      if (*job && SameJob(**job, run)) continue;
    }
    others.push_back(std::move(run));
  }
  return others;
}

core::Error RefusalOf(const std::string& state, const std::vector<engine::RunRequest>& runs) {
  const auto owner = OwnerOf(state);
  std::string jobs;
  for (std::size_t i = 0; i < runs.size() && i < 5; ++i) {
    jobs += fmt::format("{}{}", i == 0 ? "" : ", ", runs[i].id.job);
  }
  if (runs.size() > 5) jobs += ", ...";
  const std::string whose =
      owner ? fmt::format("the store {} (id {})", core::Quoted(owner->place), owner->id)
            : std::string("another store");
  return core::Error{
      core::ErrorKind::kFailed,
      fmt::format("the folder {} has {} of {} (job {}), and this is another store; nothing was "
                  "changed. Name that store again with --store, or give this one a folder of its "
                  "own with --state DIR. Or decide what becomes of them here: --runs adopt makes "
                  "them jobs of this store, --runs end ends them",
                  core::Quoted(state), core::Count(runs.size(), "run", "runs"), whose, jobs)};
}

Result<void> AdoptRuns(const std::string& state, const std::vector<engine::RunRequest>& runs,
                       store::JobStore& jobs) {
  store::JobChanges changes;
  changes.may_use_reserve = true;
  for (const engine::RunRequest& run : runs) {
    const auto there = JobOf(jobs, run.id.job);
    RETURN_IF_ERROR(there);
    if (*there && SameJob(**there, run)) continue;  // an adoption that was interrupted
    if (*there || run.asked.command.empty()) {
      return core::FailedError(
          "job {} cannot be adopted: {}; nothing was changed. Use the store that it belongs to, "
          "another folder (--state DIR), or --runs end",
          run.id.job,
          *there ? "this store has another job of that number" : "its folder cannot be read");
    }
    core::JobRecord job;
    job.number = run.id.job;
    job.attempt = run.id.attempt;
    job.user = run.user;
    job.asked = run.asked;
    job.cores = run.cores;
    job.gpus = run.gpus;
    job.phase = core::Phase::kRunning;
    job.submitted = StartOf(engine::JobFolder(state, run.id.job, run.id.attempt));
    job.started = job.resumed = job.submitted;
    job.note = "taken over from another store while it ran";
    changes.jobs.push_back(std::move(job));
  }
  RETURN_IF_ERROR(jobs.Write(changes));
  // Their supervisors hold the folders of their logs, not paths.
  const auto before = OwnerOf(state);
  for (const engine::RunRequest& run : runs) {
    if (!before) break;
    const auto logs = [&](const std::string& id) {
      return engine::LogFolder(state, id, run.user.uid, run.id.job);
    };
    if (engine::MakeLogFolder(logs(jobs.Id()))) {
      (void)::rename(logs(before->id).c_str(), logs(jobs.Id()).c_str());
    }
  }
  return {};
}

Result<std::string> SealKey(const std::string& state) {
  const std::string path = state + kKeyFile;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 && errno == ENOENT) return MakeKey(path);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    return core::FailedError(
        "{}: others may read or write it, and who has this key can make the server run any command "
        "as root; remove it and a new one is made (jobs that wait are then held until root "
        "releases them), or, where nobody has seen it, chown root and chmod 600 it",
        path);
  }
  std::string key;
  std::getline(std::ifstream(path), key);
  // A server that was killed while it made the key leaves an empty file: nothing was sealed yet.
  if (key.empty() && status.st_size == 0) return MakeKey(path);
  if (key.size() != 2 * kKeyBytes || key.find_first_not_of("0123456789abcdef") != key.npos) {
    return core::FailedError(
        "{}: is no key; put the right file back, or remove it and a new one is made (jobs that "
        "wait are then held until root releases them)",
        path);
  }
  return key;
}

}  // namespace sharewell::server
