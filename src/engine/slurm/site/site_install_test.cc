#include "engine/slurm/site/site_install.h"

#include <gtest/gtest.h>

namespace sharewell::engine {
namespace {

std::string OnlyV100(const std::string& type) { return type == "v100" ? "V100" : ""; }

constexpr SiteFiles kSiteFiles{.lua = "local PARTITIONS = {} -- @PARTITIONS@\nsharewell1\n",
                               .prolog = "#prolog\n",
                               .epilog = "#epilog\n",
                               .task_prolog = "#task\n",
                               .watchdog = "#watchdog\n"};

SlurmSite PlainSite() {
  SlurmSite site;
  site.conf = "/etc/slurm/slurm.conf";
  site.slurm_conf = "ClusterName=lab\nGresTypes=gpu\nNodeName=n[1-2] CPUs=8 Gres=gpu:v100:2\n";
  site.gres_conf = "NodeName=n[1-2] Name=gpu Type=v100 File=/dev/nvidia[0-1]\n";
  site.config = ParseSlurmSettings(site.slurm_conf);
  return site;
}

TEST(SiteInstall, ANodesGpusBecomeSlotsAndItsModelAFeature) {
  EXPECT_EQ(NodeLineWithSlots("NodeName=n[1-2] CPUs=8  Gres=gpu:v100:2 State=UP", OnlyV100),
            "NodeName=n[1-2] CPUs=8 Gres=gpu:g0:1,gpu:g1:1,shard:g0:100,shard:g1:100 State=UP "
            "Feature=V100");
  EXPECT_EQ(NodeLineWithSlots("NodeName=a Gres=gpu:1,nic:2 Feature=ib", OnlyV100),
            "NodeName=a Gres=gpu:g0:1,shard:g0:100,nic:2 Feature=ib");
  EXPECT_EQ(NodeLineWithSlots("NodeName=a Gres=gpu:v100:1 Feature=ib", OnlyV100),
            "NodeName=a Gres=gpu:g0:1,shard:g0:100 Feature=ib,V100");
}

TEST(SiteInstall, NodesWithoutGpusOrWithSlotsStayAsTheyAre) {
  EXPECT_EQ(NodeLineWithSlots("NodeName=a CPUs=8", OnlyV100), "");
  EXPECT_EQ(NodeLineWithSlots("NodeName=a Gres=nic:1", OnlyV100), "");
  EXPECT_EQ(NodeLineWithSlots("NodeName=a Gres=gpu:g0:1,shard:g0:100", OnlyV100), "");
  EXPECT_EQ(NodeLineWithSlots("NodeName=a Gres=gpu:0", OnlyV100), "");
}

TEST(SiteInstall, ThePluginGetsItsPartitionAndWhoMayPlace) {
  InstallOptions options;
  options.partition = "gpu";
  options.schedulers = {0, 990};
  options.hold_cpu_jobs = true;
  EXPECT_EQ(LuaFor("a\nlocal PARTITIONS = {} -- @PARTITIONS@\nlocal SCHEDULERS = { [0] = true } -- "
                   "@SCHEDULERS@\nlocal HOLD_CPU_JOBS = false -- @HOLD_CPU_JOBS@\n",
                   options),
            "a\nlocal PARTITIONS = { [\"gpu\"] = true }\nlocal SCHEDULERS = { [0] = true, [990] = "
            "true }\nlocal HOLD_CPU_JOBS = true\n");
}

TEST(SiteInstall, TheScriptSaysWhatWasAndWhatIsNow) {
  const std::string script = InstallScript(PlainSite(), kSiteFiles, {}, OnlyV100);
  for (const char* part :
       {"#   was: GresTypes=gpu\n", "#   now: GresTypes=gpu,shard\n",
        "#   now: JobSubmitPlugins=lua\n", "#   now: Prolog=/etc/slurm/sharewell-prolog\n",
        "#   was: NodeName=n[1-2] CPUs=8 Gres=gpu:v100:2\n",
        "NodeName=n[1-2] Name=gpu Type=g1 File=/dev/nvidia1\n",
        "NodeName=n[1-2] Name=shard Type=g1 Count=100 File=/dev/nvidia1\n",
        "HEARTBEAT=/var/lib/sharewell/heartbeat\n", "--undo"}) {
    EXPECT_NE(script.find(part), std::string::npos) << part << "\n" << script;
  }
}

TEST(SiteInstall, WhatTheSiteHasOfItsOwnStays) {
  SlurmSite site = PlainSite();
  site.config["Prolog"] = "/site/prolog";
  site.lua = "function slurm_job_submit() end\n";
  const std::string script = InstallScript(site, kSiteFiles, {}, OnlyV100);
  EXPECT_EQ(script.find("now: Prolog="), std::string::npos);
  EXPECT_NE(script.find("Prolog is the site's own (/site/prolog)"), std::string::npos);
  EXPECT_EQ(script.find("cat > /etc/slurm/job_submit.lua"), std::string::npos);
  EXPECT_NE(script.find("cat > /etc/slurm/sharewell.lua"), std::string::npos);
  EXPECT_NE(script.find("dofile(\"/etc/slurm/sharewell.lua\")"), std::string::npos);
}

TEST(SiteInstall, ASettingThatKillsSlurmctldIsTakenOut) {
  SlurmSite site = PlainSite();
  site.slurm_conf += "AccountingStorageTRES=gres/gpu\n";
  site.config = ParseSlurmSettings(site.slurm_conf);
  const std::string script = InstallScript(site, kSiteFiles, {}, OnlyV100);
  EXPECT_NE(script.find("#   was: AccountingStorageTRES=gres/gpu\n"), std::string::npos);
  EXPECT_EQ(script.find("now: AccountingStorageTRES"), std::string::npos);
}

}  // namespace
}  // namespace sharewell::engine
