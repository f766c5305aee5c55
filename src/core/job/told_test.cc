#include "core/job/told.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(Told, WordsSayWhatIsKnownAndNothingElse) {
  Told told;
  EXPECT_EQ(InWords(told), "");
  told.batch = 64;
  told.optimizer = "SGD";
  EXPECT_EQ(InWords(told), "batch 64, SGD");
  told.modules = "ResNet";
  told.parameters = told.trainable = 25'557'032;
  told.autocast = "bf16";
  told.precision = "fp32";
  told.workers = 1;
  told.compiled = true;
  told.checkpointing = false;
  told.framework = "pytorch 2.11.0";
  EXPECT_EQ(InWords(told),
            "ResNet with 25.6 M parameters, batch 64, SGD, bf16 autocast, 1 loader worker, "
            "compiled, pytorch 2.11.0");
}

TEST(Told, WhatIsFrozenIsSaid) {
  Told told;
  told.parameters = 2000;
  told.trainable = 20;
  told.world_size = 2;
  told.parallel = "ddp";
  EXPECT_EQ(InWords(told), "2000 parameters, 1 % of them trained, 2 processes by ddp");
}

}  // namespace
}  // namespace sharewell::core
