// Modes and owners: store, state folder, socket, settings, and what runs as root on the nodes of a
// Slurm cluster.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/commands/security/security_checks.h"
#include "platform/files/text.h"
#include "platform/files/trusted_path.h"
#include "platform/process/user_account.h"
#include "store/postgres/password.h"

namespace sharewell::cli {
namespace {

using measure::Standing;

constexpr mode_t kPrivate = 077, kOthersWrite = 022;

std::string NameOf(uid_t uid) {
  const auto account = platform::UserWithUid(uid);
  return account ? account->name : fmt::format("the user with uid {}", uid);
}

// Whoever may change a folder above may put another in its place.
void CheckAbove(const Installation& where, const std::string& path, SecurityRows& rows) {
  if (where.owner != 0 || ::geteuid() != 0) return;
  const std::string folder = where.At(path);
  const auto only = platform::OnlyRootMayChange(folder);
  if (only) return;
  rows.push_back({"files", "folders above", Standing::kWrong,
                  fmt::format("{}: whoever may change it could make the server run any command as "
                              "root",
                              only.error().message),
                  fmt::format("namei -l {0}; then chown root and chmod go-w each folder on the way",
                              ShellWord(folder))});
}

void CheckStore(const Installation& where, SecurityRows& rows) {
  if (!where.store_is_file()) {
    rows.push_back(
        {"files", "store", Standing::kGood, "a database: its own users and rights protect it", ""});
    return;
  }
  for (const char* end : {"", "-wal", "-shm", "-journal", "-reserve", "-server"}) {
    CheckPlace(where, {"files", std::string("store") + end, where.store + end, kPrivate, "600"},
               rows);
  }
}

// A database's address with a password in it.
bool HasPassword(const std::string& text) {
  for (const std::string_view line : platform::SplitList(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (!line.starts_with('#') && equals != line.npos &&
        store::HoldsPassword(line.substr(equals + 1))) {
      return true;
    }
  }
  return false;
}

void CheckSocket(const Installation& where, SecurityRows& rows) {
  const std::string folder = std::filesystem::path(where.socket).parent_path().string();
  // A socket in a user's own state folder was looked at with that.
  if (folder != where.state) CheckPlace(where, {"files", "socket's folder", folder}, rows);
  // Root's is everybody's: the kernel says who each one is. A user's own is theirs alone.
  const bool everybodys = where.owner == 0;
  CheckPlace(where,
             {"files", "socket", where.socket, everybodys ? mode_t{0} : kPrivate,
              everybodys ? "666" : "600"},
             rows);
}

}  // namespace

bool CheckPlace(const Installation& where, const PlaceCheck& check, SecurityRows& rows) {
  const std::string path = where.At(check.path);
  const uid_t owner = check.of_root && ::geteuid() == 0 ? 0 : where.owner;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    rows.push_back({check.section, check.name, Standing::kNote,
                    fmt::format("{} cannot be looked at: {}", path, std::strerror(errno)),
                    "sudo sharewell doctor --security"});
    return true;
  }
  std::string what, mend;
  const std::string word = ShellWord(path);
  if (status.st_uid != owner) {
    what = fmt::format("{} belongs to {}, not to {}", path, NameOf(status.st_uid), NameOf(owner));
    mend = fmt::format("chown {} {}", owner == 0 ? "root" : std::to_string(owner), word);
  }
  if (const mode_t open = status.st_mode & check.forbidden; open != 0) {
    what += fmt::format("{}{} {} it (mode {:04o})", what.empty() ? path + ": " : ", and ",
                        (open & 07) != 0 ? "every user may" : "its group may",
                        (open & 022) != 0 ? "change" : "read", status.st_mode & 07777);
    mend += fmt::format("{}chmod {} {}", mend.empty() ? "" : " && ", check.mode, word);
  }
  if (what.empty()) {
    rows.push_back(
        {check.section, check.name, Standing::kGood,
         fmt::format("{}: {}'s, mode {:04o}", path, NameOf(status.st_uid), status.st_mode & 07777),
         ""});
  } else {
    rows.push_back({check.section, check.name, Standing::kWrong, what, mend});
  }
  return true;
}

void CheckFiles(const Installation& where, SecurityRows& rows) {
  if (!CheckPlace(where, {"files", "state folder", where.state}, rows)) {
    rows.push_back({"files", "state folder", Standing::kNote,
                    fmt::format("there is no {}: no server has run here", where.At(where.state)),
                    ""});
  }
  CheckAbove(where, where.state, rows);
  CheckStore(where, rows);
  for (const char* name : {"key", "tokens", "tokens.lock", "store"}) {
    const bool secret = std::string_view(name) != "store";
    CheckPlace(where,
               {"files", secret ? name : "store's name", where.state + "/" + name,
                secret ? kPrivate : kOthersWrite, secret ? "600" : "go-w"},
               rows);
  }
  CheckPlace(where, {"files", "logs", where.state + "/logs", kPrivate, "700"}, rows);
  CheckPlace(where, {"files", "jobs", where.state + "/jobs"}, rows);
  CheckSocket(where, rows);
  CheckPlace(where, {"files", "settings", where.config}, rows);
  if (where.defaults.empty()) return;
  const bool password = HasPassword(TextOf(where.At(where.defaults)));
  CheckPlace(where,
             {"files", "units' settings", where.defaults, password ? kPrivate : kOthersWrite,
              password ? "600" : "go-w"},
             rows);
}

void CheckAgents(const Installation& where, SecurityRows& rows) {
  if (where.defaults.empty()) return;  // a user's own server has no agents of root's
  constexpr const char* kSteps = "/var/lib/sharewell-steps";
  bool slurm = false;
  for (const char* name :
       {"sharewell-prolog", "sharewell-epilog", "sharewell-task-prolog", "sharewell-watchdog",
        "sharewell-slurm.conf", "job_submit.lua", "sharewell.lua"}) {
    // Slurm runs these as root, or lets them say what users may do.
    slurm = CheckPlace(where,
                       {.section = "agents",
                        .name = name,
                        .path = std::string("/etc/slurm/") + name,
                        .of_root = true},
                       rows) ||
            slurm;
  }
  CheckPlace(where,
             {.section = "agents",
              .name = "watchdog's cron",
              .path = "/etc/cron.d/sharewell",
              .of_root = true},
             rows);
  const bool steps = CheckPlace(
      where, {.section = "agents", .name = "steps", .path = kSteps, .of_root = true}, rows);
  if (slurm && !steps) {
    rows.push_back({"agents", "steps", Standing::kWrong,
                    fmt::format("there is no {}: Slurm's jobs cannot tell of their steps until the "
                                "first prolog makes it",
                                where.At(kSteps)),
                    fmt::format("install -d -m 755 {}", ShellWord(where.At(kSteps)))});
  }
  struct stat status {};
  const std::string before = where.At("/var/tmp/sharewell-steps");
  if (::lstat(before.c_str(), &status) == 0) {
    rows.push_back({"agents", "old steps", Standing::kNote,
                    fmt::format("{} is of an older version; nobody reads it any more", before),
                    fmt::format("rm -rf {}", ShellWord(before))});
  }
  for (const char* path : {"/run/sharewell-mps", "/var/lib/sharewell-monitor"}) {
    const bool agents = std::string_view(path).ends_with("monitor");
    // The package's agent has an account of its own, which owns its store.
    if (agents && ::stat(where.At(path).c_str(), &status) == 0) {
      const auto account = platform::UserNamed("sharewell");
      if (account && status.st_uid == account->uid && (status.st_mode & 022) == 0) {
        rows.push_back(
            {"agents", "agent's folder", Standing::kGood,
             fmt::format("{}: sharewell's, mode {:04o}", where.At(path), status.st_mode & 07777),
             ""});
        continue;
      }
    }
    CheckPlace(where,
               {.section = "agents",
                .name = agents ? "agent's folder" : "MPS",
                .path = path,
                .of_root = true},
               rows);
  }
}

SecurityRows ExamineSecurity(const Installation& installation, core::UnixMillis now) {
  SecurityRows rows;
  CheckFiles(installation, rows);
  CheckUnits(installation, rows);
  CheckAccess(installation, now, rows);
  CheckAgents(installation, rows);
  return rows;
}

}  // namespace sharewell::cli
