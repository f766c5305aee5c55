#include "research/train/operator_file.h"

#include <gmock/gmock.h>

#include "platform/files/test_folder.h"

namespace sharewell::research {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kHeader =
    "class,type,precision,output,window,dilation,flops_forward,flops_backward,"
    "traffic_forward_bytes,traffic_backward_bytes,contraction,families,gpu,forward_seconds,"
    "backward_seconds,failure\n";
constexpr const char* kProduct =
    "matmul,MatMul,bf16,16x128x768,1,1,2.4e9,4.8e9,2e7,2.8e7,768,bert;gpt,NVIDIA H200,1.24e-5,"
    "3.56e-5,\n";

core::Result<predict::OperatorTable> Read(const std::string& rows) {
  return ReadOperatorText(kHeader + rows, "operators.csv", catalogue::GpuCatalogue::Builtin());
}
std::string ErrorOf(const std::string& rows) {
  const auto read = Read(rows);
  return read ? "" : read.error().message;
}

TEST(OperatorFile, ACellHasItsShapeTimesAndFamilies) {
  const auto table = Read(kProduct);
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->cells().size(), 1U);
  const auto& cell = table->cells()[0];
  EXPECT_EQ(cell.shape.of, predict::OpClass::kMatMul);
  EXPECT_EQ(cell.shape.arithmetic, 2);
  EXPECT_EQ(cell.shape.outputs, 16 * 128 * 768);
  EXPECT_EQ(cell.shape.channels, 768);
  EXPECT_EQ(cell.seconds[predict::kBackward], 3.56e-5);
  EXPECT_THAT(cell.families, testing::ElementsAre("bert", "gpt"));
}

TEST(OperatorFile, WhatFailedAndPassesOfOptimizersAreLeftOut) {
  const auto table = Read(std::string(kProduct) +
                          "matmul,MatMul,bf16,1x1,1,1,1,1,1,1,1,,NVIDIA H200,,,out of memory\n"
                          "update,sgd,fp32,,1,1,1,0,1,0,0,,NVIDIA H200,1e-5,0,\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->cells().size(), 1U);
}

TEST(OperatorFile, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("no operator was measured"));
  EXPECT_THAT(ErrorOf(std::string(kProduct) + "matmul,MatMul,bf16,16x128x768,1,1,1,1,1,1,1,,"
                                              "NVIDIA A100,1e-5,1e-5,\n"),
              AllOf(HasSubstr("line 3"), HasSubstr("another GPU model")));
  EXPECT_THAT(ErrorOf("matmul,MatMul,bf17,1x1,1,1,1,1,1,1,1,,NVIDIA H200,1e-5,1e-5,\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("precision")));
  EXPECT_THAT(ErrorOf("matmul,MatMul,bf16,1x-1,1,1,1,1,1,1,1,,NVIDIA H200,1e-5,1e-5,\n"),
              HasSubstr("no dimensions"));
  EXPECT_THAT(ErrorOf("matmul,MatMul,bf16,1x1,1,1,1,1,1,1,1,,Banana 9000,1e-5,1e-5,\n"),
              HasSubstr("Banana 9000"));
}

}  // namespace
}  // namespace sharewell::research
