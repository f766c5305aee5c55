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

ConfText ConfFrom(const std::string& path, const std::string& text) {
  auto conf = ReadConf(path, [&](const std::string&) { return std::optional<std::string>(text); });
  EXPECT_TRUE(conf);
  return conf ? *conf : ConfText();
}

SlurmSite PlainSite(const std::string& more = "") {
  SlurmSite site;
  site.conf = "/etc/slurm/slurm.conf";
  site.slurm = ConfFrom(site.conf, "ClusterName=lab\nGresTypes=gpu\n" + more +
                                       "NodeName=n[1-2] CPUs=8 Gres=gpu:v100:2\n");
  site.gres = ConfFrom("/etc/slurm/gres.conf",
                       "NodeName=n[1-2] Name=gpu Type=v100 File=/dev/nvidia[0-1]\n");
  site.config = SettingsOf(site.slurm);
  return site;
}

std::string ScriptOf(const SlurmSite& site) {
  const auto change = ChangeSite(site.slurm, site.gres, {}, OnlyV100);
  EXPECT_TRUE(change) << (change ? "" : change.error().message);
  return change ? InstallScript(site, kSiteFiles, {}, *change) : "";
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

TEST(SiteInstall, TheScriptCarriesAPatchOfEachFileAndSaysWhy) {
  const std::string script = ScriptOf(PlainSite());
  for (const char* part :
       {"#   slurm.conf:2: GresTypes: shares of GPUs", "\n-GresTypes=gpu\n",
        "\n+GresTypes=gpu,shard\n", "\n+JobSubmitPlugins=lua\n",
        "\n+Prolog=/etc/slurm/sharewell-prolog\n", "\n-NodeName=n[1-2] CPUs=8 Gres=gpu:v100:2\n",
        "\n+NodeName=n[1-2] Name=shard Type=g1 Count=100 File=/dev/nvidia1\n",
        "HEARTBEAT=/var/lib/sharewell/heartbeat\n", "\nnodes=n[1-2]\n",
        "files=(/etc/slurm/gres.conf /etc/slurm/slurm.conf)\n", "systemctl stop slurmctld"}) {
    EXPECT_NE(script.find(part), std::string::npos) << part << "\n" << script;
  }
}

TEST(SiteInstall, ASiteThatIsChangedGetsOurFilesAlone) {
  SlurmSite site = PlainSite();
  const auto change = ChangeSite(site.slurm, site.gres, {}, OnlyV100);
  ASSERT_TRUE(change);
  const auto slurm = ChangedConf(site.slurm, *change), gres = ChangedConf(site.gres, *change);
  ASSERT_TRUE(slurm && gres);
  site.slurm = *slurm;
  site.gres = *gres;
  const std::string script = ScriptOf(site);
  EXPECT_NE(script.find("nothing to change"), std::string::npos) << script;
  EXPECT_NE(script.find("cat > /etc/slurm/sharewell-prolog"), std::string::npos);
}

TEST(SiteInstall, WhatTheSiteHasOfItsOwnStays) {
  SlurmSite site = PlainSite("Prolog=/site/prolog\n");
  site.lua = "function slurm_job_submit() end\n";
  const std::string script = ScriptOf(site);
  EXPECT_EQ(script.find("+Prolog="), std::string::npos);
  EXPECT_NE(script.find("Prolog is the site's own (/site/prolog)"), std::string::npos);
  EXPECT_EQ(script.find("cat > /etc/slurm/job_submit.lua"), std::string::npos);
  EXPECT_NE(script.find("cat > /etc/slurm/sharewell.lua"), std::string::npos);
  EXPECT_NE(script.find("dofile(\"/etc/slurm/sharewell.lua\")"), std::string::npos);
}

}  // namespace
}  // namespace sharewell::engine
