// Accounting, limits and prices of GPUs, and what is set for partitions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/slurm/read/slurm_words.h"
#include "engine/slurm/site/conf_nodes.h"
#include "engine/slurm/site/site_check.h"

namespace sharewell::engine {
namespace {

constexpr std::int64_t kMostGpusOfLimit = 1'000'000'000'000;

bool ListHasWord(std::string_view list, std::string_view word) {
  const auto all = SplitAtCommas(list);
  return std::any_of(all.begin(), all.end(),
                     [&](std::string_view one) { return SameConfWord(one, word); });
}

class AccountChecker {
 public:
  explicit AccountChecker(const SlurmSite& site) : site_(site) {}

  std::vector<SiteFinding> Check() {
    const std::string tres = SiteSettingOf(site_, "AccountingStorageTRES");
    const bool database =
        SiteSettingOf(site_, "AccountingStorageType") == "accounting_storage/slurmdbd";
    if (!database) {
      CheckWithout(tres);
      return std::move(findings_);
    }
    Add(SiteState::kGood, "accounting", "slurmdbd keeps what ended", "");
    if (!ListHasWord(tres, "gres/gpu") || !ListHasWord(tres, "gres/shard")) {
      Add(SiteState::kMissing, "TRES",
          fmt::format("AccountingStorageTRES={} does not count both gres/gpu and gres/shard: no "
                      "limit, price or fair share sees the GPUs of a placed job",
                      tres),
          InstallCommand(site_) + " writes them; restart slurmctld then");
    } else {
      Add(SiteState::kGood, "TRES", "GPUs and their shards are counted", "");
    }
    if (site_.reached && !site_.limits) {
      Add(SiteState::kNote, "limits", "sacctmgr does not answer here: limits were not looked at",
          "sacctmgr show qos");
    }
    if (site_.limits) {
      for (const SlurmLimit& limit : *site_.limits) CheckLimit(limit);
    }
    for (const auto& [name, settings] : site_.partitions) CheckWeights(name, settings);
    return std::move(findings_);
  }

 private:
  void Add(SiteState state, std::string name, std::string what, std::string mend) {
    findings_.push_back({state, std::move(name), std::move(what), std::move(mend)});
  }

  void CheckWithout(const std::string& tres) {
    if (LowerConf(tres).find("gres/") != std::string::npos) {
      Add(SiteState::kDeadly, "accounting",
          fmt::format("AccountingStorageTRES={} without slurmdbd: slurmctld does not start "
                      "(\"slurmdbd is required to run with TRES\")",
                      tres),
          "take gres/... out of AccountingStorageTRES in slurm.conf, or set "
          "AccountingStorageType=accounting_storage/slurmdbd");
    } else {
      Add(SiteState::kNote, "accounting",
          "there is no slurmdbd: jobs that ended are known for MinJobAge only, and sacct says "
          "nothing",
          "");
    }
  }

  // Limits that Slurm does not enforce are figures in a table.
  bool Enforced() const {
    const std::string enforce = SiteSettingOf(site_, "AccountingStorageEnforce");
    for (const char* word : {"limits", "safe", "all"}) {
      if (ListHasWord(enforce, word)) return true;
    }
    return false;
  }

  void CheckLimit(const SlurmLimit& limit) {
    const SiteState bad = Enforced() ? SiteState::kWrong : SiteState::kNote;
    const std::string name = fmt::format("{} of {}", limit.field, limit.of);
    const std::string set = "sacctmgr modify " + limit.modify + " set " + limit.field;
    const auto untyped = TresValue(limit.tres, "gres/gpu"), typed = TypedGpuValue(limit.tres),
               shards = TresValue(limit.tres, "gres/shard");
    const auto gpus = SlurmWhole(untyped ? *untyped : typed.value_or(""), kMostGpusOfLimit);
    if (!gpus) {
      Add(SiteState::kNote, name, limit.tres + " is not understood", "");
    } else if (limit.field == "MinTRES") {
      Add(bad, name,
          fmt::format("{}: a job that is held asks for no GPU, so that Slurm refuses it",
                      limit.tres),
          set + (untyped ? "=gres/gpu=-1" : "=gres/gpu:TYPE=-1"));
    } else if (!shards) {
      Add(bad, name,
          fmt::format("{} bounds no placed job; {} GPUs are {} shards{}", limit.tres, *gpus,
                      *gpus * 100,
                      untyped ? "" : ", of any model: shards are not counted by model"),
          fmt::format("{}=gres/shard={}", set, *gpus * 100));
    } else if (*shards != std::to_string(*gpus * 100)) {
      Add(SiteState::kNote, name,
          fmt::format("{}: {} GPUs are {} shards, and gres/shard is {}", limit.tres, *gpus,
                      *gpus * 100, *shards),
          fmt::format("{}=gres/shard={}", set, *gpus * 100));
    } else {
      Add(SiteState::kGood, name, fmt::format("{} GPUs are {} shards", *gpus, *shards), "");
    }
  }

