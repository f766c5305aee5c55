#include "engine/slurm/site/conf_lines.h"

#include <gtest/gtest.h>

#include "engine/slurm/site/conf_edits.h"
#include "engine/slurm/site/conf_nodes.h"

namespace sharewell::engine {
namespace {

using Texts = std::map<std::string, std::string>;

core::Result<ConfText> ReadTexts(const Texts& texts) {
  return ReadConf("/etc/slurm/slurm.conf",
                  [&](const std::string& path) -> std::optional<std::string> {
                    const auto found = texts.find(path);
                    if (found == texts.end()) return std::nullopt;
                    return found->second;
                  });
}

ConfText ReadOne(const std::string& text) {
  auto conf = ReadTexts({{"/etc/slurm/slurm.conf", text}});
  EXPECT_TRUE(conf) << (conf ? "" : conf.error().message);
  return conf ? *conf : ConfText();
}

std::string RefusalOf(const Texts& texts) {
  const auto conf = ReadTexts(texts);
  if (conf) {
    const auto nodes = NodesOfConf(*conf);
    return nodes ? "" : nodes.error().message;
  }
  return conf.error().message;
}

TEST(ConfLines, CommentsContinuationsQuotesAndCase) {
  const std::string text =
      "# a comment with A=1 \\\n"
      "clustername = lab  # and B=2\n"
      "\n"
      "NODENAME=n[1-2] \\\n"
      "  CPUs=8 \\  # goes on behind a comment\n"
      "\tGres=gpu:v100:2\r\n"
      "Weights=\"A=1 B=2\" Path=a\\#b";
  const ConfText conf = ReadOne(text);
  ASSERT_EQ(conf.lines.size(), 3U);
  EXPECT_EQ(conf.SettingValue("ClusterName"), "lab");
  const ConfLine& node = conf.lines[1];
  EXPECT_EQ(node.Place(), "/etc/slurm/slurm.conf:4");
  ASSERT_EQ(node.words.size(), 3U);
  EXPECT_EQ(node.ValueOf("gres"), "gpu:v100:2");
  // Where it stands, so that it can be changed there.
  const ConfWord& gres = *node.Find("Gres");
  EXPECT_EQ(text.substr(gres.value_begin, gres.end - gres.value_begin), "gpu:v100:2");
  EXPECT_EQ(text.substr(gres.begin, gres.end - gres.begin), "Gres=gpu:v100:2");
  EXPECT_EQ(conf.lines[2].ValueOf("Weights"), "A=1 B=2");
  EXPECT_EQ(conf.lines[2].ValueOf("Path"), "a#b");
  EXPECT_EQ(text.substr(conf.lines[2].words[0].value_begin, 9), "\"A=1 B=2\"");
}

TEST(ConfLines, OfASettingThatIsThereTwiceTheLastCountsAndNodesHaveTheirOwn) {
  const ConfText conf = ReadOne("GresTypes=gpu\nGresTypes=gpu,tmp\nNodeName=n1 GresTypes=no\n");
  const ConfLine* line = nullptr;
  ASSERT_NE(conf.Setting("grestypes", &line), nullptr);
  EXPECT_EQ(line->line, 2);
  EXPECT_EQ(conf.SettingValue("Nothing"), "");
}

TEST(ConfLines, IncludesAreFollowedInPlace) {
  const auto conf = ReadTexts(
      {{"/etc/slurm/slurm.conf", "ClusterName=Lab\nInclude parts/nodes.conf # nodes\nA=2\n"},
       {"/etc/slurm/parts/nodes.conf", "A=1\ninclude\t%c.conf\n"},
       {"/etc/slurm/parts/lab.conf", "NodeName=n1\n"}});
  ASSERT_TRUE(conf) << conf.error().message;
  EXPECT_EQ(conf->SettingValue("A"), "2");
  ASSERT_EQ(conf->lines.size(), 4U);
  EXPECT_EQ(conf->lines[2].Place(), "/etc/slurm/parts/lab.conf:1");
}

TEST(ConfLines, WhatCannotBeReadIsRefusedWithFileAndLine) {
  const auto refused = [](const std::string& text) {
    return RefusalOf({{"/etc/slurm/slurm.conf", text}});
  };
  EXPECT_TRUE(refused("A=1\nno setting\n").starts_with("/etc/slurm/slurm.conf:2: 'no setting'"))
      << refused("A=1\nno setting\n");
  EXPECT_NE(refused("A=\"x\"y\n"), "");
  EXPECT_NE(refused("A=\n"), "");
  EXPECT_NE(refused("A=1\nB=2 \\\n").find("slurm.conf:2: the file ends"), std::string::npos);
  EXPECT_NE(refused("Include \n"), "");
  EXPECT_NE(refused("Include gone.conf\n").find("slurm.conf:1: Include: /etc/slurm/gone.conf"),
            std::string::npos);
  EXPECT_NE(refused("Include slurm.conf\n").find("a second time"), std::string::npos);
  EXPECT_NE(refused("Include %c.conf\n").find("ClusterName"), std::string::npos);
  EXPECT_NE(refused(std::string("A=1\0", 4)).find("zero byte"), std::string::npos);
  EXPECT_NE(refused("NodeName=n[1-2\n").find("slurm.conf:1"), std::string::npos);
  EXPECT_NE(refused("NodeName=n1\nNodeName=n[1-2]\n").find("slurm.conf:2"), std::string::npos);
  EXPECT_NE(refused("A=1 NodeName=n1\n").find("middle"), std::string::npos);
}

TEST(ConfLines, NodesHaveWhatDefaultLinesSayAndPartitionsTheirNodes) {
  const ConfText conf = ReadOne(
      "NodeName=DEFAULT Gres=gpu:v100:2 Features=ib\n"
      "NodeName=n[1-2] CPUs=8\n"
      "NodeName=default Gres=gpu:a100:4\n"
      "NodeName=n3 Feature=A100\nNodeName=n4\n"
      "NodeSet=fast Feature=A100\n"
      "PartitionName=DEFAULT Nodes=ALL TRESBillingWeights=\"CPU=1,GRES/gpu=10\"\n"
      "PartitionName=all\nPartitionName=few Nodes=n1,fast\n");
  const auto nodes = NodesOfConf(conf);
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->lines.size(), 3U);
  EXPECT_EQ(nodes->lines[0].gres, "gpu:v100:2");
  EXPECT_EQ(nodes->lines[0].features, "ib");
  EXPECT_EQ(nodes->lines[1].gres, "gpu:a100:4");
  EXPECT_EQ(nodes->lines[1].features, "A100");
  EXPECT_EQ(nodes->lines[2].features, "ib");
  EXPECT_EQ(nodes->Partition("all")->nodes, (std::vector<std::string>{"n1", "n2", "n3", "n4"}));
  EXPECT_EQ(nodes->Partition("few")->nodes, (std::vector<std::string>{"n1", "n3"}));
  EXPECT_EQ(nodes->Partition("few")->billing, "CPU=1,GRES/gpu=10");
  EXPECT_EQ(nodes->Partition("none"), nullptr);
}

TEST(ConfLines, NamesOfHostsAreWrittenAsRanges) {
  EXPECT_EQ(HostList({"n1", "n2", "n3", "m7"}), "n[1-3],m7");
  EXPECT_EQ(HostList({"n08", "n09", "n10", "n12"}), "n[08-10,12]");
  EXPECT_EQ(HostList({"n9", "n10"}), "n[9-10]");
  EXPECT_EQ(HostList({"n09", "n100"}), "n09,n100");
  EXPECT_EQ(HostList({"gpu", "n1"}), "gpu,n1");
  EXPECT_EQ(HostList({}), "");
}

TEST(ConfEdits, ADiffShowsEachChangeWithTheLinesAroundIt) {
  const std::string text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\nlast";
  EXPECT_EQ(EditedText(text, {{2, 3, "two"}, {4, 4, "new\n"}}),
            "1\ntwo\nnew\n3\n4\n5\n6\n7\n8\n9\n10\n11\nlast");
  EXPECT_EQ(UnifiedDiff("f", text, {}), "");
  EXPECT_EQ(UnifiedDiff("f", text, {{2, 3, "two"}, {4, 4, "new\n"}}),
            "--- f\n+++ f\n@@ -1,5 +1,6 @@\n 1\n-2\n+two\n+new\n 3\n 4\n 5\n");
  EXPECT_EQ(UnifiedDiff("f", text, {{0, 1, "a"}, {text.size(), text.size(), "\nmore\n"}}),
            "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-1\n+a\n 2\n 3\n 4\n"
            "@@ -9,4 +9,5 @@\n 9\n 10\n 11\n-last\n\\ No newline at end of file\n+last\n+more\n");
  EXPECT_EQ(UnifiedDiff("f", "", {{0, 0, "a\nb\n"}}), "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
}

}  // namespace
}  // namespace sharewell::engine
