#include "catalogue/gpu_catalogue.h"

#include <gmock/gmock.h>

#include "platform/files/test_folder.h"

namespace sharewell::catalogue {
namespace {

using core::ErrorKind;
using testing::HasSubstr;

const char kHeader[] = "name,aliases,memory_gb,bandwidth_gbs,fp32_tflops,sms\n";

std::string Found(std::string_view name) {
  const auto model = GpuCatalogue::Builtin().Find(name);
  return model ? model->name : model.error().message;
}

std::string ExtendError(const std::string& text) {
  auto catalogue = GpuCatalogue::Builtin();
  const auto before = catalogue.models();
  const auto done = catalogue.ExtendFrom(text, "gpus.csv");
  EXPECT_TRUE(done.has_value() || catalogue.models() == before) << "unchanged on failure";
  if (done) return "";
  EXPECT_EQ(done.error().kind, ErrorKind::kUsage);
  return done.error().message;
}

TEST(GpuCatalogue, FindsByNameOrAliasWhateverTheCaseAndTheDashes) {
  EXPECT_EQ(Found("V100"), "V100");
  EXPECT_EQ(Found("v100"), "V100");
  EXPECT_EQ(Found("Tesla V100-SXM2-32GB"), "V100");
  EXPECT_EQ(Found("Tesla-V100-SXM2-32GB"), "V100") << "Kubernetes' label";
  EXPECT_EQ(Found("NVIDIA H200"), "H200");
  EXPECT_EQ(Found("rtx_2080_ti"), "RTX 2080 Ti");
}

TEST(GpuCatalogue, U13_NamesAsPeopleWriteThem) {
  EXPECT_EQ(Found("RTX4090"), "RTX 4090");
  EXPECT_EQ(Found("rtx 3090"), "RTX 3090");
  EXPECT_EQ(Found("3080ti"), "RTX 3080 Ti");
  EXPECT_EQ(Found("a100"), "A100");
  EXPECT_EQ(Found("A100 80GB"), "A100-80GB");
  EXPECT_EQ(Found("nvidia a100-sxm4-80gb"), "A100-80GB");
  EXPECT_EQ(Found("A6000"), "RTX A6000");
  EXPECT_EQ(Found("RTX 6000 Ada Generation"), "RTX 6000 Ada");
}

TEST(GpuCatalogue, U13_KnowsTheCardsThatPeopleHave) {
  for (const char* name :
       {"A2", "A30", "A40", "RTX A5000", "RTX A6000", "RTX 6000 Ada", "L40", "RTX 3080",
        "RTX 3080 Ti", "RTX 4080", "RTX 5080", "RTX 5090", "RTX PRO 6000", "GH200", "B200"}) {
    EXPECT_EQ(Found(name), name);
    EXPECT_EQ(Found(std::string("NVIDIA ") + name), name);
  }
}

TEST(GpuCatalogue, TwoSpellingsOfOneNameInARowAreOneAlias) {
  auto catalogue = GpuCatalogue::Builtin();
  ASSERT_TRUE(catalogue.ExtendFrom(
      std::string(kHeader) + "NewCard,NVIDIA NewCard;New-Card 2;newcard2,1,1,1,1\n", "g"));
  EXPECT_THAT(catalogue.Find("new card")->aliases, testing::ElementsAre("New-Card 2"));
}

TEST(GpuCatalogue, KnowsTheNamesOfOpenbAndGavel) {
  EXPECT_EQ(Found("V100M16"), "V100-16GB");
  EXPECT_EQ(Found("V100M32"), "V100");
  for (const char* name : {"G2", "G3", "A10", "T4", "P100"}) EXPECT_EQ(Found(name), name);
  EXPECT_EQ(Found("k80"), "K80");
  EXPECT_EQ(Found("p100"), "P100");
}

TEST(GpuCatalogue, HoldsDatasheetFacts) {
  const auto h200 = GpuCatalogue::Builtin().Find("H200");
  ASSERT_TRUE(h200);
  EXPECT_DOUBLE_EQ(h200->memory.value, 143771.0 * 1024 * 1024);
  EXPECT_EQ(h200->bandwidth, core::GBps(4800));
  EXPECT_EQ(h200->sms, 132);
  EXPECT_EQ(h200->power_limit, core::Watts(700));
  EXPECT_EQ(h200->idle_power, core::Watts(80)) << "measured: data/h200/README.md";
  const auto k80 = GpuCatalogue::Builtin().Find("K80");
  ASSERT_TRUE(k80);
  EXPECT_EQ(k80->memory, core::GiB(12));
  EXPECT_EQ(k80->fp16_tflops, std::nullopt) << "it has no faster half precision";
  EXPECT_EQ(k80->idle_power, std::nullopt) << "nobody has measured it";
}

TEST(GpuCatalogue, EveryBuiltinModelIsPlausible) {
  const auto catalogue = GpuCatalogue::Builtin();
  for (const auto& model : catalogue.models()) {
    SCOPED_TRACE(model.name);
    EXPECT_GE(model.memory, core::GiB(8));
    EXPECT_GE(model.bandwidth, core::GBps(200));
    EXPECT_LE(model.bandwidth, core::GBps(8000));
    EXPECT_LE(model.fp32_tflops, 130);
    EXPECT_GE(model.fp16_tflops.value_or(1e9), model.fp32_tflops);
    EXPECT_GE(model.tf32_tflops.value_or(1e9), model.fp32_tflops);
    EXPECT_EQ(Found(model.name), model.name);
    for (const auto& alias : model.aliases) EXPECT_EQ(Found(alias), model.name);
  }
}

TEST(GpuCatalogue, AnUnknownModelIsAUsageErrorWithTheNearestAndTheWayOut) {
  const auto model = GpuCatalogue::Builtin().Find("H2OO");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(model.error().message, HasSubstr("unknown GPU model 'H2OO'; did you mean 'H200'?"));
  EXPECT_THAT(model.error().message, HasSubstr("--gpu-catalogue"));
  EXPECT_THAT(Found("RTX 4900"), HasSubstr("did you mean 'RTX 4090'?"));
  EXPECT_THAT(Found("H2000"), HasSubstr("did you mean 'H200'?"));
  for (const char* other : {"RTX 3060", "A16", "A6", "MI300X", "H2", "x"}) {
    EXPECT_EQ(Found(other).find("did you mean"), std::string::npos) << Found(other);
  }
  EXPECT_THAT(Found(""), HasSubstr("unknown GPU model ''"));
  EXPECT_LT(Found(std::string(1 << 20, 'x')).size(), 300U);
}

TEST(GpuCatalogue, ExtendAddsAndOverrides) {
  const platform::TestFolder folder;
  auto catalogue = GpuCatalogue::Builtin();
  const auto count = catalogue.models().size();
  ASSERT_TRUE(catalogue.Extend(folder.Write(
      "gpus.csv", std::string(kHeader) +
                      "NewCard,NVIDIA NewCard,180,8000,80,148\nv100,V100M32,30,900,15,80\n")));
  EXPECT_EQ(catalogue.models().size(), count + 1);
  EXPECT_EQ(catalogue.Find("nvidia newcard")->sms, 148);
  EXPECT_EQ(catalogue.Find("V100")->memory, core::GiB(30));
  EXPECT_FALSE(catalogue.Find("V100-SXM2-32GB")) << "a row is replaced whole, its aliases too";
}

TEST(GpuCatalogue, ALaterRowTakesAnAliasOver) {
  auto catalogue = GpuCatalogue::Builtin();
  ASSERT_TRUE(catalogue.ExtendFrom(std::string(kHeader) + "A100-40GB,,39,1555,19.5,108\n", "g"));
  EXPECT_EQ(catalogue.Find("a100-40gb")->memory, core::GiB(39));
  EXPECT_EQ(catalogue.Find("A100")->memory, core::GiB(40));
}

TEST(GpuCatalogue, RefusesBadRows) {
  const std::string header = kHeader;
  EXPECT_THAT(ExtendError(""), HasSubstr("is empty"));
  EXPECT_THAT(ExtendError(header), HasSubstr("lists no GPU model"));
  EXPECT_THAT(ExtendError("name\nX\n"), HasSubstr("has no column 'memory_gb'"));
  EXPECT_THAT(ExtendError(header + ",,1,1,1,1\n"), HasSubstr("column name"));
  EXPECT_THAT(ExtendError(header + "X,,-1,1,1,1\n"), HasSubstr("column memory_gb: '-1'"));
  EXPECT_THAT(ExtendError(header + "X,,nan,1,1,1\n"), HasSubstr("column memory_gb: 'nan'"));
  EXPECT_THAT(ExtendError(header + "X,,1,inf,1,1\n"), HasSubstr("column bandwidth_gbs"));
  EXPECT_THAT(ExtendError(header + "X,,1,1,1e300,1\n"), HasSubstr("column fp32_tflops"));
  EXPECT_THAT(ExtendError(header + "X,,1,1,1,0\n"), HasSubstr("column sms"));
  EXPECT_THAT(ExtendError(header + "X,,1,1,1,1\nx,,1,1,1,1\n"),
              HasSubstr("line 3, column name: 'x' is already"));
  EXPECT_THAT(ExtendError(header + "X,Z,1,1,1,1\nY,z,1,1,1,1\n"),
              HasSubstr("line 3, column aliases"));
  EXPECT_THAT(ExtendError(header + "X,H200,1,1,1,1\n"), HasSubstr("the name of another model"));
}

}  // namespace
}  // namespace sharewell::catalogue
