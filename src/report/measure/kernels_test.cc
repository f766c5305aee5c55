#include "report/measure/kernels.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace sharewell::report {
namespace {

using testing::HasSubstr;
using testing::Not;

core::ProfileRecord Record() {
  core::ProfileRecord record;
  record.name = "n";
  record.source = "import ncu";
  for (int i = 0; i < 3; ++i) {
    core::KernelFigure kernel;
    kernel.name = fmt::format("void k{}<float>(float*)", i);
    kernel.launches = 10;
    kernel.time = core::Seconds(1e-4);
    kernel.sm = 0.25;
    record.kernels.push_back(kernel);
  }
  record.notes = {"a note"};
  return record;
}

TEST(Kernels, ShortNames) {
  EXPECT_EQ(ShortKernelName("void at::native::vectorized_elementwise_kernel<4, "
                            "at::native::FillFunctor<float>, at::detail::Array<char *, 1>>(int)"),
            "vectorized_elementwise_kernel<..FillFunctor..>");
  EXPECT_EQ(ShortKernelName("void cutlass::Kernel2<cutlass_80_gemm>(Params)"),
            "cutlass::Kernel2<..>");
  EXPECT_EQ(ShortKernelName("void at::native::(anonymous namespace)::softmax<float>(T*)"),
            "at::native::softmax<..>");
  EXPECT_EQ(ShortKernelName("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(ShortKernelName(std::string(200, 'x')), std::string(46, 'x') + "..");
  EXPECT_EQ(ShortKernelName(""), "");
  EXPECT_EQ(ShortKernelName("a>b<c"), "a>b<..>");
}

TEST(Kernels, TextLeavesOutWhatNobodyKnows) {
  core::KernelFigure whole;
  whole.launches = 30;
  whole.time = core::Seconds(3e-4);
  whole.sm = 0.25;
  const std::string text = KernelsText(Record(), whole, 2);
  EXPECT_THAT(text, HasSubstr("SM"));
  EXPECT_THAT(text, Not(HasSubstr("L2")));
  EXPECT_THAT(text, HasSubstr("33.3 %"));
  EXPECT_THAT(text, HasSubstr("1 more kernel:"));
  EXPECT_THAT(text, HasSubstr("note: a note"));
}

TEST(Kernels, JsonHasNullForUnknown) {
  core::KernelFigure whole;
  whole.sm = 0.25;
  const auto json = nlohmann::json::parse(KernelsJson(Record(), whole));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["kernels"].size(), 3u);
  EXPECT_EQ(json["kernels"][0]["sm_ratio"], 0.25);
  EXPECT_TRUE(json["kernels"][0]["l2_ratio"].is_null());
  EXPECT_TRUE(json["whole"]["seconds"].is_null());
}

TEST(Kernels, Imported) {
  measure::ImportedMetrics imported;
  imported.metrics = {{"gpu_busy_ratio", "ratio", 2, 4, 0, 0.5, 1}};
  imported.nodes = {"a"};
  imported.samples = 4;
  imported.blank = 1;
  imported.unknown = {{"x", 3}};
  EXPECT_THAT(ImportedText(imported), HasSubstr("1 metric name is not ours, and left out: x"));
  EXPECT_EQ(nlohmann::json::parse(ImportedJson(imported))["metrics"][0]["samples"], 4);
}

}  // namespace
}  // namespace sharewell::report
