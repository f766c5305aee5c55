// systemd units as they are installed: what each may do and take.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/commands/security/security_checks.h"
#include "platform/files/text.h"
#include "platform/files/unit_file.h"

namespace sharewell::cli {
namespace {

namespace fs = std::filesystem;
using measure::Standing;

// In the order in which they count.
constexpr const char* kUnitFolders[] = {"/etc/systemd/system", "/run/systemd/system",
                                        "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                        "/lib/systemd/system"};
// What an agent reads with: figures of others' processes, and counters.
constexpr std::string_view kAgentsCapabilities[] = {"CAP_DAC_READ_SEARCH", "CAP_PERFMON",
                                                    "CAP_SYS_PTRACE"};

struct Unit {
  std::string name;
  std::vector<std::string> files;               // below the root
  std::map<std::string, std::string> settings;  // of [Service]; several of one key with blanks
};

Unit FindUnit(const Installation& where, const std::string& name) {
  Unit unit{name, {}, {}};
  std::map<std::string, std::string> more;  // drop-ins by name: the first folder's counts
  std::error_code error;
  std::set<std::string> seen;  // /lib may be a link to /usr/lib
  for (const char* folder : kUnitFolders) {
    const std::string path = std::string(folder) + "/" + name;
    if (!seen.insert(fs::weakly_canonical(where.At(folder), error).string()).second) continue;
    if (unit.files.empty() && fs::is_regular_file(where.At(path), error)) {
      unit.files.push_back(path);
    }
    fs::directory_iterator entry(where.At(path + ".d"), error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      const std::string part = entry->path().filename().string();
      if (part.ends_with(".conf")) more.emplace(part, path + ".d/" + part);
    }
  }
  if (unit.files.empty()) return unit;
  for (const auto& [part, path] : more) unit.files.push_back(path);
  for (const std::string& path : unit.files) {
    platform::ReadUnitSettings(TextOf(where.At(path)), unit.settings);
  }
  return unit;
}

std::string Setting(const Unit& unit, const char* key) {
  const auto found = unit.settings.find(key);
  return found == unit.settings.end() ? "" : found->second;
}

// A file beside the unit, so that an upgrade keeps it.
std::string Add(const Installation& where, const Unit& unit, const std::string& setting) {
  const std::string folder = where.At("/etc/systemd/system/" + unit.name + ".d");
  return fmt::format(
      "mkdir -p {0} && printf '[Service]\\n{1}\\n' >> {0}/security.conf && systemctl daemon-reload "
      "&& systemctl restart {2}",
      ShellWord(folder), setting, unit.name);
}

struct Wanted {
  const char* key;
  std::string value;  // that the cure gives, as printf has it
  const char* why;    // what happens without it
};

void CheckSetting(const Installation& where, const Unit& unit, const Wanted& wanted,
                  SecurityRows& rows) {
  const std::string has = Setting(unit, wanted.key);
  const bool given =
      !has.empty() && has != "no" && has != "false" && has != "0" && has != "infinity";
  const std::string name =
      fmt::format("{} {}", unit.name.substr(0, unit.name.find('.')), wanted.key);
  if (given) {
    rows.push_back({"units", name, Standing::kGood, fmt::format("{}={}", wanted.key, has), ""});
    return;
  }
  rows.push_back({"units", name, Standing::kWrong,
                  fmt::format("{} has no {}: {}", unit.name, wanted.key, wanted.why),
                  Add(where, unit, fmt::format("{}={}", wanted.key, wanted.value))});
}

void CheckCapabilities(const Installation& where, const Unit& unit, SecurityRows& rows) {
  const std::string set = Setting(unit, "CapabilityBoundingSet");
  std::string wide;
  for (const std::string_view word : platform::SplitList(set, ' ')) {
    const bool known = std::find(std::begin(kAgentsCapabilities), std::end(kAgentsCapabilities),
                                 word) != std::end(kAgentsCapabilities);
    if (!known) wide += fmt::format("{}{}", wide.empty() ? "" : " ", word);
  }
  const std::string user = Setting(unit, "User");
  if (!set.empty() && wide.empty()) {
    rows.push_back({"units", "agent's rights", Standing::kGood,
                    fmt::format("runs as {} and may at most {}", user.empty() ? "root" : user, set),
                    ""});
    return;
  }
  rows.push_back(
      {"units", "agent's rights", Standing::kWrong,
       set.empty()
           ? fmt::format("{} has no CapabilityBoundingSet: the agent may do all that {} may",
                         unit.name, user.empty() ? "root" : user)
           : fmt::format("{} gives the agent more than it reads with: {}", unit.name, wide),
       Add(where, unit,
           fmt::format("CapabilityBoundingSet=\\nCapabilityBoundingSet={}",
                       fmt::join(kAgentsCapabilities, " ")))});
}

}  // namespace

void CheckUnits(const Installation& where, SecurityRows& rows) {
  if (where.defaults.empty()) return;  // a user's own server has no unit of the system's
  const Unit server = FindUnit(where, "sharewell.service");
  const Unit agent = FindUnit(where, "sharewell-monitor.service");
  if (server.files.empty() && agent.files.empty()) {
    rows.push_back(
        {"units", "systemd", Standing::kNote, "no unit of Sharewell's is installed", ""});
    return;
  }
  for (const Unit* unit : {&server, &agent}) {
    for (const std::string& file : unit->files) {
      CheckPlace(where,
                 {.section = "units",
                  .name = fs::path(file).filename().string(),
                  .path = file,
                  .of_root = true},
                 rows);
    }
  }
  if (!server.files.empty()) {
    const std::string user = Setting(server, "User");
    rows.push_back({"units", "sharewell User", Standing::kGood,
                    user.empty() || user == "root"
                        ? "runs as root, so that each job runs as its own user"
                        : fmt::format("runs as {}, and takes that user's jobs alone", user),
                    ""});
  }
  if (!agent.files.empty()) {
    CheckCapabilities(where, agent, rows);
    CheckSetting(where, agent,
                 {"NoNewPrivileges", "yes", "a program that it starts could gain privileges"},
                 rows);
    CheckSetting(where, agent, {"ProtectSystem", "strict", "it could write system files"}, rows);
    CheckSetting(where, agent, {"MemoryMax", "192M", "it could take the memory that it measures"},
                 rows);
  }
}

}  // namespace sharewell::cli
