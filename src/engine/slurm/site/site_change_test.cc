#include "engine/slurm/site/site_change.h"

#include <gtest/gtest.h>

#include "engine/slurm/site/slurm_limits.h"
#include "engine/slurm/site/trial_conf.h"

namespace sharewell::engine {
namespace {

std::string ModelOfTests(const std::string& type) {
  const std::string lower = LowerConf(type);
  if (lower == "rtx3090") return "RTX 3090";
  return lower == "v100" ? "V100" : lower == "a100" ? "A100" : "";
}

constexpr const char* kSlurm = "/etc/slurm/slurm.conf";
constexpr const char* kGres = "/etc/slurm/gres.conf";
// What every site needs, so that tests show their own lines alone.
constexpr const char* kSet =
    "GresTypes=gpu,shard\nJobSubmitPlugins=lua\nProlog=/etc/slurm/sharewell-prolog\n"
    "Epilog=/etc/slurm/sharewell-epilog\nTaskProlog=/etc/slurm/sharewell-task-prolog\n";

struct Changed {
  std::string slurm, gres, why, error;
};

ConfText ReadAt(const std::string& path, const std::string& text) {
  auto conf = ReadConf(path, [&](const std::string&) { return std::optional<std::string>(text); });
  EXPECT_TRUE(conf) << (conf ? "" : conf.error().message);
  return conf ? *conf : ConfText();
}

// The texts behind `kSet`, changed for partition gpu; changing them again would change nothing.
Changed ChangeTexts(const std::string& slurm, const std::string& gres) {
  const std::string begin = kSet;
  const ConfText conf = ReadAt(kSlurm, begin + slurm), gres_conf = ReadAt(kGres, gres);
  InstallOptions options;
  options.partition = "gpu";
  const auto change = ChangeSite(conf, gres_conf, options, ModelOfTests);
  Changed out;
  if (!change) {
    out.error = change.error().message;
    return out;
  }
  const auto text_of = [&](const ConfText& one) {
    const auto edits = change->edits.find(one.top);
    const std::string& text = one.files.at(one.top);
    return edits == change->edits.end() ? text : EditedText(text, edits->second);
  };
  out.slurm = text_of(conf);
  out.gres = text_of(gres_conf);
  for (const std::string& why : change->why) out.why += why + "\n";
  const auto again =
      ChangeSite(ReadAt(kSlurm, out.slurm), ReadAt(kGres, out.gres), options, ModelOfTests);
  EXPECT_TRUE(again) << (again ? "" : again.error().message);
  if (again) {
    EXPECT_TRUE(again->edits.empty()) << out.slurm << out.gres;
  }
  EXPECT_TRUE(out.slurm.starts_with(begin)) << out.slurm;
  out.slurm.erase(0, begin.size());
  return out;
}

constexpr const char* kSlots2 = "gpu:g0:1,gpu:g1:1,shard:g0:100,shard:g1:100";

TEST(SiteChange, AnOrdinarySiteIsChangedInTheLinesConcernedAlone) {
  const Changed out = ChangeTexts(
      "NodeName=DEFAULT CPUs=16 RealMemory=64000\n"
      "NodeName=n[1-2] Gres=gpu:v100:2 # bought in 2019\n"
      "NodeName=DEFAULT CPUs=4 Gres=gpu:A100:2\n"
      "NodeName=n[3-4] \\\n  Feature=ib\n"
      "NodeName=x[1-4] Gres=gpu:v100:2 NodeAddr=10.0.0.[1-4] Port=[7001-7004] # other racks\n"
      "NodeName=cpu1 Gres=nic:1\n"
      "PartitionName=gpu Nodes=n[1-4],x[1,3]\nPartitionName=other Nodes=x[1-4],cpu1\n",
      "AutoDetect=off\n"
      "# ours\n"
      "NodeName=n[1-4] Name=gpu File=/dev/nvidia[0-1] Cores=0-7 Flags=nvidia_gpu_env # both\n"
      "NodeName=x[1-4] Name=gpu Type=v100 File=/dev/nvidia0 Cores=0-3\n"
      "NodeName=x[1-4] Name=gpu Type=v100 File=/dev/nvidia1 Cores=4-7 Links=0,-1\n"
      "NodeName=cpu1 Name=nic Count=1\n");
  EXPECT_EQ(out.error, "");
  const std::string slots = kSlots2;
  EXPECT_EQ(
      out.slurm,
      "NodeName=DEFAULT CPUs=16 RealMemory=64000\n"
      "NodeName=n[1-2] Gres=" +
          slots +
          " Feature=V100 # bought in 2019\n"
          "NodeName=DEFAULT CPUs=4 Gres=gpu:A100:2\n"
          "NodeName=n[3-4] \\\n  Feature=ib,A100 Gres=" +
          slots +
          "\n"
          "NodeName=x[2,4] Gres=gpu:v100:2 NodeAddr=10.0.0.[2,4] Port=[7002,7004] # other racks\n"
          "NodeName=x[1,3] Gres=" +
          slots +
          " NodeAddr=10.0.0.[1,3] Port=[7001,7003] "
          "Feature=V100\n"
          "NodeName=cpu1 Gres=nic:1\n"
          "PartitionName=gpu Nodes=n[1-4],x[1,3]\nPartitionName=other Nodes=x[1-4],cpu1\n");
  EXPECT_EQ(out.gres,
            "AutoDetect=off\n"
            "# ours\n"
            "NodeName=n[1-4] Name=gpu Type=g0 File=/dev/nvidia0 Cores=0-7 Flags=nvidia_gpu_env\n"
            "NodeName=n[1-4] Name=gpu Type=g1 File=/dev/nvidia1 Cores=0-7 Flags=nvidia_gpu_env\n"
            "NodeName=n[1-4] Name=shard Type=g0 Count=100 File=/dev/nvidia0\n"
            "NodeName=n[1-4] Name=shard Type=g1 Count=100 File=/dev/nvidia1 # both\n"
            "NodeName=x[2,4] Name=gpu Type=v100 File=/dev/nvidia0 Cores=0-3\n"
            "NodeName=x[1,3] Name=gpu Type=g0 File=/dev/nvidia0 Cores=0-3\n"
            "NodeName=x[1,3] Name=shard Type=g0 Count=100 File=/dev/nvidia0\n"
            "NodeName=x[2,4] Name=gpu Type=v100 File=/dev/nvidia1 Cores=4-7 Links=0,-1\n"
            "NodeName=x[1,3] Name=gpu Type=g1 File=/dev/nvidia1 Cores=4-7 Links=0,-1\n"
            "NodeName=x[1,3] Name=shard Type=g1 Count=100 File=/dev/nvidia1\n"
            "NodeName=cpu1 Name=nic Count=1\n");
  EXPECT_NE(out.why.find("slurm.conf:7: each GPU is a slot"), std::string::npos) << out.why;
}

TEST(SiteChange, SettingsAreChangedWhereTheyStandElseAddedAtTheEnd) {
  const std::string text = "grestypes = gpu # ours\nJobSubmitPlugins=all_partitions\nProlog=/own";
  const ConfText conf = ReadAt(kSlurm, text);
  const auto change = ChangeSite(conf, ReadAt(kGres, ""), {}, ModelOfTests);
  ASSERT_TRUE(change);
  EXPECT_EQ(EditedText(text, change->edits.at(kSlurm)),
            "grestypes = gpu,shard # ours\nJobSubmitPlugins=all_partitions,lua\nProlog=/own\n"
            "Epilog=/etc/slurm/sharewell-epilog\nTaskProlog=/etc/slurm/sharewell-task-prolog\n");
  EXPECT_EQ(change->edits.count(kGres), 0U);
}

TEST(SiteChange, TheLastLineMayHaveNoLineBreak) {
  const std::string text = "PartitionName=gpu Nodes=n1\nNodeName=n[1-2] Gres=gpu:v100:1";
  InstallOptions options;
  options.partition = "gpu";
  const auto change = ChangeSite(ReadAt(kSlurm, text), ReadAt(kGres, ""), options, ModelOfTests);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(EditedText(text, change->edits.at(kSlurm)),
            "PartitionName=gpu Nodes=n1\nNodeName=n2 Gres=gpu:v100:1\nGresTypes=gpu,shard\n"
            "JobSubmitPlugins=lua\nProlog=/etc/slurm/sharewell-prolog\n"
            "Epilog=/etc/slurm/sharewell-epilog\nTaskProlog=/etc/slurm/sharewell-task-prolog\n"
            "NodeName=n1 Gres=gpu:g0:1,shard:g0:100 Feature=V100\n");
}

TEST(SiteChange, AutoDetectGivesWayToLinesForOurNodesAlone) {
  const std::string nodes =
      "NodeName=n[1-2],m1 Gres=gpu:a100:2 Feature=A100\nPartitionName=gpu Nodes=n[1-2]\n"
      "PartitionName=rest Nodes=m1\n";
  const std::string lines =
      "NodeName=n[1-2] AutoDetect=off Name=gpu Type=g0 File=/dev/nvidia0\n"
      "NodeName=n[1-2] AutoDetect=off Name=gpu Type=g1 File=/dev/nvidia1\n"
      "NodeName=n[1-2] Name=shard Type=g0 Count=100 File=/dev/nvidia0\n"
      "NodeName=n[1-2] Name=shard Type=g1 Count=100 File=/dev/nvidia1\n";
  Changed out = ChangeTexts(nodes, "AutoDetect=nvml\n");
  EXPECT_EQ(out.gres, "AutoDetect=nvml\n" + lines);
  EXPECT_NE(out.why.find("AutoDetect found the cores"), std::string::npos) << out.why;
  // With a line of the site's own for every node, which the others keep.
  out = ChangeTexts(nodes, "AutoDetect=nvml\nName=gpu Type=a100 File=/dev/nvidia[0-1]\n");
  EXPECT_EQ(out.gres,
            "AutoDetect=nvml\nNodeName=m1 Name=gpu Type=a100 File=/dev/nvidia[0-1]\n" + lines);
  // On for named nodes, ours among them.
  out = ChangeTexts(nodes, "NodeName=n[1-2],m1 AutoDetect=nvml\nNodeName=m1 Name=nic Count=1\n");
  EXPECT_EQ(out.gres, "NodeName=m1 AutoDetect=nvml\nNodeName=m1 Name=nic Count=1\n" + lines);
  out = ChangeTexts(nodes, "NodeName=n[1-2] \\\n AutoDetect=nvml\n");
  EXPECT_EQ(out.gres, "# NodeName=n[1-2] AutoDetect=nvml\n" + lines);
}

TEST(SiteChange, SlotsFollowTheNumbersOfTheDevices) {
  const Changed out = ChangeTexts(
      "NodeName=n1 Gres=gpu:2,nic:1 Feature=v100\n"
      "PartitionName=gpu Nodes=ALL",
      "Name=gpu File=/dev/nvidia1 Cores=8-15\n"
      "Name=gpu File=/dev/nvidia0 Cores=0-7\n");
  EXPECT_NE(out.slurm.find("Gres=" + std::string(kSlots2) + ",nic:1 Feature=v100\n"),
            std::string::npos)
      << out.slurm;
  EXPECT_EQ(out.gres,
            "NodeName=n1 Name=gpu Type=g1 File=/dev/nvidia1 Cores=8-15\n"
            "NodeName=n1 Name=shard Type=g1 Count=100 File=/dev/nvidia1\n"
            "NodeName=n1 Name=gpu Type=g0 File=/dev/nvidia0 Cores=0-7\n"
            "NodeName=n1 Name=shard Type=g0 Count=100 File=/dev/nvidia0\n");
}

TEST(SiteChange, LinesForEveryNodeStayForTheOthersOneBesideTheOther) {
  const Changed out = ChangeTexts(
      "NodeName=n[1-2] Gres=gpu:rtx3090:2\nPartitionName=gpu Nodes=n1\n",
      "Name=gpu File=/dev/nvidia0 Cores=0\nName=gpu File=/dev/nvidia1 Cores=1\nName=nic Count=1");
  EXPECT_NE(out.slurm.find("NodeName=n1 Gres=" + std::string(kSlots2) + " Feature=RTX3090\n"),
            std::string::npos)
      << out.slurm;
  EXPECT_EQ(out.gres,
            "NodeName=n2 Name=gpu File=/dev/nvidia0 Cores=0\n"
            "NodeName=n1 Name=gpu Type=g0 File=/dev/nvidia0 Cores=0\n"
            "NodeName=n1 Name=shard Type=g0 Count=100 File=/dev/nvidia0\n"
            "NodeName=n2 Name=gpu File=/dev/nvidia1 Cores=1\n"
            "NodeName=n1 Name=gpu Type=g1 File=/dev/nvidia1 Cores=1\n"
            "NodeName=n1 Name=shard Type=g1 Count=100 File=/dev/nvidia1\n"
            "Name=nic Count=1");
}

TEST(SiteChange, WhatItCannotTakeOverIsRefusedWithFileAndLine) {
  const auto refused = [](const std::string& gres, const std::string& gres_conf,
                          const std::string& more = "") {
    return ChangeTexts("NodeName=n[1-2] Gres=" + gres + more + "\nPartitionName=gpu Nodes=n1\n",
                       gres_conf)
        .error;
  };
  EXPECT_TRUE(refused("gpu:v100:1,gpu:a100:1", "").starts_with("/etc/slurm/slurm.conf:6: "));
  EXPECT_NE(refused("gpu:1,shard:8", "").find("slurm.conf:6"), std::string::npos);
  EXPECT_NE(refused("gpu:1,mps:100", "").find("MPS"), std::string::npos);
  EXPECT_NE(refused("gpu:1g.5gb:7", "").find("MIG"), std::string::npos);
  EXPECT_NE(refused("gpu:99", "").find("64"), std::string::npos);
  EXPECT_NE(refused("gpu:1", "\nName=gpu Count=1\n").find("gres.conf:2"), std::string::npos);
  EXPECT_NE(refused("gpu:2", "Name=gpu File=/dev/nvidia[0-3]\n").find("gres.conf:1"),
            std::string::npos);
  EXPECT_NE(refused("gpu:1", "Name=gpu MultipleFiles=/a,/b\n").find("MIG"), std::string::npos);
  EXPECT_NE(refused("gpu:1", "Name=shard Count=8\n").find("gres.conf:1"), std::string::npos);
  EXPECT_NE(refused("gpu:2", "Name=gpu File=/dev/nvidia[0,0]\n"), "");
  EXPECT_NE(refused("gpu:1", "", " Port=[1-3]").find("by hand"), std::string::npos);
  EXPECT_NE(ChangeTexts("NodeName=n1\n", "").error.find("PartitionName=gpu"), std::string::npos);
  EXPECT_NE(ChangeTexts("PartitionName=gpu Nodes=n1\n", "").error.find("slurm.conf:6"),
            std::string::npos);
}

TEST(SiteChange, AModelThatIsNotKnownIsLeftToTheAdmin) {
  const Changed out =
      ChangeTexts("NodeName=n1 Gres=gpu:1 Feature=ib\nPartitionName=gpu Nodes=n1\n", "");
  EXPECT_NE(out.slurm.find("Gres=gpu:g0:1,shard:g0:100 Feature=ib\n"), std::string::npos);
  EXPECT_NE(out.why.find("add Feature=MODEL by hand"), std::string::npos);
}

TEST(SiteChange, WithSlurmdbdGpusAndShardsAreCountedAndPriced) {
  const std::string database = "AccountingStorageType=accounting_storage/slurmdbd\n";
  Changed out = ChangeTexts(database +
                                "AccountingStorageTRES=gres/gpu:v100\nNodeName=n1\n"
                                "PartitionName=DEFAULT TRESBillingWeights=\"CPU=1,GRES/gpu=10\"\n"
                                "PartitionName=gpu Nodes=n1\nPartitionName=x Nodes=n1\n",
                            "");
  EXPECT_NE(out.slurm.find("AccountingStorageTRES=gres/gpu:v100,gres/gpu,gres/shard\n"),
            std::string::npos);
  EXPECT_NE(out.slurm.find("PartitionName=gpu Nodes=n1 "
                           "TRESBillingWeights=\"CPU=1,GRES/gpu=10,GRES/shard=0.1\"\n"
                           "PartitionName=x Nodes=n1\n"),
            std::string::npos)
      << out.slurm;
  // Without it slurmctld does not start with them.
  out = ChangeTexts(
      "AccountingStorageTRES=cpu,gres/gpu\nNodeName=n1\n"
      "PartitionName=gpu Nodes=n1\n",
      "");
  EXPECT_NE(out.slurm.find("AccountingStorageTRES=cpu\n"), std::string::npos);
}

TEST(SlurmLimits, ArePartedIntoWhatSacctmgrCallsThem) {
  const auto qos =
      ParseQosLimits("normal|cpu=4,gres/gpu=8||||||gres/gpu=2||\nplain||||||||cpu=1|\n");
  ASSERT_TRUE(qos) << qos.error().message;
  ASSERT_EQ(qos->size(), 2U);
  EXPECT_EQ((*qos)[0], (SlurmLimit{"QOS normal", "qos normal", "GrpTRES", "cpu=4,gres/gpu=8"}));
  EXPECT_EQ((*qos)[1].field, "MaxTRESPU");
  const auto associations =
      ParseAssociationLimits("lab|||gres/gpu=4|||||\nlab|ann|gpu|||| gres/gpu:v100=1||\n");
  ASSERT_TRUE(associations);
  ASSERT_EQ(associations->size(), 2U);
  EXPECT_EQ((*associations)[0].modify, "account lab");
  EXPECT_EQ((*associations)[1].modify, "user ann account=lab partition=gpu");
  EXPECT_FALSE(ParseQosLimits("normal|x\n"));
  EXPECT_EQ(TresValue("cpu=1,GRES/GPU=2", "gres/gpu"), "2");
  EXPECT_EQ(TypedGpuValue("gres/gpu:v100=3"), "3");
  EXPECT_EQ(ShardWeightMissing("GRES/gpu=2.5"), "GRES/shard=0.025");
  EXPECT_EQ(ShardWeightMissing("GRES/gpu=2,gres/shard=1"), std::nullopt);
  EXPECT_EQ(ShardWeightMissing("GRES/gpu=x"), std::nullopt);
}

TEST(TrialConf, KeepsNodesPartitionsAndGresAndNothingThatReachesOut) {
  const ConfText conf = ReadAt(
      kSlurm,
      "ClusterName=lab\nSlurmctldHost=head\nSlurmctldPort=6817\nStateSaveLocation=/var/spool/x\n"
      "ResumeProgram=/site/power\nPrologSlurmctld=/site/"
      "p\nAccountingStorageType=accounting_storage/"
      "slurmdbd\nGresTypes=gpu\nGresTypes=gpu,shard\nSlurmUser=slurm\n"
      "NodeName=n[1-2] NodeAddr=10.0.0.[1-2] Gres=gpu:g0:1 State=CLOUD\n"
      "PartitionName=gpu Nodes=n[1-2] AllowQos=a TRESBillingWeights=\"GRES/gpu=1\"\n");
  const auto nodes = NodesOfConf(conf);
  ASSERT_TRUE(nodes);
  const std::string trial = TrialConf(
      conf, *nodes, {.folder = "/t", .host = "h", .user = "u", .port = 7, .dead_port = 8});
  for (const char* part : {"ResumeProgram", "PrologSlurmctld", "slurmdbd", "/var/spool", "10.0.0",
                           "CLOUD", "AllowQos", "Weights", "6817", "head", "SlurmUser=slurm"}) {
    EXPECT_EQ(trial.find(part), std::string::npos) << part << "\n" << trial;
  }
  for (const char* part :
       {"ClusterName=lab\n", "SlurmctldPort=7\n", "GresTypes=gpu,shard\n", "SlurmUser=u\n",
        "NodeName=n[1-2] Gres=gpu:g0:1 NodeAddr=127.0.0.1,127.0.0.1 Port=8\n",
        "PartitionName=gpu Nodes=n[1-2]\n", "StateSaveLocation=/t/state\n"}) {
    EXPECT_NE(trial.find(part), std::string::npos) << part << "\n" << trial;
  }
}

}  // namespace
}  // namespace sharewell::engine
