#include "cli/commands/jobs/script_digest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/files/test_folder.h"

namespace sharewell::cli {
namespace {

class ScriptDigestTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.Path(name)).parent_path());
    std::ofstream(folder_.Path(name)) << text;
  }
  std::string Of(const std::vector<std::string>& command) const {
    return ScriptDigest(command, folder_.path());
  }
  platform::TestFolder folder_;
};

TEST_F(ScriptDigestTest, TheScriptIsFoundWhateverStartsIt) {
  Write("train.py", "print(1)\n");
  const std::string digest = Of({"python3", "train.py", "--lr", "0.1"});
  EXPECT_EQ(digest.size(), 32U);
  EXPECT_EQ(Of({"python3", "-u", "./train.py", "--lr", "0.2"}), digest);
  EXPECT_EQ(Of({"torchrun", "--nproc-per-node", "2", folder_.Path("train.py")}), digest);
  EXPECT_EQ(Of({"python3", "-m", "train"}), digest);
}

TEST_F(ScriptDigestTest, AnotherTextOrPlaceIsAnotherScript) {
  Write("train.py", "print(1)\n");
  Write("other/train.py", "print(1)\n");
  const std::string before = Of({"python3", "train.py"});
  EXPECT_NE(Of({"python3", "other/train.py"}), before);
  Write("train.py", "print(2)\n");
  EXPECT_NE(Of({"python3", "train.py"}), before);
}

TEST_F(ScriptDigestTest, WhatIsNoScriptHasNone) {
  Write("weights.pt", "1234");
  Write("run", "#!/bin/sh\n");
  Write("program",
        "\x7f"
        "ELF");
  EXPECT_EQ(Of({"python3", "-c", "import torch"}), "");
  EXPECT_EQ(Of({"python3", "missing.py"}), "");
  EXPECT_EQ(Of({"./program", "weights.pt"}), "");
  EXPECT_EQ(Of({"train", "weights.pt"}), "");
  EXPECT_EQ(Of({}), "");
  EXPECT_EQ(Of({"./run"}).size(), 32U);
  Write("package/__main__.py", "");
  EXPECT_EQ(Of({"python3", "-m", "package"}).size(), 32U);
}

}  // namespace
}  // namespace sharewell::cli
