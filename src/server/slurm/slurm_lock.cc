#include "server/slurm/slurm_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/text/quoted.h"
#include "engine/slurm/site/site_check.h"
#include "platform/clock/wall_clock.h"

namespace sharewell::server {
namespace {

constexpr core::Seconds kConfigLimit(20);

// What may stand in a file's name.
std::string LockName(std::string_view text) {
  std::string name(text);
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return name;
}

// Who wrote it when he took it.
std::string HolderIn(int file) {
  std::array<char, 512> text{};
  const ssize_t n = ::pread(file, text.data(), text.size(), 0);
  return n > 0 ? std::string(text.data(), static_cast<std::size_t>(n)) : "one that does not tell";
}

// Whoever may read such a file could lock it, and keep the server from starting. (Older versions
// made them for all to read.)
int OpenPrivate(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file >= 0) (void)::fchmod(file, 0600);
  return file;
}

// Made once for as long as the folder lasts, which is until the machine is started again. Empty: it
// cannot be.
std::string MachineName(const std::string& path) {
  constexpr std::size_t kDigits = 16;
  const int file = OpenPrivate(path);
  if (file < 0) return {};
  std::array<char, kDigits> name{};
  std::string found;
  if (::flock(file, LOCK_EX) == 0) {
    if (::pread(file, name.data(), name.size(), 0) != static_cast<ssize_t>(name.size())) {
      std::uint64_t chance = 0;
      const bool drawn = ::getrandom(&chance, sizeof chance, 0) == sizeof chance;
      const std::string made = fmt::format("{:016x}", chance);
      if (drawn && ::pwrite(file, made.data(), made.size(), 0) == kDigits) found = made;
    } else {
      found.assign(name.data(), name.size());
    }
  }
  ::close(file);
  return found;
}

}  // namespace

ClusterLock::~ClusterLock() {
  for (const int file : files_) ::close(file);
}

core::Result<ClusterLock> ClusterLock::Take(const std::string& folder, const std::string& cluster,
                                            const std::string& partition, const std::string& who) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return core::FailedError("cannot make {}: {}", core::Quoted(folder), std::strerror(errno));
  }
  ClusterLock lock;
  const std::string whole = fmt::format("{}/slurm-{}", folder, LockName(cluster));
  // Who has one partition shares the cluster with those who have others.
  std::vector<std::pair<std::string, int>> wanted = {
      {whole + ".lock", partition.empty() ? LOCK_EX : LOCK_SH}};
  if (!partition.empty()) {
    wanted.emplace_back(fmt::format("{}.{}.lock", whole, LockName(partition)), LOCK_EX);
  }
  for (const auto& [path, how] : wanted) {
    const int file = OpenPrivate(path);
    if (file < 0) {
      return core::FailedError("cannot open {}: {}", core::Quoted(path), std::strerror(errno));
    }
    lock.files_.push_back(file);
    if (::flock(file, how | LOCK_NB) != 0) {
      return core::FailedError(
          "another server places the jobs of this Slurm cluster already: {}; stop it first, or "
          "give "
          "each server a partition of its own (--partition)",
          HolderIn(file));
    }
    if (::ftruncate(file, 0) == 0) (void)!::pwrite(file, who.data(), who.size(), 0);
  }
  return lock;
}

engine::SlurmClaim ClaimHere(const std::string& partition, const std::string& host,
                             const std::string& store, const std::string& locks) {
  engine::SlurmClaim claim;
  claim.partition = partition;
  claim.host = host;
  claim.process = ::getpid();
  claim.store = store;
  claim.since = claim.beat = platform::UnixNow();
  if (::geteuid() == 0) claim.machine = MachineName(locks + "/machine");
  return claim;
}

core::Result<std::string> ClusterName(engine::SlurmDriver& driver) {
  const auto answer = driver.Run({"scontrol", "show", "config"}, "", kConfigLimit);
  RETURN_IF_ERROR(answer);
  auto settings = engine::ParseSlurmSettings(answer->output);
  const std::string name = settings["ClusterName"];
  if (answer->exit_code != 0 || name.empty()) {
    return core::FailedError("scontrol show config does not tell the cluster's name: {}",
                             answer->errors.empty() ? "it said nothing" : answer->errors);
  }
  return fmt::format("{}-{}-{}", name, settings["SlurmctldHost"], settings["SlurmctldPort"]);
}

}  // namespace sharewell::server
