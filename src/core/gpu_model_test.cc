#include "core/gpu_model.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(GpuModel, U13_OneNameHoweverItIsWritten) {
  for (const char* name : {"RTX 3090", "rtx3090", "RTX-3090", "rtx_3090", "GeForce RTX 3090",
                           "NVIDIA GeForce RTX 3090", "NVIDIA-GeForce-RTX-3090"}) {
    EXPECT_EQ(FoldedGpuName(name), "rtx3090") << name;
  }
  EXPECT_EQ(FoldedGpuName("Tesla V100-SXM2-32GB"), "v100sxm232gb");
  EXPECT_EQ(FoldedGpuName("NVIDIA"), "nvidia") << "a brand alone is no prefix";
  EXPECT_NE(FoldedGpuName("RTX 3080 Ti"), FoldedGpuName("RTX 3080"));
  EXPECT_EQ(FoldedGpuName(""), "");
}

TEST(GpuModel, U13_AJobMayNameItsModelsAsPeopleDo) {
  GpuModel model;
  model.name = "RTX A6000";
  model.aliases = {"A6000"};
  EXPECT_TRUE(IsNamed(model, "a6000"));
  EXPECT_TRUE(IsNamed(model, "rtxa6000"));
  EXPECT_FALSE(IsNamed(model, "A600"));
  EXPECT_TRUE(IsAllowed({}, model));
  EXPECT_TRUE(IsAllowed({"H200", "nvidia rtx a6000"}, model));
  EXPECT_FALSE(IsAllowed({"H200"}, model));
}

}  // namespace
}  // namespace sharewell::core
