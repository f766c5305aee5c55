#include "engine/slurm/site/site_check.h"

#include <gtest/gtest.h>

namespace sharewell::engine {
namespace {

bool KnowsV100(const std::string& feature) { return feature == "V100"; }

ConfText ConfOf(const std::string& path, const std::string& text) {
  auto conf = ReadConf(path, [&](const std::string&) { return std::optional<std::string>(text); });
  EXPECT_TRUE(conf) << (conf ? "" : conf.error().message);
  return conf ? *conf : ConfText();
}
ConfText GresOf(const std::string& text) { return ConfOf("/etc/slurm/gres.conf", text); }

// A site where nothing is missing.
SlurmSite ReadySite() {
  SlurmSite site;
  site.reached = site.watchdog = true;
  site.slurm = ConfOf("/etc/slurm/slurm.conf",
                      "NodeName=n1 Gres=gpu:g0:1,gpu:g1:1,shard:g0:100,shard:g1:100\n");
  site.conf = "/etc/slurm/slurm.conf";
  site.config = ParseSlurmSettings(
      "Configuration data as of 2026-11-16T12:52:08\n"
      "AccountingStorageTRES   = cpu,mem,energy,node,billing,gres/gpu,gres/shard\n"
      "AccountingStorageEnforce = associations,limits\n"
      "AccountingStorageType   = accounting_storage/slurmdbd\n"
      "SLURM_VERSION           = 24.11.5\n"
      "SelectType              = select/cons_tres\n"
      "SelectTypeParameters    = CR_CORE_MEMORY\n"
      "GresTypes               = gpu,shard\n"
      "SchedulerType           = sched/backfill\n"
      "JobRequeue              = 1\n"
      "MinJobAge               = 300 sec\n"
      "JobSubmitPlugins        = lua\n"
      "Prolog                  = /etc/slurm/sharewell-prolog\n"
      "Epilog                  = /etc/slurm/sharewell-epilog\n"
      "TaskProlog              = /etc/slurm/sharewell-task-prolog\n");
  site.lua = "-- sharewell-rules-3\nlocal SCHEDULERS = { [0] = true }\n\"sharewell1 \"";
  site.prolog = site.epilog = site.task_prolog = "# Sharewell's";
  SlurmNode node;
  node.name = "n1";
  node.slots = {"g0", "g1"};
  node.features = {"V100"};
  site.nodes = {node};
  site.gpus = {{"n1", 2}};
  site.gres = GresOf("NodeName=n1 Name=gpu Type=g0 File=/dev/nvidia0\n");
  site.limits.emplace();
  site.devices = {{"/dev/nvidia0", DeviceKind::kCharacter}};
  return site;
}

// The finding of that name which is not good; a test fails where there is none.
SiteFinding BadOne(const SlurmSite& site, const std::string& name) {
  const auto findings = CheckSlurmSite(site, KnowsV100);
  for (const SiteFinding& finding : findings) {
    if (finding.name == name && finding.state != SiteState::kGood) {
      EXPECT_EQ(IsReady(findings), finding.state == SiteState::kNote);
      return finding;
    }
  }
  ADD_FAILURE() << "nothing is wrong with " << name;
  return {};
}

TEST(SiteCheck, ASiteThatHasAllIsReady) {
  const auto findings = CheckSlurmSite(ReadySite(), KnowsV100);
  for (const SiteFinding& finding : findings) {
    EXPECT_EQ(finding.state, SiteState::kGood) << finding.name << ": " << finding.what;
    EXPECT_EQ(finding.mend, "");
  }
  EXPECT_TRUE(IsReady(findings));
}

TEST(SiteCheck, EveryBadFindingSaysHowToMendIt) {
  SlurmSite site = ReadySite();
  site.config = {{"SelectType", "select/linear"}, {"AccountingStorageTRES", "gres/gpu"}};
  site.nodes.clear();
  site.watchdog = false;
  int bad = 0;
  for (const SiteFinding& finding : CheckSlurmSite(site, KnowsV100)) {
    if (finding.state <= SiteState::kNote) continue;
    ++bad;
    EXPECT_NE(finding.mend, "") << finding.name;
    EXPECT_NE(finding.what, "") << finding.name;
  }
  EXPECT_EQ(bad, 9);
}

TEST(SiteCheck, TresOfGpusWithoutTheDatabaseKillsSlurmctld) {
  SlurmSite site = ReadySite();
  site.config["AccountingStorageTRES"] = "cpu,gres/gpu";
  site.config["AccountingStorageType"] = "accounting_storage/none";
  EXPECT_EQ(BadOne(site, "accounting").state, SiteState::kDeadly);
  // Then slurmctld is down, and slurm.conf is all there is.
  site.reached = false;
  site.unreached = "Unable to contact slurm controller";
  EXPECT_EQ(BadOne(site, "accounting").state, SiteState::kDeadly);
  EXPECT_NE(BadOne(site, "slurmctld").what.find("Unable to contact"), std::string::npos);
}

TEST(SiteCheck, AMissingConfigurationIsSaidAndNothingElse) {
  SlurmSite site;
  site.conf = "/nowhere/slurm.conf";
  const auto findings = CheckSlurmSite(site, KnowsV100);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings[0].what.find("/nowhere/slurm.conf"), std::string::npos);
  EXPECT_TRUE(findings[0].mend.starts_with("export SLURM_CONF=FILE, ")) << findings[0].mend;
}

TEST(SiteCheck, DevicesAreCharacterDevicesWithANumberOfTheirOwn) {
  SlurmSite site = ReadySite();
  site.devices["/dev/nvidia0"] = DeviceKind::kOther;
  EXPECT_NE(BadOne(site, "device /dev/nvidia0").what.find("CUDA_VISIBLE_DEVICES"),
            std::string::npos);
  site.devices["/dev/nvidia0"] = DeviceKind::kNull;
  EXPECT_NE(BadOne(site, "device /dev/nvidia0").what.find("/dev/null"), std::string::npos);
  site.gres = GresOf("Name=gpu Type=g0 File=/dev/gpu\n");
  EXPECT_NE(BadOne(site, "device /dev/gpu").what.find("number"), std::string::npos);
  // A node's devices are not on this machine.
  site = ReadySite();
  site.devices.clear();
  EXPECT_TRUE(IsReady(CheckSlurmSite(site, KnowsV100)));
}

TEST(SiteCheck, SlotsAreNamedAlikeOnEveryNodeAndCoverAllItsGpus) {
  SlurmSite site = ReadySite();
  site.nodes[0].slots = {"v0", "v1"};
  EXPECT_NE(BadOne(site, "slots").what.find("BadConstraints"), std::string::npos);
  site = ReadySite();
  site.nodes[0].other_gpus = 1;
  EXPECT_EQ(BadOne(site, "slots").state, SiteState::kWrong);
  site = ReadySite();
  site.nodes[0].slots.clear();
  EXPECT_EQ(BadOne(site, "shards").state, SiteState::kMissing);
  // Beside a node that has slots, one without is left to Slurm.
  site.slurm = ConfText();
  site.nodes.push_back(ReadySite().nodes[0]);
  site.nodes[1].name = "n2";
  site.gpus["n2"] = 2;
  EXPECT_EQ(BadOne(site, "shards").state, SiteState::kNote);
}

TEST(SiteCheck, ANodeWhoseModelIsNotKnownIsNamed) {
  SlurmSite site = ReadySite();
  site.nodes[0].features = {"fast"};
  EXPECT_NE(BadOne(site, "GPU model").what.find("n1"), std::string::npos);
}

TEST(SiteCheck, ANodeThatSlurmRefusesIsSaidWithItsReason) {
  SlurmSite site = ReadySite();
  site.nodes[0].states = {"IDLE", "INVALID_REG"};
  site.nodes[0].reason = "gres/shard count too low (0 < 100)";
  EXPECT_NE(BadOne(site, "node n1").what.find("too low"), std::string::npos);
}

TEST(SiteCheck, ThePluginMustBeThereAndOurs) {
  SlurmSite site = ReadySite();
  site.lua.clear();
  EXPECT_EQ(BadOne(site, "job_submit.lua").state, SiteState::kDeadly);
  site.lua = "function slurm_job_submit() end";
  EXPECT_EQ(BadOne(site, "job_submit.lua").state, SiteState::kMissing);
  site = ReadySite();
  site.lua.erase(0, site.lua.find('\n'));
  EXPECT_NE(BadOne(site, "job_submit.lua").what.find("of an older version"), std::string::npos);
  site = ReadySite();
  site.prolog = "#!/bin/bash\n# Sharewell's Prolog: runs as root\n";
  EXPECT_EQ(BadOne(site, "Prolog").state, SiteState::kWrong);
  site.prolog += "# sharewell-rules-2\n";
  EXPECT_TRUE(IsReady(CheckSlurmSite(site, KnowsV100)));
  site = ReadySite();
  site.server_uid = 990;
  EXPECT_NE(BadOne(site, "job_submit.lua").mend.find("[990] = true"), std::string::npos);
  site.config["JobSubmitPlugins"] = "(null)";
  EXPECT_NE(BadOne(site, "job_submit.lua").mend.find("JobSubmitPlugins=lua"), std::string::npos);
}

TEST(SiteCheck, WhatBlocksSharingOrMovingIsWrong) {
  const auto with = [](const char* name, const char* value) {
    SlurmSite site = ReadySite();
    site.config[name] = value;
    return site;
  };
  EXPECT_EQ(BadOne(with("SelectType", "select/linear"), "select").state, SiteState::kWrong);
  EXPECT_EQ(BadOne(with("SelectTypeParameters", "NONE"), "select").state, SiteState::kWrong);
  EXPECT_EQ(BadOne(with("GresTypes", "gpu"), "GRES").state, SiteState::kMissing);
  EXPECT_EQ(BadOne(with("JobRequeue", "0"), "requeue").state, SiteState::kWrong);
  EXPECT_EQ(BadOne(with("MinJobAge", "2 sec"), "MinJobAge").state, SiteState::kWrong);
  EXPECT_EQ(BadOne(with("SLURM_VERSION", "20.11.4"), "version").state, SiteState::kWrong);
  EXPECT_EQ(BadOne(with("SLURM_VERSION", "22.05.8"), "version").state, SiteState::kNote);
  EXPECT_EQ(BadOne(with("SchedulerType", "sched/builtin"), "scheduler").state, SiteState::kNote);
  EXPECT_EQ(BadOne(with("Prolog", "(null)"), "Prolog").state, SiteState::kMissing);
  SlurmSite site = ReadySite();
  site.asked_partition = "gpu";
  site.partitions["gpu"] = {{"OverSubscribe", "EXCLUSIVE"}};
  EXPECT_EQ(BadOne(site, "partition gpu").state, SiteState::kWrong);
}

TEST(SiteCheck, SettingsAreReadFromTheFileAsFromSlurmctld) {
  EXPECT_EQ(SettingsOf(ConfOf("s", "# no\nGresTypes=gpu # yes\n NodeName=n1 CPUs=2\nA=1\nA=2")),
            (std::map<std::string, std::string>{{"GresTypes", "gpu"}, {"A", "2"}}));
  EXPECT_EQ(ParseSlurmSettings("Prolog                  = (null)\nno setting\n=x\n"),
            (std::map<std::string, std::string>{{"Prolog", "(null)"}}));
  EXPECT_EQ(ParseSlurmSettings("Prolog[0]               = /etc/a\nEpilog[0] = /etc/b\n"),
            (std::map<std::string, std::string>{{"Prolog", "/etc/a"}, {"Epilog", "/etc/b"}}));
}

TEST(SiteCheck, GresConfHasNodesTypesAndFiles) {
  const auto lines = GresLinesOf(
      GresOf("AutoDetect=nvml\nNodeName=n[1-2] Name=gpu Type=g0 File=/dev/nvidia[0-1]\n#x\n"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].auto_detect);
  EXPECT_EQ(lines[1].nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(lines[1].files, (std::vector<std::string>{"/dev/nvidia0", "/dev/nvidia1"}));
  EXPECT_EQ(lines[1].type, "g0");
}

TEST(SiteCheck, DrainedNodesAreSeen) {
  SlurmSite site = ReadySite();
  site.nodes.push_back(site.nodes[0]);
  site.nodes[1].name = "n2";
  site.gpus["n2"] = 2;
  site.nodes[1].states = {"IDLE", "DRAIN"};
  site.nodes[1].reason = "a new disk [root@2026-11-19T10:00:00]";
  EXPECT_EQ(BadOne(site, "node n2").state, SiteState::kNote);
  // By Slurm itself, after a restart in the wrong order.
  site.nodes[1].reason = "gres/gpu count reported lower than configured (0 < 2)";
  EXPECT_EQ(BadOne(site, "node n2").state, SiteState::kWrong);
  site = ReadySite();
  site.nodes[0].states = {"DOWN"};
  EXPECT_EQ(BadOne(site, "nodes").state, SiteState::kWrong);
}

TEST(SiteCheck, SlurmctldThatWasNotRestartedIsSeen) {
  SlurmSite site = ReadySite();
  site.nodes[0].slots.clear();
  site.nodes[0].other_gpus = 2;
  EXPECT_NE(BadOne(site, "restart").mend.find("stop slurmctld"), std::string::npos);
  site = ReadySite();
  site.slurm = ConfOf("/etc/slurm/slurm.conf", "NodeName=n1 Gres=gpu:v100:2\n");
  EXPECT_EQ(BadOne(site, "restart").state, SiteState::kWrong);
  site.slurm = ConfOf("/etc/slurm/slurm.conf", "NodeName=n1 Gres=gpu:v100:1,gpu:a100:1\n");
  EXPECT_NE(BadOne(site, "node n1").what.find("slurm.conf:1"), std::string::npos);
}

TEST(SiteCheck, EachLimitAndPriceOfGpusIsShownInShards) {
  SlurmSite site = ReadySite();
  site.limits->push_back({"QOS normal", "qos normal", "MaxTRESPU", "cpu=8,gres/gpu=2"});
  SiteFinding found = BadOne(site, "MaxTRESPU of QOS normal");
  EXPECT_EQ(found.state, SiteState::kWrong);
  EXPECT_NE(found.what.find("2 GPUs are 200 shards"), std::string::npos);
  EXPECT_EQ(found.mend, "sacctmgr modify qos normal set MaxTRESPU=gres/shard=200");
  site.limits->front().tres = "gres/gpu=2,gres/shard=200";
  EXPECT_TRUE(IsReady(CheckSlurmSite(site, KnowsV100)));
  site.limits->front().tres = "gres/gpu=2,gres/shard=100";
  EXPECT_EQ(BadOne(site, "MaxTRESPU of QOS normal").state, SiteState::kNote);
  site.limits->front() = {"account lab", "account lab", "GrpTRES", "gres/gpu:v100=3"};
  EXPECT_NE(BadOne(site, "GrpTRES of account lab").mend.find("gres/shard=300"), std::string::npos);
  site.limits->front() = {"QOS big", "qos big", "MinTRES", "gres/gpu=1"};
  EXPECT_EQ(BadOne(site, "MinTRES of QOS big").mend,
            "sacctmgr modify qos big set MinTRES=gres/gpu=-1");
  // What Slurm does not enforce bounds nobody.
  site.config["AccountingStorageEnforce"] = "none";
  EXPECT_EQ(BadOne(site, "MinTRES of QOS big").state, SiteState::kNote);
  site = ReadySite();
  site.partitions["gpu"] = {{"TRESBillingWeights", "CPU=1.0,GRES/gpu=10.0"}};
  EXPECT_NE(BadOne(site, "billing of partition gpu").mend.find("GRES/shard=0.1"),
            std::string::npos);
  site = ReadySite();
  site.config["AccountingStorageTRES"] = "cpu,gres/gpu";
  EXPECT_EQ(BadOne(site, "TRES").state, SiteState::kMissing);
  site = ReadySite();
  site.limits.reset();
  EXPECT_EQ(BadOne(site, "limits").state, SiteState::kNote);
}

TEST(SiteCheck, WhatStandsBesideThePartitionIsSaid) {
  SlurmSite site = ReadySite();
  site.config["PreemptType"] = "preempt/qos";
  EXPECT_EQ(BadOne(site, "preemption").state, SiteState::kNote);
  site.config["PrivateData"] = "accounts,jobs";
  EXPECT_EQ(BadOne(site, "PrivateData").state, SiteState::kNote);
  site.serves_slurm = false;
  EXPECT_EQ(BadOne(site, "PrivateData").state, SiteState::kWrong);
  site = ReadySite();
  site.asked_partition = "gpu";
  site.nodes[0].partitions = {"gpu", "debug"};
  EXPECT_NE(BadOne(site, "shared nodes").what.find("n1 are also of debug"), std::string::npos);
  site = ReadySite();
  site.unreadable = "/etc/slurm/nodes.conf:3: \"x\" cannot be read";
  EXPECT_EQ(BadOne(site, "slurm.conf").state, SiteState::kWrong);
}

}  // namespace
}  // namespace sharewell::engine
