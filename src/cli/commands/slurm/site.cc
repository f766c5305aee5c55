#include "cli/commands/slurm/site.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/text/quoted.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::cli {
namespace {

constexpr core::Seconds kSiteLimit{10};
constexpr std::size_t kMostSiteFile = std::size_t{16} << 20;
constexpr std::array<const char*, 2> kUsualConf = {"/etc/slurm/slurm.conf",
                                                   "/etc/slurm-llnl/slurm.conf"};

std::string SiteFileText(const std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::is_regular_file(path, error)) return "";
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  std::string text = std::move(out).str();
  return text.size() > kMostSiteFile ? "" : text;
}

// What a command of Slurm's printed, or why it did not.
core::Result<std::string> AskSlurm(engine::SlurmDriver& driver,
                                   const std::vector<std::string>& words) {
  const auto answer = driver.Run(words, "", kSiteLimit);
  RETURN_IF_ERROR(answer);
  if (answer->exit_code != 0) {
    std::string said = answer->errors.empty() ? answer->output : answer->errors;
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return core::FailedError("{}", said);
  }
  return answer->output;
}

engine::DeviceKind KindOfDevice(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return engine::DeviceKind::kUnknown;
  if (!S_ISCHR(about.st_mode)) return engine::DeviceKind::kOther;
  const bool null = major(about.st_rdev) == 1 && minor(about.st_rdev) == 3;
  return null ? engine::DeviceKind::kNull : engine::DeviceKind::kCharacter;
}

std::string UsualConf() {
  const char* given = std::getenv("SLURM_CONF");
  if (given != nullptr && *given != '\0') return given;
  std::error_code error;
  for (const char* path : kUsualConf) {
    if (std::filesystem::exists(path, error)) return path;
  }
  return kUsualConf[0];
}

// "Nodes" of the partition's line are those with the partition's name in them.
void TakeNodes(engine::SlurmDriver& driver, const std::string& partition, engine::SlurmSite& site) {
  const auto text = AskSlurm(driver, engine::NodesCommand());
  if (!text) return;
  auto nodes = engine::ParseNodes(*text);
  if (!nodes) return;
  for (engine::SlurmNode& node : *nodes) {
    const auto& its = node.partitions;
    if (!partition.empty() && std::find(its.begin(), its.end(), partition) == its.end()) continue;
    site.gpus[node.name] = static_cast<int>(node.slots.size()) + node.other_gpus;
    site.nodes.push_back(std::move(node));
  }
}

std::optional<std::string> TextOfConf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  return SiteFileText(path);
}

void TakeFiles(engine::SlurmSite& site) {
  const std::string folder = std::filesystem::path(site.conf).parent_path().string();
  auto slurm = engine::ReadConf(site.conf, TextOfConf);
  auto gres = engine::ReadConf(folder + "/gres.conf", [&](const std::string& path) {
    const auto text = TextOfConf(path);
    // One that is not there has no lines.
    return text || path != folder + "/gres.conf" ? text : std::optional<std::string>("");
  });
  if (slurm) site.slurm = std::move(*slurm);
  if (gres) site.gres = std::move(*gres);
  if (!slurm) {
    site.unreadable = slurm.error().message;
  } else if (!gres) {
    site.unreadable = gres.error().message;
  }
  site.lua = SiteFileText(folder + "/job_submit.lua");
  if (site.config.empty()) site.config = engine::SettingsOf(site.slurm);
  site.prolog = SiteFileText(engine::SiteSettingOf(site, "Prolog"));
  site.epilog = SiteFileText(engine::SiteSettingOf(site, "Epilog"));
  site.task_prolog = SiteFileText(engine::SiteSettingOf(site, "TaskProlog"));
  for (const engine::GresLine& line : engine::GresLinesOf(site.gres)) {
    for (const std::string& file : line.files) site.devices[file] = KindOfDevice(file);
  }
  const char* cron = std::getenv("SHAREWELL_CRON");
  site.watchdog =
      SiteFileText(cron != nullptr ? cron : "/etc/cron.d/sharewell").find("sharewell-watchdog") !=
      std::string::npos;
}

void TakePartitions(engine::SlurmDriver& driver, engine::SlurmSite& site) {
  const auto shown = AskSlurm(driver, engine::PartitionsCommand());
  if (!shown) return;
  std::istringstream lines(*shown);
  for (std::string line; std::getline(lines, line);) {
    std::replace(line.begin(), line.end(), ' ', '\n');
    auto settings = engine::ParseSlurmSettings(line);
    const std::string name = settings["PartitionName"];
    if (!name.empty()) site.partitions[name] = std::move(settings);
  }
}

// Of QOS and of this cluster's associations; left absent where sacctmgr does not say.
void TakeLimits(engine::SlurmDriver& driver, engine::SlurmSite& site) {
  if (engine::SiteSettingOf(site, "AccountingStorageType") != "accounting_storage/slurmdbd") return;
  const auto qos = AskSlurm(driver, engine::QosLimitsCommand());
  const auto associations = AskSlurm(
      driver, engine::AssociationLimitsCommand(engine::SiteSettingOf(site, "ClusterName")));
  if (!qos || !associations) return;
  auto limits = engine::ParseQosLimits(*qos);
  const auto more = engine::ParseAssociationLimits(*associations);
  if (!limits || !more) return;
  limits->insert(limits->end(), more->begin(), more->end());
  site.limits = std::move(*limits);
}

}  // namespace

engine::SlurmSite FindSlurmSite(engine::SlurmDriver& driver, const std::string& partition) {
  engine::SlurmSite site;
  site.server_uid = ::geteuid();
  site.asked_partition = partition;
  site.conf = UsualConf();
  // Slurm's commands would wait a minute for a file that is not there.
  if (SiteFileText(site.conf).empty()) return site;
  const auto config = AskSlurm(driver, {"scontrol", "show", "config"});
  if (config) {
    site.reached = true;
    site.config = engine::ParseSlurmSettings(*config);
    if (const std::string conf = engine::SiteSettingOf(site, "SLURM_CONF"); !conf.empty()) {
      site.conf = conf;
    }
    const std::string slurm_user = engine::SiteSettingOf(site, "SlurmUser");  // "slurm(64030)"
    site.serves_slurm =
        site.server_uid == 0 || slurm_user.ends_with("(" + std::to_string(site.server_uid) + ")");
    TakeNodes(driver, partition, site);
    TakePartitions(driver, site);
    TakeLimits(driver, site);
  } else {
    site.unreached = config.error().message;
  }
  TakeFiles(site);
  return site;
}

}  // namespace sharewell::cli