  void CheckWeights(const std::string& name, const std::map<std::string, std::string>& settings) {
    if (!site_.asked_partition.empty() && name != site_.asked_partition) return;
    const auto found = settings.find("TRESBillingWeights");
    if (found == settings.end()) return;
    const std::string title = "billing of partition " + name;
    if (const auto missing = ShardWeightMissing(found->second)) {
      Add(SiteState::kWrong, title,
          fmt::format("TRESBillingWeights={}: a placed job is billed for no GPU", found->second),
          fmt::format("write TRESBillingWeights=\"{},{}\" into the line PartitionName={} ({} does "
                      "it), then scontrol reconfigure",
                      found->second, *missing, name, InstallCommand(site_)));
    } else if (TypedGpuValue(found->second) && !TresValue(found->second, "gres/shard")) {
      Add(SiteState::kWrong, title,
          fmt::format("TRESBillingWeights={}: it bills types of GPUs, which placed jobs do not "
                      "have",
                      found->second),
          "add GRES/shard=..., a hundredth of a GPU's weight, then scontrol reconfigure");
    } else if (TresValue(found->second, "gres/gpu")) {
      Add(SiteState::kGood, title, "shards have a weight beside GPUs", "");
    }
  }

  const SlurmSite& site_;
  std::vector<SiteFinding> findings_;
};

class PartitionChecker {
 public:
  explicit PartitionChecker(const SlurmSite& site) : site_(site) {}

  std::vector<SiteFinding> Check() {
    for (const auto& [name, settings] : site_.partitions) {
      if (!site_.asked_partition.empty() && name != site_.asked_partition) continue;
      CheckOne(name, settings);
    }
    CheckPreemption();
    CheckPrivacy();
    CheckSharedNodes();
    return std::move(findings_);
  }

 private:
  void Add(SiteState state, std::string name, std::string what, std::string mend) {
    findings_.push_back({state, std::move(name), std::move(what), std::move(mend)});
  }
  static std::string SettingIn(const std::map<std::string, std::string>& settings,
                               const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? "" : found->second;
  }

  void CheckOne(const std::string& name, const std::map<std::string, std::string>& settings) {
    if (LowerConf(SettingIn(settings, "OverSubscribe")) == "exclusive") {
      // Without a partition of ours it may be one that has no GPUs.
      Add(site_.asked_partition.empty() ? SiteState::kNote : SiteState::kWrong, "partition " + name,
          "OverSubscribe=EXCLUSIVE: each job gets whole nodes, so that nothing is shared",
          "take OverSubscribe=EXCLUSIVE out of the PartitionName line, then scontrol reconfigure");
    }
    if (LowerConf(SettingIn(settings, "ExclusiveUser")) == "yes") {
      Add(SiteState::kNote, "partition " + name,
          "ExclusiveUser=YES: jobs of different users never share a node", "");
    }
  }

  void CheckPreemption() {
    const std::string type = LowerConf(SiteSettingOf(site_, "PreemptType"));
    if (type.empty() || type == "preempt/none") return;
    Add(SiteState::kNote, "preemption",
        fmt::format("PreemptType={}: Slurm preempts for jobs that it starts itself; a job that is "
                    "held until it is placed preempts nobody, and a job of ours that is preempted "
                    "waits to be placed again",
                    type),
        "");
  }

  void CheckPrivacy() {
    const std::string data = SiteSettingOf(site_, "PrivateData");
    const bool jobs = ListHasWord(data, "jobs");
    if (!jobs && !ListHasWord(data, "usage")) return;
    if (jobs && !site_.serves_slurm) {
      Add(SiteState::kWrong, "PrivateData",
          fmt::format("PrivateData={}: user {} sees no job but its own, and could place no other",
                      data, site_.server_uid),
          "run sharewell serve as root or as SlurmUser");
    } else {
      Add(SiteState::kNote, "PrivateData",
          fmt::format("PrivateData={}: the server hides what Slurm hides; root, its own account, "
                      "its --admin-group and Slurm's operators see all",
                      data),
          "");
    }
  }

  void CheckSharedNodes() {
    if (site_.asked_partition.empty()) return;
    std::vector<std::string> shared, with;
    for (const SlurmNode& node : site_.nodes) {
      const auto gpus = site_.gpus.find(node.name);
      if (gpus == site_.gpus.end() || gpus->second == 0) continue;
      bool other = false;
      for (const std::string& partition : node.partitions) {
        if (partition == site_.asked_partition) continue;
        other = true;
        if (std::find(with.begin(), with.end(), partition) == with.end()) with.push_back(partition);
      }
      if (other) shared.push_back(node.name);
    }
    if (shared.empty()) return;
    Add(SiteState::kNote, "shared nodes",
        fmt::format("GPUs of {} are also of {}: jobs there start without being placed, beside "
                    "ours, and --gres=gpu:MODEL:1 is refused there (the types are g0, g1, ...; "
                    "--constraint=MODEL works)",
                    HostList(shared), fmt::join(with, ", ")),
        "");
  }

  const SlurmSite& site_;
  std::vector<SiteFinding> findings_;
};

}  // namespace

std::vector<SiteFinding> CheckSiteAccounts(const SlurmSite& site) {
  return AccountChecker(site).Check();
}

std::vector<SiteFinding> CheckSitePartitions(const SlurmSite& site) {
  return PartitionChecker(site).Check();
}

}  // namespace sharewell::engine
