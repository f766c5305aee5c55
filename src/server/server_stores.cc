// What a server keeps: whether others could change it, who else uses it, and how it is opened.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "engine/local/linux_runner.h"
#include "platform/files/trusted_path.h"
#include "server/server_parts.h"

namespace sharewell::server {

using core::Result;

namespace {

// It holds the environments of all users' jobs. One that is made anew is private (OpenSqlite); one
// of an older version, or that somebody opened up, is made so. True: others could read it till now.
bool KeepToOneself(const std::string& file) {
  bool open = false;
  for (const char* end : {"", "-wal", "-shm"}) {
    struct stat status {};
    const std::string path = file + end;
    if (::stat(path.c_str(), &status) != 0 || (status.st_mode & 077) == 0) continue;
    open = (status.st_mode & 044) != 0 || open;
    (void)::chmod(path.c_str(), 0600);
  }
  return open;
}

}  // namespace

// Whoever can change the store or the folders of jobs decides what runs as whom: for root that must
// be root alone.
Result<void> Server::Parts::CheckPlaces() const {
  if (::geteuid() != 0) return {};
  std::vector<std::string> places = {options.state};
  for (const char* name : {"/jobs", "/logs", "/mps", "/store", "/key"}) {
    places.push_back(options.state + name);
  }
  std::error_code error;  // what is not there is not planted there
  std::filesystem::directory_iterator run(options.state + "/jobs", error);
  for (; !error && run != std::filesystem::directory_iterator(); run.increment(error)) {
    places.push_back(run->path().string());
  }
  if (options.store.find("://") == std::string::npos) {
    places.push_back(std::filesystem::path(options.store).parent_path().string());
    for (const char* end : {"", "-wal", "-shm", "-journal", "-reserve", "-server"}) {
      places.push_back(options.store + end);
    }
  }
  for (const std::string& place : places) {
    auto ours = platform::OnlyRootMayChange(place);
    if (ours) continue;
    return core::FailedError(
        "{}: whoever may change it could make the server run any command as root; name folders "
        "that root alone may write (--state DIR, --store DIR/store.db), or look at what lies there "
        "and then chown root and chmod go-w it",
        ours.error().message);
  }
  return {};
}

Result<void> Server::Parts::OpenStores() {
  if (auto ok = CheckPlaces(); !ok) return ok;
  namespace fs = std::filesystem;
  std::error_code ignored;  // opening it will say what is wrong
  const bool file = options.store.find("://") == std::string::npos;
  if (file && !fs::exists(options.store, ignored)) {
    if (auto free = engine::LinuxRunner::FolderIsFree(options.state); !free) return free;
  }
  const fs::path folder = file ? fs::path(options.store).parent_path() : fs::path();
  if (file && folder != store::DefaultFolder() && !fs::is_directory(folder, ignored)) {
    return core::UsageError("{}: there is no folder {}; make it (mkdir -p), or name another store",
                            options.store, core::Quoted(folder.string()));
  }
  fs::create_directories(options.state, ignored);
  if (file) fs::create_directories(folder, ignored);
  // Again, now that they are there: in /tmp somebody else may have been quicker.
  if (auto ok = CheckPlaces(); !ok) return ok;
  if (file && KeepToOneself(options.store)) {
    options.log(fmt::format(
        "others could read {0} till now. It is private from here on, but whoever holds it open can "
        "still read it. To end that, stop the server and run: (umask 077; sqlite3 {0} \"VACUUM "
        "INTO "
        "'{0}.new'\") && rm -f {0}-wal {0}-shm && mv {0}.new {0}",
        options.store));
  }
  if (::geteuid() == 0) {
    auto own = SealKey(options.state);
    RETURN_IF_ERROR(own);
    key = std::move(*own);
  }
  auto opened = store::OpenJobs(options.store, key);
  RETURN_IF_ERROR(opened);
  jobs = std::move(*opened);
  if (auto alone = jobs->BecomeServer(); !alone) return alone;
  if (auto free = engine::LinuxRunner::FolderIsFree(options.state); !free) return free;
  if (auto ours = ClaimState(); !ours) return ours;
  auto second = store::Open(options.store);
  RETURN_IF_ERROR(second);
  profiles = std::move(*second);
  return {};
}

// Numbers start again in every store: the runs of another one are not this one's jobs.
Result<void> Server::Parts::ClaimState() {
  const auto others = RunsOfOthers(options.state, *jobs);
  RETURN_IF_ERROR(others);
  if (!others->empty() && options.runs == OtherRuns::kRefuse) {
    return tl::unexpected(RefusalOf(options.state, *others));
  }
  if (!others->empty() && options.runs == OtherRuns::kEnd) {
    end_runs = true;  // by the runner, once there is one
    return {};
  }
  if (!others->empty()) {
    RETURN_IF_ERROR(AdoptRuns(options.state, *others, *jobs));
  }
  const auto before = OwnerOf(options.state);
  if (before && before->id != jobs->Id()) {
    options.log(fmt::format("{} was used with another store before ({}); its logs are kept apart",
                            options.state, before->place));
  }
  return SetOwner(options.state, Owner());
}

}  // namespace sharewell::server
